"""``ltr-duel prefs winners``: winners and cycles by outcome rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_duel import analysis, interleaving, preferences, rankers
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, PATH, ROWS
from ltr_duel.cli._output import print_table
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command
from ltr_duel.core import InputError

ORDER = "order of ties"  # a column
_MORE = 20  # times as many comparisons tell the winner where the usual number leaves it open, on most corpora


@click.command(cls=Command)
@click.argument("path", type=PATH)
@options.clicks()
@options.method("How two rankers are compared.")
@click.option("--comparisons", type=COUNT, help="Of each pair.  [default: as of prefs estimate]")
@click.option("--top", type=COUNT, default=10, show_default=True, help="Documents shown.")
@click.option(
    "--tie-orders", type=ROWS, default=3, show_default=True,
    help="Orders of tied documents to compare: tie seeds of fixed_random, beside resample; 0 for none.",
)  # fmt: skip
@corpus_options
@options.checked_plugin
@options.seed
@options.jobs
@options.wide
def winners(path: Path, clicks: str, method: str, tie_orders: int, corpus: Corpus, jobs: int, **settings: Any) -> None:
    """Estimate the preferences on the corpus at PATH by each outcome rule: winners, how sure, and cycles.

    Where documents tie, the default outcome rule is tried with other orders of them as well: each tie seed is another
    set of rankers, and may have another winner.
    """
    import pandas as pd

    if path.suffix in (".parquet", ".npy", ".csv"):
        raise InputError(
            f"{path}: a preference matrix; prefs winners wants a corpus, on which it estimates by each outcome rule;"
            f" 'ltr-duel prefs show {path}' prints a matrix"
        )
    chosen = interleaving.METHODS.configure(method).component
    dataset = corpus.load(path)

    def estimated(rankings: rankers.Rankings, rule: str) -> dict[str, str]:
        matrix = preferences.estimate_preferences(
            rankings, outcome=rule, clicks=clicks, method=method, jobs=jobs, **settings
        )
        spent.append(int(matrix.comparisons.max()))
        found.append({ORDER: matrix.tie_order, **analysis.winner_row(matrix)})
        return found[-1]

    found, spent = list[dict[str, str]](), list[int]()
    rankings = corpus.rank(dataset, jobs=jobs)
    by_rule = {rule: estimated(rankings, rule) for rule in chosen.outcomes}
    usual = chosen.research_outcome
    click.echo(f"{dataset.name}: {len(rankings)} rankers, {clicks} clicks, {method}")
    rows = [{"outcome rule": rule + " (default)" * (rule == usual), **row} for rule, row in by_rule.items()]
    print_table(pd.DataFrame(rows).drop(columns=ORDER))
    share = rankings.tied_share
    if share:
        click.echo(f"{share:.1%} of documents tie (mean over rankers); their order: {by_rule[usual][ORDER]}")
    if tie_orders and share:
        rows = []
        for order in _orders(corpus.ties, tie_orders, chosen.compiled):
            row = by_rule[usual]
            if order != corpus.ties:
                other = rankers.rankers_named(dataset, corpus.words, **order, drop_constant=True, jobs=jobs)
                row = estimated(other, usual)
            rows.append(row)
        click.echo(f"\nby the order of tied documents, outcome rule {usual}:")
        print_table(pd.DataFrame(rows))
    if any(row["Condorcet winner"] == analysis.UNDECIDED for row in found):
        more = f"--comparisons {_MORE * max(spent)} may tell"
        click.echo(
            f"{analysis.UNDECIDED}: what the estimate says, a winner or none, has a probability below 0.95; {more}"
        )


def _orders(ties: dict[str, Any], many: int, again: bool) -> list[dict[str, Any]]:
    """Return the given order of ties, the first tie seeds, and if possible a new order for each comparison."""
    seeds = [{"ties": "fixed_random", "seed": seed} for seed in range(many)]
    listed = [ties, *seeds, *([{"ties": "resample", "seed": 0}] if again else [])]
    return [order for place, order in enumerate(listed) if order not in listed[:place]]
