"""``ltr-duel sensitivity``: measure how many impressions each method needs to find the better ranker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_duel import analysis, simulation
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, PATH, OutputPath, option
from ltr_duel.cli._output import print_table, text_columns, write_files
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command, method_names
from ltr_duel.core import errors, several

_RESULTS = OutputPath(results=("sensitivity.*",))


@click.command(cls=Command)
@click.argument("path", type=PATH)
@corpus_options
@options.clicks
@option("--method", "methods", multiple=True, shell_complete=method_names, help="Repeatable.  [default: all]")
@option("--pairs", type=COUNT, default=20, help="Number of random pairs of rankers.")
@option("--least-gap", default=0.01, help="Least difference of NDCG@10 in a pair.")
@option("--impressions", type=COUNT, default=3000, help="Impressions per pair and repetition.")
@option("--repetitions", type=COUNT, default=50, help="Repetitions for each pair.")
@option("--accuracy", default=0.95, help="Accuracy that a method has to reach.")
@options.top
@options.plugin
@options.seed
@options.jobs
@click.option("-o", "--out", type=_RESULTS, help="A folder for sensitivity.parquet and sensitivity.png.")
def command(
    path: Path, corpus: Corpus, clicks: str, impressions: int, repetitions: int, accuracy: float, jobs: int,
    out: Path | None, **settings: Any,
) -> None:  # fmt: skip
    """Measure how many impressions each method needs to find the better of two rankers of the corpus at PATH.

    The better ranker has the higher NDCG@10. A method is sure of a pair once the share of right repetitions reaches
    --accuracy and stays there. The table has the median number of impressions over pairs, and the accuracy at the end.
    """
    import pandas as pd

    errors.require_between("the accuracy", accuracy, 0.5, 1)
    frame = simulation.measure_sensitivity(
        corpus.rankings(path, jobs), clicks=clicks, impressions=impressions, repetitions=repetitions, jobs=jobs,
        **settings,
    )  # fmt: skip
    drawn, corpus_name = len(frame[["better", "worse"]].drop_duplicates()), frame.attrs["corpus"]
    title = f"{corpus_name}, {clicks} clicks: {several(drawn, 'pair')} of rankers, {repetitions} repetitions of each"
    if out is not None:
        figure = analysis.plot_sensitivity(frame, title=title, accuracy=accuracy)
        writers = {
            "sensitivity.parquet": lambda file: frame.to_parquet(file, index=False),
            "sensitivity.png": lambda file: analysis.save_figure(figure, file),
        }
        write_files(out, writers)
    counts = dict.fromkeys(["impressions", "low", "high"], ",.0f")
    formats = {"method": "", **counts, "pairs_sure": ".0%", "accuracy": ".1%", "standard_error": ".1%"}
    interval = "95% interval" if drawn > 5 else "range of pairs"  # an interval of a median needs six
    heads = ["method", f"impressions to {accuracy:.0%}", interval, "pairs sure", f"right after {impressions:,}"]
    table = simulation.sensitivity_table(frame, accuracy).sort_values("impressions", kind="stable")  # the best first
    columns = text_columns(table, formats)
    for name in counts:
        columns[name] = [text.replace("-", f"more than {impressions:,}") for text in columns[name]]
    columns["low"] = [" to ".join(ends) for ends in zip(columns["low"], columns.pop("high"), strict=True)]
    click.echo(title)
    print_table(pd.DataFrame(dict(zip([*heads, "standard error"], columns.values(), strict=True))))
