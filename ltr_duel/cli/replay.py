"""``ltr-duel replay``: run simulated users against a service or plans."""

from __future__ import annotations

from pathlib import Path

import click

from ltr_duel import core, live, replay, serve
from ltr_duel import plan as planning
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import CONTINUED_FOLDER, COUNT, PATH, ROWS
from ltr_duel.cli._output import echo_lines
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError


@click.command(cls=Command)
@click.argument("path", metavar="CORPUS", type=PATH)
@click.option("--config", type=PATH, required=True, help="Settings of the live experiment.")
@click.option("--url", default="", help="URL of the service, such as http://127.0.0.1:8080.")
@click.option("--plan", type=CONTINUED_FOLDER, help="A new folder for plans and logs, instead of a service.")
@click.option("--plans", type=COUNT, default=24, show_default=True, help="With --plan: number of hourly plans.")
@click.option("--processes", type=COUNT, default=2, show_default=True, help="With --plan: number of processes.")
@click.option("--users", type=ROWS, default=0, help="With --plan: returning users per process.  [default: none]")
@corpus_options
@options.clicks("Click model of simulated users.")
@click.option("--steps", type=COUNT, default=10_000, show_default=True, help="Number of pages to request.")
@click.option("--concurrency", type=COUNT, default=1, show_default=True, help="Number of concurrent users.")
@click.option("--lost", type=float, default=0.0, show_default=True, help="Share of pages without reported clicks.")
@click.option("--api-key-file", type=PATH, help="File of API keys; the first key is sent.  [or LTR_DUEL_API_KEY]")
@click.option("--allow-remote", is_flag=True, help="Allow a service on another machine.")
@options.plugin
@options.seed
def command(
    path: Path, config: Path, url: str, plan: Path | None, plans: int, processes: int, users: int, corpus: Corpus,
    clicks: str, steps: int, concurrency: int, lost: float, api_key_file: Path | None, allow_remote: bool, seed: int,
) -> None:  # fmt: skip
    """Run simulated users of CORPUS, who search and click, against the service or the plans of a live experiment.

    The rankers of CONFIG are the corpus's rankers with the same names. With one user at a time and the seed of CONFIG,
    the service makes the same choices as 'simulate --live' with that seed. With --plan there is no service: for each
    simulated hour a plan is made from the earlier logs, as by 'live plan', and processes follow the plan and log.
    """
    if bool(url) == (plan is not None):
        raise InputError("give either --url (a service) or --plan (a folder)")
    if plan is not None:
        settings = live.read_settings(config)
        rankings = corpus.rankings(path, jobs=1)[settings.rankers]
        signing = dict(live.signing_keys(config.parent / planning.plan_settings(settings, str(config)).key_file))
        searches = max(steps // (plans * processes), 1)
        loop = replay.Loop(settings, signing, rankings, clicks, plan, users, searches, seed)
        return _follow(loop, plans, processes)
    replay.address_of(url, allow_remote=allow_remote)  # before any file is read
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
