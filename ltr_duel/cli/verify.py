"""``ltr-duel verify``: whether results are what they say they are."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ltr_duel.cli._options import COUNT, jobs_option, seed_option

_MOST = 20


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--sample", type=COUNT, default=10, show_default=True, help="Runs to do again; 0 for none.")
@click.option("--plugin", "plugins", multiple=True, type=click.Path(path_type=Path), help="A file with policies.")
@seed_option
@jobs_option
def command(folder: Path, sample: int, plugins: tuple[Path, ...], seed: int, jobs: int) -> None:
    """Compare all files in FOLDER with their manifests, and do a random sample of runs again.

    Exit code 1 if anything is not as it should be.
    """
    from ltr_duel.core import load_plugin
    from ltr_duel.experiment import verify_store

    loaded = [load_plugin(path) for path in plugins]
    verdict = verify_store(folder, sample=sample, seed=seed, plugins=loaded, jobs=jobs)
    for complaint in verdict.complaints[:_MOST]:
        click.echo(complaint)
    if len(verdict.complaints) > _MOST:
        click.echo(f"... and {len(verdict.complaints) - _MOST} more")
    good = "all is as it should be" if not verdict.complaints else f"{len(verdict.complaints)} complaints"
    click.echo(f"{verdict.checked:,} files compared with their manifests, {verdict.repeated:,} runs done again: {good}")
    if verdict.complaints:
        sys.exit(1)
