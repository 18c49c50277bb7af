"""``ltr-duel replay``: simulated users against a running service."""

from __future__ import annotations

from pathlib import Path

import click

from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT
from ltr_duel.cli._output import echo_lines
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command


@click.command(cls=Command)
@click.argument("path", metavar="CORPUS", type=click.Path(path_type=Path))
@click.option("--config", type=click.Path(path_type=Path), required=True, help="Settings of the live experiment.")
@click.option("--url", required=True, help="Of its service: http://127.0.0.1:8080.")
@corpus_options
@options.clicks("Click model of simulated users.")
@click.option("--steps", type=COUNT, default=10_000, show_default=True, help="Pages to ask for.")
@click.option("--concurrency", type=COUNT, default=1, show_default=True, help="Users at once.")
@click.option("--lost", type=float, default=0.0, show_default=True, help="Share of pages that are never reported.")
@click.option("--api-key-file", type=click.Path(path_type=Path), help="Its first key is sent.  [or LTR_DUEL_API_KEY]")
@click.option("--allow-remote", is_flag=True, help="Also if the service is on another machine.")
@options.plugin
@options.seed
def command(
    path: Path, config: Path, url: str, corpus: Corpus, clicks: str, steps: int, concurrency: int, lost: float,
    api_key_file: Path | None, allow_remote: bool, seed: int,
) -> None:  # fmt: skip
    """Let simulated users of CORPUS search and click at the service of a live experiment.

    The rankers of CONFIG are those of the corpus with the same names. One user at a time, and with the seed of CONFIG,
    the service takes the path of 'simulate --live' with that seed.
    """
    from ltr_duel.core import progress as core_progress
    from ltr_duel.live import read_settings
    from ltr_duel.replay import SimulatedUsers, address_of, replay
    from ltr_duel.serve import read_api_keys

    address_of(url, allow_remote=allow_remote)  # before anything is read
    settings, keys = read_settings(config), read_api_keys(api_key_file)
    users = SimulatedUsers(corpus.rankings(path, jobs=1)[settings.rankers], clicks, top=settings.top, seed=seed)
    line, before = core_progress.PlainLine(), 0
    with core_progress.progress_bar(total=steps, desc="replay", unit="page", unit_scale=True) as bar:

        def progress(pages: int) -> None:
            nonlocal before
            bar.update(pages - before)
            before = pages
            if line.due():
                line.show(f"replay: {pages / steps:.0%}")

        found = replay(
            users,
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
