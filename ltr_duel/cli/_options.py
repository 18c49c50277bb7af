"""Option types and printing that several commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import pandas as pd


class Count(click.ParamType):  # type: ignore[type-arg]  # generic only in new versions of click
    """A whole number, also written as 1e6 or 1_000_000."""

    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse the number; refuse fractions."""
        try:
            number = int(str(value).replace(",", ""))
        except ValueError:
            try:
                real = float(value)
                number = int(real)
            except (ValueError, OverflowError):
                self.fail(f"'{value}' is not a whole number (for example 1000000 or 1e6)", param, ctx)
            if number != real:
                self.fail(f"'{value}' is not a whole number (for example 1000000 or 1e6)", param, ctx)
        return number


COUNT = Count()

jobs_option = click.option("--jobs", type=COUNT, default=-1, show_default="all cores", help="Threads to use.")
seed_option = click.option("--seed", type=COUNT, default=0, show_default=True, help="Seed of everything random.")


def print_table(frame: pd.DataFrame) -> None:
    """Print a table of text: the first column to the left, the others to the right."""
    columns = [[str(name), *map(str, frame[name])] for name in frame.columns]
    widths = [max(len(cell) for cell in column) for column in columns]
    for row in zip(*columns, strict=True):
        first, *rest = (
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        click.echo("  ".join([first, *rest]).rstrip())
