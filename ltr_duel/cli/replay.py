"""``ltr-duel replay``: run simulated users in a live experiment, or under plans."""

from __future__ import annotations

from pathlib import Path

import click

from ltr_duel import core, live, replay
from ltr_duel import plan as planning
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import CONTINUED_FOLDER, COUNT, OUT_FILE, PATH, ROWS
from ltr_duel.cli._output import echo_lines
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError


@click.command(cls=Command)
@click.argument("path", metavar="CORPUS", type=PATH)
@click.option("--config", type=PATH, required=True, help="Settings of the live experiment.")
@click.option("--store", type=OUT_FILE, help="A new store, in which the experiment runs.")
@click.option("--plan", type=CONTINUED_FOLDER, help="A new folder for plans and logs, instead of a store.")
@click.option("--plans", type=COUNT, default=24, show_default=True, help="With --plan: number of hourly plans.")
@click.option("--processes", type=COUNT, default=2, show_default=True, help="With --plan: number of processes.")
@click.option("--users", type=ROWS, default=0, help="With --plan: returning users per process.  [default: none]")
@corpus_options
@options.clicks("Click model of simulated users.")
@click.option("--steps", type=COUNT, default=10_000, show_default=True, help="Number of pages to request.")
@click.option("--concurrency", type=COUNT, default=1, show_default=True, help="Number of concurrent users.")
@click.option("--lost", type=float, default=0.0, show_default=True, help="Share of pages without reported clicks.")
@options.plugin
@options.seed
def command(
    path: Path, config: Path, store: Path | None, plan: Path | None, plans: int, processes: int, users: int,
    corpus: Corpus, clicks: str, steps: int, concurrency: int, lost: float, seed: int,
) -> None:  # fmt: skip
    """Run simulated users of CORPUS, who search and click, in a live experiment or under its plans.

    The rankers of CONFIG are the corpus's rankers with the same names. With one user at a time and the seed of CONFIG,
    the experiment makes the same choices as 'simulate --live' with that seed. With --plan there is no store: for each
    simulated hour a plan is made from the earlier logs, as by 'live plan', and processes follow the plan and log.
    """
    if (store is None) == (plan is None):
        raise InputError("give either --store (a new store) or --plan (a new folder)")
    if plan is not None:
        settings = live.read_settings(config)
        rankings = corpus.rankings(path, jobs=1)[settings.rankers]
        signing = dict(live.signing_keys(config.parent / planning.plan_settings(settings, str(config)).key_file))
        searches = max(steps // (plans * processes), 1)
        loop = replay.Loop(settings, signing, rankings, clicks, plan, users, searches, seed)
        return _follow(loop, plans, processes)
    if store is not None:
        _run(store, config, path, corpus, clicks, steps, concurrency, lost, seed)


def _run(
    store: Path, config: Path, path: Path, corpus: Corpus, clicks: str, steps: int, concurrency: int, lost: float,
    seed: int,
) -> None:  # fmt: skip
    """Run users in a new store, and print the counts and the state."""
    if store.exists():
        raise InputError(f"{store}: exists already; simulated users would be counted as its users")
    settings = live.read_settings(config)
    users = replay.SimulatedUsers(corpus.rankings(path, jobs=1)[settings.rankers], clicks, top=settings.top, seed=seed)
    line, before = core.progress.PlainLine(), 0
    with (
        live.Experiment.open(store, settings) as experiment,
        core.progress.progress_bar(total=steps, desc="replay", unit="page", unit_scale=True) as bar,
    ):

        def progress(pages: int) -> None:
            nonlocal before
            bar.update(pages - before)
            before = pages
            if line.due():
                line.show(f"replay: {pages / steps:.0%}")

        found = replay.replay(
            users, experiment, steps=steps, concurrency=concurrency, lost=lost, seed=seed, progress=progress
        )
        state = experiment.state()
    echo_lines([*found.lines(), f"{store}: {state.sentence}"])


def _follow(loop: replay.Loop, plans: int, processes: int) -> None:
    """Run users under successive plans, and print a line for each plan."""
    folder = loop.folder
    for one in replay.follow_plans(loop, plans=plans, processes=processes):
        names, count = one.plan.sets[0]
        click.echo(
            f"plan {one.plan.version}: {one.searches:,} searches, {one.logged:,} exposures; answer so far"
            f" {one.plan.recommended}; most often {' | '.join(names)} ({count / one.plan.draws:.0%})"
        )
    tables = f"--exposures {folder / replay.EXPOSURES} --events {folder / replay.EVENTS}"
    click.echo(f"{folder / 'plan.json'}; to read the log: ltr-duel logs compare {tables}")
