"""Print answers, notes and tables of commands, write results, and end the process."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from ltr_duel.core import errors, files, parallel

if TYPE_CHECKING:
    import pandas as pd


def is_set(flag: str) -> bool:
    """Return whether the user gave a flag such as ``explain``."""
    return bool(click.get_current_context().meta.get(flag))


def print_answer(answer: str, certainty: str = "", notes: Iterable[str] = ()) -> None:
    """Print an answer, its uncertainty, and the first note. With --explain, print all notes; with --quiet, none."""
    echo_lines(filter(None, [answer, certainty]))
    lines = [f"note: {text}" for text in notes if text]
    if lines and not is_set("explain"):
        lines = [lines[0] + f" ({len(lines) - 1} more with --explain)" * (len(lines) > 1)]
    if not is_set("quiet"):
        echo_lines(lines)


def print_note(text: str) -> None:
    """Print a note on stderr, except with --quiet."""
    if not is_set("quiet"):
        click.echo(text, err=True)


def print_table(frame: pd.DataFrame, total: int = 0, unit: str = "rows") -> None:
    """Print a table of strings. The first column is aligned left, the others right.

    A table that is wider than the terminal is printed in parts. If only the first of ``total`` rows are printed, a last
    line says how to list all.
    """
    columns = [[errors.in_one_line(str(cell)) for cell in (name, *frame[name])] for name in frame.columns]
    widths = [max(map(len, column)) for column in columns]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    parts: list[list[int]] = [[]]
    for column in range(1, len(columns)):
        if parts[-1] and widths[0] + sum(2 + widths[other] for other in (*parts[-1], column)) > room:
            parts.append([])
        parts[-1].append(column)
    for part in parts:
        for row in zip(*columns, strict=True):
            cells = [row[0].ljust(widths[0]), *(row[column].rjust(widths[column]) for column in part)]
            click.echo("  ".join(cells).rstrip())
        if part is not parts[-1]:
            click.echo()
    if total > len(frame):
        click.echo(f"{total - len(frame):,} more {unit}; --rows {total} lists them")


def text_columns(frame: pd.DataFrame, formats: Mapping[str, str]) -> dict[str, list[str]]:
    """Return columns of a table as strings, with the formats that are given. A missing number becomes "-"."""
    return {
        name: ["-" if value != value else format(value, form) for value in frame[name]]
        for name, form in formats.items()
    }


def echo_lines(lines: Iterable[object]) -> None:
    for line in lines:
        click.echo(line)


def write_files(out: Path, writers: Mapping[str, Callable[[Path], object]]) -> None:
    """Write all files into a folder, or none of them. Print their paths when the command ends.

    Call this before anything is printed, because printing may end the process if its output is a closed pipe.
    """
    with files.replacing_files(out) as folder:
        for name, write in writers.items():
            write(folder / name)
    print_at_end(out / name for name in writers)


def print_at_end(paths: Iterable[Path]) -> None:
    """Print paths when the command ends."""
    if line := ", ".join(map(str, paths)):
        click.get_current_context().call_on_close(lambda: click.echo(line))


def end(code: int, *, at_once: bool = False) -> NoReturn:
    """End the process. With ``at_once``, or while threads still run, Python's shutdown is skipped."""
    if not at_once and not parallel.abandoned_threads_run():
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
