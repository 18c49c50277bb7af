"""``ltr-duel replay``: simulated users against a running service."""

from __future__ import annotations

from pathlib import Path

import click

from ltr_duel import core, live, replay, serve
from ltr_duel import plan as planning
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, OUT_FOLDER, PATH, ROWS
from ltr_duel.cli._output import echo_lines
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError


@click.command(cls=Command)
@click.argument("path", metavar="CORPUS", type=PATH)
@click.option("--config", type=PATH, required=True, help="Settings of the live experiment.")
@click.option("--url", default="", help="Of its service: http://127.0.0.1:8080.")
@click.option("--plan", type=OUT_FOLDER, help="Instead of a service: a new folder for plans and logs.")
@click.option("--plans", type=COUNT, default=24, show_default=True, help="With --plan: one for each hour.")
@click.option("--processes", type=COUNT, default=2, show_default=True, help="With --plan: that decide, on their own.")
@click.option("--users", type=ROWS, default=0, help="With --plan: so many return to each process.  [default: none]")
@corpus_options
@options.clicks("Click model of simulated users.")
@click.option("--steps", type=COUNT, default=10_000, show_default=True, help="Pages to ask for.")
@click.option("--concurrency", type=COUNT, default=1, show_default=True, help="Users at once.")
@click.option("--lost", type=float, default=0.0, show_default=True, help="Share of pages that are never reported.")
@click.option("--api-key-file", type=PATH, help="Its first key is sent.  [or LTR_DUEL_API_KEY]")
@click.option("--allow-remote", is_flag=True, help="Also if the service is on another machine.")
@options.plugin
@options.seed
def command(
    path: Path, config: Path, url: str, plan: Path | None, plans: int, processes: int, users: int, corpus: Corpus,
    clicks: str, steps: int, concurrency: int, lost: float, api_key_file: Path | None, allow_remote: bool, seed: int,
) -> None:  # fmt: skip
    """Let simulated users of CORPUS search and click at the service of a live experiment, or where plans are followed.

    The rankers of CONFIG are those of the corpus with the same names. One user at a time, and with the seed of CONFIG,
    the service takes the path of 'simulate --live' with that seed. With --plan there is no service: for each hour
    'live plan' makes a plan from the logs so far, and processes that know nothing but the plan decide and log.
    """
    if bool(url) == (plan is not None):
        raise InputError("give either --url, of a service, or --plan, a folder")
    if plan is not None:
        settings = live.read_settings(config)
        rankings = corpus.rankings(path, jobs=1)[settings.rankers]
        signing = dict(live.signing_keys(config.parent / planning.plan_settings(settings, str(config)).key_file))
        searches = max(steps // (plans * processes), 1)
        loop = replay.Loop(settings, signing, rankings, clicks, plan, users, searches, seed)
        return _follow(loop, plans, processes)
    replay.address_of(url, allow_remote=allow_remote)  # before anything is read
    settings, keys = live.read_settings(config), serve.read_api_keys(api_key_file)
    asking = replay.SimulatedUsers(corpus.rankings(path, jobs=1)[settings.rankers], clicks, top=settings.top, seed=seed)
    line, before = core.progress.PlainLine(), 0
    with core.progress.progress_bar(total=steps, desc="replay", unit="page", unit_scale=True) as bar:

        def progress(pages: int) -> None:
            nonlocal before
            bar.update(pages - before)
            before = pages
            if line.due():
                line.show(f"replay: {pages / steps:.0%}")

        found = replay.replay(
            asking,
            url,
            steps=steps,
            concurrency=concurrency,
            lost=lost,
            api_key=keys[0] if keys else "",
            allow_remote=allow_remote,
            seed=seed,
            progress=progress,
        )
    echo_lines(found.lines())


def _follow(loop: replay.Loop, plans: int, processes: int) -> None:
    """Let users live through plans, and print a line for each."""
    folder = loop.folder
    for one in replay.follow_plans(loop, plans=plans, processes=processes):
        names, count = one.plan.sets[0]
        click.echo(
            f"plan {one.plan.version}: {one.searches:,} searches, {one.logged:,} exposures; answer so far"
            f" {one.plan.recommended}; most often {' | '.join(names)} ({count / one.plan.draws:.0%})"
        )
    tables = f"--exposures {folder / replay.EXPOSURES} --events {folder / replay.EVENTS}"
    click.echo(f"{folder / 'plan.json'}; to read the log: ltr-duel logs compare {tables}")
