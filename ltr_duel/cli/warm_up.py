"""``ltr-duel warm-up``: compile kernels in advance."""

from __future__ import annotations

import time

import click

from ltr_duel import simulation
from ltr_duel.cli import _options as options
from ltr_duel.cli._words import Command, policy_names
from ltr_duel.core import cache_home


@click.command(cls=Command)
@click.argument("policies", nargs=-1, metavar="[POLICY]...", shell_complete=policy_names)
@options.jobs
def command(policies: tuple[str, ...], jobs: int) -> None:
    """Compile all policies or the named ones in advance, so that their first simulation starts sooner.

    Compiled code is stored in the user's cache or in $LTR_DUEL_HOME, until the package is updated.
    """
    start = time.monotonic()
    done = simulation.warm_up(policies, jobs=jobs)
    click.echo(f"{len(done)} compiled in {time.monotonic() - start:.0f} s, kept in {cache_home() / 'kernels'}")
