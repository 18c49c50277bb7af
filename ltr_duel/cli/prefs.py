"""``ltr-duel prefs``: estimate preference matrices, and look at them."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ltr_duel.cli._options import COUNT, jobs_option, print_table, seed_option


@click.group()
def command() -> None:
    """Estimate and inspect preference matrices."""


@command.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--clicks", default="navigational", show_default=True, help="Click model.")
@click.option("--method", default="probabilistic", show_default=True, help="How two rankers are compared.")
@click.option("--outcome", default="marginal_sign", show_default=True, help="Rule by which clicks name a winner.")
@click.option("--comparisons", type=COUNT, default=4000, show_default=True, help="Comparisons for each pair.")
@click.option("--top", type=COUNT, default=10, show_default=True, help="Documents shown.")
@click.option("--ties", default="fixed_random", show_default=True, help="Order of documents with equal scores.")
@click.option("--drop-constant", is_flag=True, help="Leave out features that are constant within each query.")
@seed_option
@jobs_option
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The Parquet file to write.")
def estimate(
    path: Path,
    clicks: str,
    method: str,
    outcome: str,
    comparisons: int,
    top: int,
    ties: str,
    drop_constant: bool,
    seed: int,
    jobs: int,
    out: Path,
) -> None:
    """Estimate the preference matrix of the feature rankers of the corpus at PATH."""
    from ltr_duel.analysis.rankers import winner_sentence
    from ltr_duel.data.svmlight import load_dataset
    from ltr_duel.preferences.estimate import estimate_preferences
    from ltr_duel.preferences.files import save_preferences
    from ltr_duel.rankers.features import constant_features, feature_rankers

    dataset = load_dataset(path)
    constant = constant_features(dataset)
    if constant and not drop_constant:
        listed = ", ".join(constant[:8]) + (", ..." if len(constant) > 8 else "")
        click.echo(
            f"{len(constant)} of {dataset.n_features} features are constant within each query and order nothing"
            f" ({listed}); --drop-constant leaves them out",
            err=True,
        )
    rankings = feature_rankers(dataset, ties=ties, seed=seed, drop_constant=drop_constant, jobs=jobs)  # type: ignore[arg-type]
    matrix = estimate_preferences(
        rankings,
        clicks=clicks,
        method=method,
        outcome=outcome,
        comparisons=comparisons,
        top=top,
        seed=seed,
        jobs=jobs,
    )
    save_preferences(matrix, out)
    click.echo(f"{out}: {len(matrix)} rankers, {comparisons:,} comparisons for each pair")
    click.echo(winner_sentence(matrix))


@command.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def show(file: Path, as_json: bool) -> None:
    """Print the winners and the best rankers of the matrix in FILE."""
    from ltr_duel.analysis.rankers import rankers_table, winner_sentence
    from ltr_duel.preferences.bounds import lower_bound
    from ltr_duel.preferences.files import load_preferences

    matrix = load_preferences(file)
    if as_json:
        content = {
            "names": matrix.names,
            "p": matrix.p.tolist(),
            "standard_error": matrix.standard_error.tolist(),
            "condorcet_winner": matrix.condorcet_winner,
            "copeland_winners": matrix.copeland_winners,
            "borda_winner": matrix.borda_winner,
            "provenance": matrix.provenance,
        }
        click.echo(json.dumps(content))
        return
    click.echo(f"{file}: {len(matrix)} rankers")
    click.echo(winner_sentence(matrix))
    click.echo(f"Copeland: {', '.join(matrix.copeland_winners)}; Borda: {matrix.borda_winner}")
    bound = lower_bound(matrix)
    if bound is not None:
        click.echo(f"Asymptotic lower bound on the regret of pairwise policies: {bound:.4g} ln T")
    click.echo()
    print_table(rankers_table(matrix))
    click.echo()
    for key, value in matrix.provenance.items():
        click.echo(f"  {key}: {value}")
