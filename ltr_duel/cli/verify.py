"""``ltr-duel verify``: verify that results are unchanged."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ltr_duel import core, experiment
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, PATH
from ltr_duel.cli._output import echo_lines
from ltr_duel.cli._words import Command

_MOST = 20


@click.command(cls=Command)
@click.argument("folder", type=PATH)
@click.option("--sample", type=COUNT, default=10, show_default=True, help="Number of runs to repeat.")
@click.option("--repair", is_flag=True, help="Repeat wrong runs, replace their results, and report them.")
@options.plugins
@options.seed
@options.jobs
def command(
    folder: Path, sample: int, repair: bool, plugins: tuple[core.plugins.Plugin, ...], seed: int, jobs: int
) -> None:
    """Compare all runs in FOLDER with their checksums, and repeat a random sample of the runs.

    Exit code 1 if an error remains unrepaired.
    """
    paths = [plugin.path for plugin in plugins]
    verdict = experiment.verify_store(folder, sample=sample, seed=seed, plugins=paths, jobs=jobs, repair=repair)
    _print_some([f"repaired: {why}" for why in verdict.repaired])
    _print_some(verdict.complaints)
    again = f", {verdict.executed:,} executed for the repair" if repair else ""
    count = len(verdict.complaints)
    found = "no complaints" if not count else "1 complaint" if count == 1 else f"{count:,} complaints"
    compared = f"{verdict.checked:,} runs compared with their checksums, {verdict.repeated:,} runs repeated"
    click.echo(f"{compared}{again}: {found}")
    if verdict.unfinished:
        click.echo(f"planned runs that are not finished: {verdict.unfinished:,} ('ltr-duel run' executes them)")
    if verdict.complaints and not repair:
        click.echo(f"'ltr-duel verify --repair {folder}' repairs damaged runs and matrices")
    if verdict.complaints:
        sys.exit(1)


def _print_some(sentences: list[str]) -> None:
    echo_lines(sentences[:_MOST])
    if len(sentences) > _MOST:
        click.echo(f"... and {len(sentences) - _MOST} more")
