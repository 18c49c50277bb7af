"""A row of the table of hostile input: the command or call, its files, and the expected sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Content = bytes | str | Callable[[Path], Any]


@dataclass(frozen=True)
class Case:
    """Either ``words``, a command line without ``ltr-duel``, or ``call``, a function that uses the Python interface.

    Both run in an empty folder that holds ``files`` only: the text or bytes of each, or a function that receives the
    path and writes the file (or folder, link, pipe). ``says`` is a regular expression, searched in the sentence.
    """

    name: str
    words: tuple[str, ...] | None = None
    call: Callable[[], Any] | None = None
    files: Mapping[str, Content] = field(default_factory=dict)
    says: str = ""
    code: int = 2

    def __post_init__(self) -> None:
        assert (self.words is None) != (self.call is None), f"{self.name}: words or a call"
        assert self.says, f"{self.name}: what has to be said?"

    def write_files(self, folder: Path) -> None:
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if callable(content):
                content(path)
            elif isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(content, encoding="utf-8")
