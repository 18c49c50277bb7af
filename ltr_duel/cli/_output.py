"""Print and write results of commands, and end commands."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from ltr_duel import analysis
from ltr_duel.core import errors, files, parallel

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def only_writer(out: Path | None) -> None:
    """Lock an output path until the command ends; raise `InputError` if another process is writing to it."""
    if out is not None:
        click.get_current_context().with_resource(files.sole_writer(out))


def end(code: int, *, at_once: bool = False) -> NoReturn:
    """End the process; skip Python's shutdown with ``at_once``, or if abandoned threads are still running."""
    if not at_once and not parallel.abandoned_threads_run():
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def print_table(frame: pd.DataFrame) -> None:
    """Print a table of strings, with the first column aligned left, the others right, and control characters escaped.

    A table wider than the terminal is printed in parts, one below the other; each part has the first column and some of
    the others.
    """
    columns = [[errors.in_one_line(str(cell)) for cell in (name, *frame[name])] for name in frame.columns]
    widths = [max(len(cell) for cell in column) for column in columns]
    context, parts = click.get_current_context(silent=True), [list(range(1, len(columns)))]
    if sys.stdout.isatty() and not (context and context.meta.get("wide")):
        parts = _parts(widths, shutil.get_terminal_size().columns)
    for part in parts:
        for row in zip(*columns, strict=True):
            cells = [row[0].ljust(widths[0]), *(row[place].rjust(widths[place]) for place in part)]
            click.echo("  ".join(cells).rstrip())
        if len(parts) > 1:
            click.echo()
    if len(parts) > 1:
        click.echo(f"the table is split into {len(parts)} parts to fit the terminal; --wide prints it unsplit")


def _parts(widths: Sequence[int], width: int) -> list[list[int]]:
    """Split the columns after the first into parts, as few as possible; each part fits beside the first column."""
    parts: list[list[int]] = [[]]
    for place in range(1, len(widths)):
        if parts[-1] and sum(2 + widths[other] for other in (*parts[-1], place)) > width - widths[0]:
            parts.append([])
        parts[-1].append(place)
    return parts


def echo_lines(lines: Iterable[object]) -> None:
    """Print each element on a separate line."""
    for line in lines:
        click.echo(line)


def save_measured(out: Path, name: str, frame: pd.DataFrame, drawn: Axes) -> None:
    """Write a table and its figure into a folder, and print their paths."""
    with files.replacing(out / f"{name}.parquet") as temporary:
        frame.to_parquet(temporary, index=False)
    analysis.save_figure(drawn, out / f"{name}.png")
    click.echo(f"\n{out / f'{name}.parquet'}, {out / f'{name}.png'}")


def print_rest(rows: int, total: int, what: str) -> None:
    """Print the number of omitted lines of a table, if any, and the option that lists them."""
    if total > rows:
        click.echo(f"{total - rows:,} more {what}; --rows {total} lists them")
