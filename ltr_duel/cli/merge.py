"""``ltr-duel merge``: merge several folders of results into one."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ltr_duel import experiment
from ltr_duel.cli._options import CONTINUED_FOLDER, PATH
from ltr_duel.cli._words import Command


@click.command(cls=Command)
@click.argument("folders", nargs=-1, required=True, type=PATH)
@click.option("--out", type=CONTINUED_FOLDER, required=True, help="The folder to copy all runs into.")
def command(folders: tuple[Path, ...], out: Path) -> None:
    """Copy all runs of FOLDERS (for example shards of an experiment) into one folder; FOLDERS stay unchanged."""
    merged = experiment.merge_stores(out, folders)
    for why in merged.damaged:
        click.echo(f"left out: {why}", err=True)
    click.echo(
        f"{out}: {merged.copied:,} runs copied"
        + (f", {merged.already_there:,} already there" if merged.already_there else "")
    )
    if merged.damaged:
        sys.exit(1)
