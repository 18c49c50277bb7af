"""``ltr-duel replay``: run simulated users under the plans of a live experiment."""

from __future__ import annotations

from pathlib import Path

import click

from ltr_duel import live
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import CONTINUED_FOLDER, COUNT, PATH, option
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError


@click.command(cls=Command)
@click.argument("path", metavar="CORPUS", type=PATH)
@click.option("--config", type=PATH, required=True, help="Settings of the live experiment.")
@click.option("-o", "--out", type=CONTINUED_FOLDER, required=True, help="A new folder for plans and logs.")
@option("--plans", type=COUNT, default=24, help="Number of hourly plans.")
@option("--processes", type=COUNT, default=2, help="Number of processes that follow a plan.")
@click.option("--returning", type=COUNT, default=0, help="Returning users of each process.  [default: none returns]")
@option("--searches", type=COUNT, default=10_000, help="Number of searches under all plans.")
@corpus_options
@options.clicks
@options.plugin
@options.seed
def command(
    path: Path, config: Path, out: Path, plans: int, processes: int, returning: int, searches: int, corpus: Corpus,
    clicks: str, seed: int,
) -> None:  # fmt: skip
    """Let simulated users search and click under the plans of an experiment.

    The users search in CORPUS, and the rankers have the names in CONFIG. For each simulated hour, a plan is made from
    the earlier logs, as by 'ltr-duel live plan', and several processes follow it.
    """
    settings = live.read_settings(config)
    if settings.credit != "click":
        raise InputError(f"{config}: credit = '{settings.credit}': simulated users only click; remove this setting")
    rankings = corpus.rankings(path, jobs=1)[settings.rankers]
    secrets = dict(live.read_keys(config.with_name("live.keys"), create=True))
    each = max(searches // (plans * processes), 1)
    loop = live.Loop(settings, secrets, rankings, clicks, out, returning, each, seed)
    for plan, logged in live.follow_plans(loop, plans=plans, processes=processes):
        names, count = plan.sets[0]
        click.echo(
            f"plan {plan.version}: {each * processes:,} searches, {logged:,} exposures; answer so far"
            f" {plan.recommended}; most often {' | '.join(names)} ({count / plan.draws:.0%})"
        )
    tables = f"--exposures {out / live.EXPOSURES} --events {out / live.EVENTS}"
    click.echo(f"{out / 'plan.json'}; to read the log: ltr-duel logs compare {tables}")
