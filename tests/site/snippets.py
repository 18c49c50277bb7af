"""Run the commands and Python code of a page as printed, one after the other, in an empty folder.

- ```` ```python ```` and notebook cells share the names of their page.
- A block below a line that ends with ```name.ext`:`` is the content of that file.
- In ```` ```console ```` lines after ``$ `` are commands, followed by what they print; ``...`` matches anything.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ltr_duel.cli.main import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
_BLOCK = re.compile(r"(?P<before>[^\n]*)\n\n?```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S)
_FILE = re.compile(r"`([\w.-]+\.\w+)`:$")
_OPTIONS = re.compile(r"\A(---\n.*?\n---\n|(:\w+:[^\n]*\n)+\n?)", re.S)
_IGNORE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Block(NamedTuple):
    kind: str  # python, console, toml, ...
    text: str
    file: str  # the file whose content it is, or ""
    line: int


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page that can be run or are files."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = []
    for place in _BLOCK.finditer(text):
        kind, content, line = place["kind"].strip(), place["text"], text.count("\n", 0, place.start("kind")) + 1
        file = _FILE.search(place["before"].strip())
        if kind.startswith("{code-cell}"):
            kind, content = "python", _OPTIONS.sub("", content)
            magic = re.match(r"%%writefile (\S+)\n", content)
            if magic:
                found.append(
                    Block("file", content[magic.end() :], magic[1], text.count("\n", 0, place.start("kind")) + 1)
                )
                continue
            content = re.sub(r"^%.*\n", "", content, flags=re.M)
        found.append(Block(kind, content, file[1] if file else "", line))
    return found


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block, and its printed output."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, printed = part.replace("\\\n", "").partition("\n")
        yield command.partition("  #")[0].strip(), printed


def run_command(words: list[str]) -> tuple[int, str]:
    """Run ``ltr-duel`` in this process; return the exit code and the output."""
    printed, code = io.StringIO(), 0
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            main(*words)
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, printed.getvalue()


def run_page(page: str) -> int:
    """Run all blocks of a page in the working folder; return their number."""
    names: dict = {"__name__": "__main__"}
    done = 0
    for block in blocks(page):
        where = f"{page}:{block.line}"
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block.text, where, "exec"), names)
        elif block.kind == "console":
            for command, expected in commands(block.text):
                program, *words = shlex.split(command)
                if program in ("cp", "mkdir"):
                    subprocess.run([program, *words])
                    continue
                assert program == "ltr-duel", f"{where}: {command}"
                code, printed = run_command(words)
                assert code == 0, f"{where}: {command}\n{printed}"
                same = not expected or doctest.OutputChecker().check_output(expected, printed, _IGNORE)
                assert same, f"{where}: {command}\nprints\n{printed}\nand not\n{expected}"
        else:
            continue
        done += 1
    return done
