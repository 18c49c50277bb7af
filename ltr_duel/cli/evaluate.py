"""``ltr-duel evaluate``: evaluate rankers by the relevance grades."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ltr_duel import analysis, rankers
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import PATH, ROWS, OutputPath, option
from ltr_duel.cli._output import is_set, print_answer, print_table, text_columns, write_files
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command
from ltr_duel.core import several

if TYPE_CHECKING:
    import pandas as pd

_LEVEL = 0.05  # level of the test in the answer
_RESULTS = OutputPath(results=("measures.*",))


@click.command(cls=Command)
@click.argument("path", type=PATH)
@corpus_options
@click.option("--measure", "measures", multiple=True, help="NDCG@k, ERR@k, MAP, MRR, P@k or R@k; may be repeated.")
@click.option("--baseline", "baselines", multiple=True, metavar="RANKER", help="Compare with this ranker; repeatable.")
@option("--rows", type=ROWS, default=5, help="Number of rankers for each measure to list.")
@options.jobs
@click.option("-o", "--out", type=_RESULTS, help="A folder for measures.parquet and measures.tex.")
@options.explain
def command(
    path: Path, corpus: Corpus, measures: tuple[str, ...], baselines: tuple[str, ...], rows: int, jobs: int,
    out: Path | None,
) -> None:  # fmt: skip
    """Evaluate rankers of the corpus at PATH by the relevance grades. By default, the rankers are the features.

    The table lists the best rankers by the first measure, with the p-value of a paired test against the best ranker or
    against each --baseline. P-values are corrected by Holm's method. Use --explain for all measures.
    """
    dataset = corpus.load(path)
    rankings = corpus.rank(dataset, jobs=jobs)
    table = rankers.evaluate_rankers(rankings, measures or rankers.DEFAULT_MEASURES, baseline=baselines)
    text, title = _texts(table), f"{dataset.name}: {len(rankings)} rankers"
    gain = "NDCG has the gain 2^grade - 1" * bool(table["measure"].str.startswith("NDCG").any())
    if out is not None:
        latex = analysis.latex_table(text, caption=f"{title}. {gain}" if gain else title)
        writers = {
            "measures.parquet": lambda file: table.to_parquet(file, index=False),
            "measures.tex": lambda file: file.write_text(latex, encoding="utf-8"),
        }
        write_files(out, writers)
    best, measure = table.iloc[0], table["measure"].iloc[0]
    rivals = table[(table["measure"] == measure) & (table["ranker"] != best["ranker"])]
    others, worse = rivals["ranker"].nunique(), rivals.loc[rivals["p"] < _LEVEL, "ranker"].nunique()
    interval = f" ({best['low']:.3f} to {best['high']:.3f})" if rankings.n_queries > 1 else ""
    counts = f"{several(len(rankings), 'ranker')} on {several(rankings.n_queries, 'query')}"
    shown = f"shown to be better than {worse} of {several(others, 'other')} (paired test, p < {_LEVEL})"
    print_answer(
        f"{best['ranker']} has the highest {measure}, {best['mean']:.4f}{interval}, of {counts} of {dataset.name}",
        shown * (not baselines and others > 0),
        [gain],
    )
    chosen = text if measures or is_set("explain") else text[text["measure"] == measure]
    keys = ["measure", *(["baseline"] if baselines else [])]
    print_table(chosen.groupby(keys, sort=False).head(rows))
    if len(rankings) > rows:
        click.echo(f"{len(rankings) - rows:,} more rankers for each measure; --rows {len(rankings)} lists them")


def _texts(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    baseline = ["baseline"] if "baseline" in table else []
    columns = text_columns(table, {"ranker": "", "measure": "", "mean": ".4f", "low": ".3f", "high": ".3f"})
    columns["interval"] = [
        f"{low} to {high}" for low, high in zip(columns.pop("low"), columns.pop("high"), strict=True)
    ]
    columns |= text_columns(table, dict.fromkeys(baseline, ""))
    difference = "to the baseline" if baseline else "to the best"
    columns[difference] = [f"{value:.4f}" if value else "-" for value in table["difference"]]
    columns["p"] = ["<0.001" if p < 0.001 else "-" if p != p else f"{p:.3f}" for p in table["p"]]
    return pd.DataFrame(columns)
