"""Functions shared by the writers of generated pages."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

_MARKUP = re.compile(r"([*_|\[\]<>])")


def written(path: Path, text: str) -> None:
    """Write a page only if its content has changed, so that Sphinx does not read it again."""
    text = text.rstrip() + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def first_sentence(value: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(value) or "").partition("\n")[0]


def as_markdown(text: str) -> str:
    """Escape the text of a docstring for Markdown, because formulas contain many of its characters."""
    parts = re.split(r"(``[^`]*``|`[^`]*`)", text)
    return "".join(f"`{part.strip('`')}`" if part.startswith("`") else _MARKUP.sub(r"\\\1", part) for part in parts)
