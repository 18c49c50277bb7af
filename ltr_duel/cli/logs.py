"""``ltr-duel logs``: click logs of real searches, or simulated ones."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.group()
def command() -> None:
    """Read click logs of interleaving: what is in them, who won, whether to stop, how many impressions it takes.

    A LOG is JSON lines, CSV or Parquet, by its suffix; 'logs columns' says what it holds.
    """


@command.command()
def columns() -> None:
    """List the columns of a click log."""
    from ltr_duel.logs import LOG_COLUMNS

    width = max(map(len, LOG_COLUMNS))
    for name, column in LOG_COLUMNS.items():
        click.echo(f"{name.ljust(width)}  {'needed  ' if column.needed else 'optional'}  {column.meaning}")


@command.command()
@click.argument("file", metavar="LOG", type=click.Path(path_type=Path))
@click.option("--format", "kind", default="", help="jsonl, csv, parquet or yandex, if the name does not say.")
def check(file: Path, kind: str) -> None:
    """Say what is in a LOG, and what is wrong, by line. Exit code 1 if a line cannot be used."""
    from ltr_duel.logs import ClickLog, describe_log, log_lines

    facts = describe_log(ClickLog(file, format=kind, skip_bad=None))
    for line in log_lines(facts):
        click.echo(line)
    if facts.bad:
        sys.exit(1)
