"""``ltr-duel verify``: whether results are what their manifests say."""

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
@click.option("--sample", type=COUNT, default=10, show_default=True, help="Runs to repeat; 0 for none.")
@plugins_option
@seed_option
@jobs_option
def command(folder: Path, sample: int, plugins: tuple[Plugin, ...], seed: int, jobs: int) -> None:
    """Compare all files in FOLDER with their manifests, and repeat a random sample of the runs.

    Exit code 1 if anything is wrong.
    """
    from ltr_duel.experiment import verify_store

    verdict = verify_store(folder, sample=sample, seed=seed, plugins=[plugin.path for plugin in plugins], jobs=jobs)
    for complaint in verdict.complaints[:_MOST]:
        click.echo(complaint)
    if len(verdict.complaints) > _MOST:
        click.echo(f"... and {len(verdict.complaints) - _MOST} more")
    found = f"{len(verdict.complaints)} complaints" if verdict.complaints else "no complaints"
    click.echo(f"{verdict.checked:,} files compared with their manifests, {verdict.repeated:,} runs repeated: {found}")
    if verdict.complaints:
        sys.exit(1)
