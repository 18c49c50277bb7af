"""``ltr-duel rank-policies``: rank policies by their regret on a suite of problems, relative to the best policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_duel import advice, analysis, core
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import CONTINUED_FOLDER, COUNT, FOLDER
from ltr_duel.cli._output import only_writer, print_table
from ltr_duel.cli._words import Command, policy_names
from ltr_duel.core import files

STEPS, RUNS = (1_000, 10_000, 100_000), 10


@click.command(cls=Command)
@click.option(
    "--policy", "policies", multiple=True, shell_complete=policy_names,
    help="A further policy, with optional parameters; the form policy/method is only for problems with simulated users."
    " May be repeated.",
)  # fmt: skip
@click.option("--problems", multiple=True, help="Problems to use: a name, a family (with *), matrices, or live.")
@click.option("--half", type=click.Choice(("tune", "judge")), show_default="both", help="Only this half of the suite.")
@click.option("--steps", type=COUNT, multiple=True, show_default="1e3, 1e4, 1e5", help="A horizon. May be repeated.")
@click.option(
    "--runs", type=COUNT, default=RUNS, show_default=True, help="Runs of each policy on each problem, at least 2."
)
@click.option("--batches/--no-batches", default=True, show_default=True, help="Also run in batches of 1 % of steps.")
@click.option("--quick", is_flag=True, help="A few problems, 3 runs of 1,000 steps: two minutes on two cores.")
@click.option(
    "--data", type=FOLDER,
    help="A folder with MQ2008, OHSUMED, MSLR_excerpt and preference_matrices; missing ones are skipped.",
)  # fmt: skip
@options.plugins
@options.seed
@options.jobs
@click.option(
    "--out", type=CONTINUED_FOLDER, help="A folder for cells.jsonl (reused results), standings.csv, .md and .png."
)
@options.wide
def command(
    plugins: tuple[core.plugins.Plugin, ...], problems: tuple[str, ...], half: str | None, steps: tuple[int, ...],
    runs: int, batches: bool, quick: bool, out: Path | None, **settings: Any,
) -> None:  # fmt: skip
    """Rank policies by their regret on a suite of problems, relative to the best policy in hindsight.

    The suite contains preference matrices, where pairs are compared, and simulated users, where policies for pairs and
    for sets compete, each with its methods. It is split in two halves by family: one to tune a policy, one to judge it.

    The tables give the geometric mean over the problems with a 95 % interval over runs, the worst problem, the share of
    runs that end with a wrong ranker, and the mean of each family.
    """
    only_writer(out)
    options.check_once(plugins)
    if quick:
        problems, steps, runs, batches = problems or advice.QUICK, steps or (1_000,), min(runs, 3), False
    wanted = advice.Ranking(
        problems=problems, half=half or "", steps=steps or STEPS, runs=runs, batches=batches,
        kept=None if out is None else out / "cells.jsonl",
        sources={name: one.sha256 for one in plugins for kind, name in one.components if kind == "policy"},
        **settings,
    )  # fmt: skip
    halves = advice.rank_policies(wanted, _say if core.progress.progress_allowed() else lambda line: None)
    for name, frame in halves.items():
        for title, part in advice.parts_of(frame).items():
            click.echo(f"{name} half: {title}\n")
            print_table(advice.standings_table(part))
            click.echo(f"the best policy of each problem is wrong in {part['wrong at best'].iloc[0]:.0%} of runs\n")
    if out is not None:
        with files.replacing(out / "standings.csv") as temporary:
            import pandas as pd

            pd.concat([frame.assign(half=name) for name, frame in halves.items()]).to_csv(temporary, index=False)
        files.write_text(out / "standings.md", advice.standings_page(halves))
        analysis.save_figure(advice.plot_standings(halves), out / "standings.png")
        click.echo(f"{out / 'standings.csv'}, {out / 'standings.md'}, {out / 'standings.png'}")


def _say(line: str) -> None:
    click.echo(line, err=True)
