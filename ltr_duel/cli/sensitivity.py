"""``ltr-duel sensitivity``: measure the impressions that each method needs to find the better ranker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_duel import analysis, simulation
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, PATH, Place
from ltr_duel.cli._output import only_writer, print_table, save_measured
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command, method_names
from ltr_duel.core import errors


@click.command(cls=Command)
@click.argument("path", type=PATH)
@corpus_options
@options.clicks()
@click.option(
    "--method", "methods", multiple=True, show_default="all", shell_complete=method_names, help="May be repeated."
)
@click.option("--pairs", type=COUNT, default=20, show_default=True, help="Number of random pairs of rankers.")
@click.option("--least-gap", default=0.01, show_default=True, help="Least difference of NDCG@10 in a pair.")
@click.option("--impressions", type=COUNT, default=3000, show_default=True, help="Impressions per pair and repetition.")
@click.option("--repetitions", type=COUNT, default=50, show_default=True, help="Repetitions for each pair.")
@click.option("--accuracy", default=0.95, show_default=True, help="Accuracy that a method has to reach.")
@click.option("--top", type=COUNT, default=10, show_default=True, help="Number of shown documents.")
@options.plugin
@options.seed
@options.jobs
@click.option(
    "-o", "--out", type=Place(results=("sensitivity.*",)), help="A folder for sensitivity.parquet and sensitivity.png."
)
@options.wide
def command(
    path: Path, corpus: Corpus, clicks: str, impressions: int, repetitions: int, accuracy: float, jobs: int,
    out: Path | None, **settings: Any,
) -> None:  # fmt: skip
    """Measure how soon each method finds the better of two rankers, by default features, of the corpus at PATH.

    The better ranker has the higher NDCG@10. The table contains, for each method, the number of impressions after which
    the method is right in a share of --accuracy of the repetitions (median over pairs), the share of pairs that reach
    this accuracy, and the accuracy at the last impression, with its standard error over pairs.
    """
    errors.require_between("the accuracy", accuracy, 0.5, 1)
    only_writer(out)
    rankings = corpus.rankings(path, jobs)
    frame = simulation.measure_sensitivity(
        rankings, clicks=clicks, impressions=impressions, repetitions=repetitions, jobs=jobs, **settings
    )
    drawn = len(frame[["better", "worse"]].drop_duplicates())
    about = f"{frame.attrs['corpus']}, {clicks} clicks: {drawn} pairs of rankers, {repetitions} repetitions of each"
    click.echo(about + "\n")
    table = simulation.sensitivity_table(frame, accuracy)
    print_table(
        table[["method"]].assign(
            **{
                f"impressions to {accuracy:.0%}": [
                    f"more than {impressions:,}" if value != value else f"{value:,.0f}"
                    for value in table["impressions"]
                ],
                "pairs sure": [f"{value:.0%}" for value in table["pairs_sure"]],
                f"right after {impressions:,}": [f"{value:.1%}" for value in table["accuracy"]],
                "standard error": ["-" if value != value else f"{value:.1%}" for value in table["standard_error"]],
            }
        )
    )
    if out is not None:
        save_measured(out, "sensitivity", frame, analysis.plot_sensitivity(frame, title=about, accuracy=accuracy))
