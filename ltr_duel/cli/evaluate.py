"""``ltr-duel evaluate``: evaluate rankers by the relevance grades."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ltr_duel import analysis, rankers
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import PATH, ROWS, Place
from ltr_duel.cli._output import only_writer, print_rest, print_table
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command
from ltr_duel.core import files

if TYPE_CHECKING:
    import pandas as pd


@click.command(cls=Command)
@click.argument("path", type=PATH)
@corpus_options
@click.option("--measure", "measures", multiple=True, help="NDCG@k, ERR@k, MAP, MRR, P@k or R@k; may be repeated.")
@click.option(
    "--baseline", "baselines", multiple=True, metavar="RANKER",
    help="Compare the others with this ranker instead of the best; may be repeated.",
)  # fmt: skip
@click.option("--rows", type=ROWS, default=5, show_default=True, help="Number of rankers to list for each measure.")
@options.jobs
@click.option("-o", "--out", type=Place(results=("measures.*",)), help="A folder for measures.parquet, .tex and .png.")
@options.wide
def command(
    path: Path,
    corpus: Corpus,
    measures: tuple[str, ...],
    baselines: tuple[str, ...],
    rows: int,
    jobs: int,
    out: Path | None,
) -> None:
    """Evaluate rankers of the corpus at PATH by the relevance grades; the default rankers are the features.

    For each measure, the best rankers are listed first, with the mean over queries, its 95 % interval, the difference
    from the best ranker, and p of a paired test against the best ranker. Because the best ranker is selected on
    the queries of the test, p is corrected by Holm's method for all pairs. With baselines, the difference and p are
    those from each baseline, corrected for the pairs with a baseline.
    """
    only_writer(out)
    dataset = corpus.load(path)
    rankings = corpus.rank(dataset, jobs=jobs)
    table = rankers.evaluate_rankers(rankings, measures or rankers.DEFAULT_MEASURES, baseline=baselines)
    text = _measures_table(table)
    title = f"{dataset.name}: {len(rankings)} rankers"
    gain = "NDCG has the gain 2^grade - 1" if table["measure"].str.startswith("NDCG").any() else ""
    click.echo(f"{title}, {rankings.n_queries:,} queries\n")
    print_table(text.groupby(["measure", *(["baseline"] if baselines else [])], sort=False).head(rows))
    if gain:
        click.echo(f"{gain}.")
    print_rest(rows, len(rankings), f"rankers for each measure{' and baseline' if baselines else ''}")
    if out is None:
        return
    with files.replacing(out / "measures.parquet") as temporary:
        table.to_parquet(temporary, index=False)
    files.write_text(out / "measures.tex", analysis.latex_table(text, caption=f"{title}. {gain}" if gain else title))
    analysis.save_figure(analysis.plot_measures(table, title=title), out / "measures.png")
    click.echo(f"\n{out / 'measures.parquet'}, {out / 'measures.tex'}, {out / 'measures.png'}")


def _measures_table(evaluation: pd.DataFrame) -> pd.DataFrame:
    """Return a result of `evaluate_rankers` as a table of strings; p is corrected by Holm's method."""
    import pandas as pd

    return pd.DataFrame(
        {
            "ranker": evaluation["ranker"],
            "measure": evaluation["measure"],
            "mean": [f"{mean:.4f}" for mean in evaluation["mean"]],
            "interval": [
                "-" if math.isnan(low) else f"{low:.3f} to {high:.3f}"
                for low, high in zip(evaluation["low"], evaluation["high"], strict=True)
            ],
            **({"baseline": evaluation["baseline"]} if "baseline" in evaluation else {}),
            "to the baseline" if "baseline" in evaluation else "to the best": [
                f"{difference:.4f}" if difference else "-" for difference in evaluation["difference"]
            ],
            "p": ["-" if math.isnan(p) else "<0.001" if p < 0.001 else f"{p:.3f}" for p in evaluation["p"]],
        }
    )
