"""``ltr-duel prefs winners``: winners and cycles by outcome rule."""

from __future__ import annotations

from pathlib import Path

import click

from ltr_duel.cli._options import (
    COUNT,
    corpus_at,
    jobs_option,
    plugin_option,
    print_table,
    rankers_option,
    rankings_of,
    seed_option,
)
from ltr_duel.cli._reading import Reading, reading_options
from ltr_duel.cli._words import click_model_names, method_names


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--clicks", default="navigational", show_default=True, shell_complete=click_model_names)
@click.option("--method", default="probabilistic", show_default=True, shell_complete=method_names)
@click.option("--comparisons", type=COUNT, help="Of each pair.  [default: as of prefs estimate]")
@click.option("--top", type=COUNT, default=10, show_default=True, help="Documents shown.")
@click.option("--ties", default="fixed_random", show_default=True, help="Order of documents with equal scores.")
@reading_options
@rankers_option
@plugin_option
@seed_option
@jobs_option
def winners(
    path: Path,
    clicks: str,
    method: str,
    comparisons: int | None,
    top: int,
    ties: str,
    words: tuple[str, ...],
    reading: Reading,
    seed: int,
    jobs: int,
) -> None:
    """Estimate the preferences on the corpus at PATH by each outcome rule: winners, how sure, and cycles."""
    import pandas as pd

    from ltr_duel.analysis import winner_row
    from ltr_duel.core import InputError
    from ltr_duel.interleaving import METHODS
    from ltr_duel.preferences import estimate_preferences

    if path.suffix in (".parquet", ".npy", ".csv"):
        raise InputError(
            f"{path}: a preference matrix; prefs winners wants a corpus, on which it estimates by each outcome rule;"
            f" 'ltr-duel prefs show {path}' prints a matrix"
        )
    chosen = METHODS.configure(method).component
    dataset = corpus_at(path, words, reading)
    rankings = rankings_of(dataset, words, ties=ties, seed=seed, drop_constant=True, jobs=jobs)
    rows = []
    for rule in chosen.outcomes:
        matrix = estimate_preferences(
            rankings, clicks=clicks, method=method, outcome=rule, comparisons=comparisons, top=top, seed=seed, jobs=jobs
        )
        default = " (default)" if rule == chosen.research_outcome else ""
        rows.append({"outcome rule": rule + default, **winner_row(matrix)})
    click.echo(f"{dataset.name}: {len(rankings)} rankers, {clicks} clicks, {method}")
    print_table(pd.DataFrame(rows))
