"""``ltr-duel merge``: several folders of results into one."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder to bring them together in.")
def command(folders: tuple[Path, ...], out: Path) -> None:
    """Copy all runs of FOLDERS (shards of an experiment, for example) into one folder; they stay as they are."""
    from ltr_duel.experiment import merge_stores

    merged = merge_stores(out, folders)
    for path in merged.damaged:
        click.echo(f"left out, damaged: {path}", err=True)
    click.echo(f"{out}: {merged.copied:,} runs copied" + (f", {merged.there:,} were there" if merged.there else ""))
    if merged.damaged:
        sys.exit(1)
