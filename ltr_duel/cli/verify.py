"""``ltr-duel verify``: whether results are what they say they are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ltr_duel.cli._options import COUNT, jobs_option, plugins_option, seed_option

if TYPE_CHECKING:
    from ltr_duel.core import Plugin

_MOST = 20


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--sample", type=COUNT, default=10, show_default=True, help="Runs to do again; 0 for none.")
@plugins_option
@seed_option
@jobs_option
def command(folder: Path, sample: int, plugins: tuple[Plugin, ...], seed: int, jobs: int) -> None:
    """Compare all files in FOLDER with their manifests, and do a random sample of runs again.

    Exit code 1 if anything is not as it should be.
    """
    from ltr_duel.experiment import verify_store

    verdict = verify_store(folder, sample=sample, seed=seed, plugins=plugins, jobs=jobs)
    for complaint in verdict.complaints[:_MOST]:
        click.echo(complaint)
    if len(verdict.complaints) > _MOST:
        click.echo(f"... and {len(verdict.complaints) - _MOST} more")
    good = "all is as it should be" if not verdict.complaints else f"{len(verdict.complaints)} complaints"
    click.echo(f"{verdict.checked:,} files compared with their manifests, {verdict.repeated:,} runs done again: {good}")
    if verdict.complaints:
        sys.exit(1)
