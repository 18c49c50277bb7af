"""Run the commands and Python code of a page as printed, one after the other, in the working folder.

- ```` ```python ```` and notebook cells share the names of their page.
- A block below a line that ends with ```name.ext`:`` is the content of that file.
- In ```` ```console ```` lines after ``$ `` are commands, followed by what they print; ``...`` matches anything.
- In blocks without a language, and in ``sh``, lines that begin with a program are commands.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from ltr_duel.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"(?P<before>[^\n]*)\n\n?```(?P<kind>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S)
_FILE = re.compile(r"`([\w.-]+\.\w+)`:$")
_OPTIONS = re.compile(r"\A((:\w+:[^\n]*\n)+\n?)?(^%[^\n]*\n)*", re.M)
_PROGRAM = re.compile(r"(?:ltr-duel [^:]|python |python3 |pip |dask |sbatch |export |make |eval |cp |mkdir ).*")
_IGNORE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Step(NamedTuple):
    """A file, Python code or a command of a page, in the order of the page."""

    kind: str  # file, python or command
    text: str
    line: int
    file: str = ""  # the file whose content it is
    printed: str = ""  # what a command prints


def steps(page: Path) -> Iterator[Step]:
    """Yield what a reader of a page can run or save."""
    text = page.read_text(encoding="utf-8")
    for place in _BLOCK.finditer(text):
        kind, content, line = place["kind"].strip(), place["text"], text.count("\n", 0, place.start("kind")) + 1
        if file := _FILE.search(place["before"].strip()):
            yield Step("file", content, line, file[1])
        elif kind == "python" or kind.startswith("{code-cell}"):
            yield Step("python", _OPTIONS.sub("", content), line)
        elif kind == "console":
            for part in re.split(r"^\$ ", content, flags=re.M)[1:]:
                command, _, printed = part.replace("\\\n", "").partition("\n")
                yield Step("command", command.partition("  #")[0].strip(), line, printed=printed)
        elif kind in ("", "sh"):
            for command in re.sub(r"\\\n\s*", "", content).splitlines():
                if _PROGRAM.match(command):
                    yield Step("command", command.partition("  ")[0].partition("  #")[0].strip(), line)


def python_code(page: Path, heading: str = "") -> list[str]:
    """Return the Python code and the Python files of a page, or those of a section with this heading."""
    lines = page.read_text(encoding="utf-8").splitlines()
    heads = [number for number, line in enumerate(lines, 1) if line.startswith("## ")]
    first = next((number for number in heads if lines[number - 1].startswith(f"## {heading}")), 0) if heading else 0
    last = next((number for number in heads if heading and number > first), len(lines))
    code = (step for step in steps(page) if step.kind == "python" or step.file.endswith(".py"))
    return [step.text for step in code if first <= step.line <= last]


def run_command(words: list[str]) -> tuple[int, str]:
    """Run ``ltr-duel`` in this process; return the exit code and the output."""
    printed, code = io.StringIO(), 0
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            main(*words)
        except SystemExit as stop:
            code = int(stop.code or 0)
    return code, printed.getvalue()


@mock.patch.dict(os.environ, {"COLUMNS": "100"})  # the width for which the pages are written
def run_page(page: Path, left_out: Callable[[Step], object] = lambda step: False) -> int:
    """Run a page in the working folder except for some steps; return the number of those that ran."""
    names: dict = {"__name__": "__main__"}
    done = 0
    for step in steps(page):
        where = f"{page.name}:{step.line}"
        if step.kind == "file":
            Path(step.file).write_text(step.text, encoding="utf-8")
        elif left_out(step):
            continue
        elif step.kind == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(step.text, where, "exec"), names)
        else:
            program, *words = (found for word in shlex.split(step.text) for found in matching(word))
            if program in ("cp", "mkdir"):
                subprocess.run([program, *words])
                continue
            assert program == "ltr-duel", f"{where}: {step.text}"
            code, printed = run_command(words)
            assert code == 0, f"{where}: {step.text}\n{printed}"
            same = not step.printed or doctest.OutputChecker().check_output(step.printed, printed, _IGNORE)
            assert same, f"{where}: {step.text}\nprints\n{printed}\nand not\n{step.printed}"
        done += 1
    return done


def matching(word: str) -> list[str]:
    """Return the files that match a pattern, as a shell does, otherwise the word."""
    return sorted(map(str, Path().glob(word))) if "*" in word else [word]
