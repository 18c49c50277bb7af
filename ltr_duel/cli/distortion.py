"""``ltr-duel distortion``: measure how many rankers beat the Condorcet winner when a whole set is multileaved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_duel import analysis, simulation
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, PATH, Place
from ltr_duel.cli._output import only_writer, print_table, save_measured
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command, click_model_names, method_names


@click.command(cls=Command)
@click.argument("path", type=PATH)
@corpus_options
@click.option("--sizes", default="3,10,100", show_default=True, help="Sizes of the sets of rankers.")
@click.option(
    "--clicks", default="perfect,navigational,informational", show_default=True, shell_complete=click_model_names,
    help="Click models.",
)  # fmt: skip
@click.option(
    "--method", "methods", multiple=True, show_default="all for sets", shell_complete=method_names,
    help="A method for sets; may be repeated.",
)  # fmt: skip
@click.option("--multileavings", type=COUNT, default=3000, show_default=True, help="Multileavings of each set.")
@click.option("--repetitions", type=COUNT, default=30, show_default=True, help="Number of sets of each size.")
@click.option(
    "--comparisons", type=COUNT, default=4000, show_default=True, help="Comparisons per pair, to find the winners."
)
@click.option("--top", type=COUNT, default=10, show_default=True, help="Number of shown documents.")
@options.plugin
@options.seed
@options.jobs
@click.option(
    "--out", type=Place(results=("distortion.*",)), help="A folder for distortion.parquet and distortion.png."
)
@options.wide
def command(
    path: Path, corpus: Corpus, sizes: str, clicks: str, multileavings: int, repetitions: int, jobs: int,
    out: Path | None, **settings: Any,
) -> None:  # fmt: skip
    """Measure the distortion of multileaving on rankers, by default the features, of the corpus at PATH.

    Random sets of rankers that have a Condorcet winner are multileaved as a whole. The table gives the percentage of
    the other rankers that beat the winner, its standard error over sets, and the percentage that beat the winner
    clearly, by more than two standard errors of a fair coin.
    """
    wanted = [COUNT.convert(word.strip(), None, None) for word in sizes.split(",")]
    only_writer(out)
    rankings = corpus.rankings(path, jobs)
    frame = simulation.measure_distortion(
        rankings,
        clicks=[word.strip() for word in clicks.split(",")],
        sizes=wanted,
        multileavings=multileavings,
        repetitions=repetitions,
        jobs=jobs,
        **settings,
    )
    name = frame.attrs["corpus"]
    click.echo(f"{name}: {len(rankings)} rankers, {multileavings:,} multileavings of each of {repetitions} sets\n")
    table = simulation.distortion_table(frame)
    print_table(
        table[["method", "clicks", "rankers"]].assign(
            **{
                "% beat the winner": [_percent(value) for value in table["percent"]],
                "standard error": [_percent(value) for value in table["standard_error"]],
                "% clearly": [_percent(value) for value in table["percent_clear"]],
            }
        )
    )
    for clicks_name, size in table.loc[table["repetitions"] == 0, ["clicks", "rankers"]].drop_duplicates().to_numpy():
        click.echo(f"With {clicks_name} clicks no set of {size} rankers has a Condorcet winner.", err=True)
    if out is not None:
        title = f"{name}: {multileavings:,} multileavings of each of {repetitions} sets"
        save_measured(out, "distortion", frame, analysis.plot_distortion(frame, title=title))


def _percent(value: float) -> str:
    return "-" if value != value else f"{value:.1f}"
