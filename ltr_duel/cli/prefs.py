"""``ltr-duel prefs``: estimate and inspect preference matrices."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ltr_duel import analysis, core, preferences
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import OUT_FIGURE, PATH, ROWS
from ltr_duel.cli._output import echo_lines, print_rest, print_table
from ltr_duel.cli._prefs_estimate import estimate, rule_sentence
from ltr_duel.cli._reading import read_matrix
from ltr_duel.cli._words import Commands

if TYPE_CHECKING:
    import pandas as pd


@click.group(cls=Commands)
def command() -> None:
    """Estimate and inspect preference matrices.

    In place of a FILE to read, the name of a synthetic or published matrix ('arxiv', 'arith51', ...) is accepted.
    """


command.add_command(estimate)


def _digits(cell: str | float) -> str:
    return cell if isinstance(cell, str) else f"{cell:.4g}"


@command.command()
@click.argument("file", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON: matrix, counts, scores, properties.")
@click.option("--rows", type=ROWS, default=10, show_default=True, help="Number of rankers to list.")
@click.option("--ratings", is_flag=True, help="List Bradley-Terry strengths with intervals; --plot draws them.")
@click.option(
    "--plot", type=OUT_FIGURE,
    help="Draw a heat map (.png, .svg, .pdf) in Copeland order; pairs whose better ranker is uncertain are grey.",
)  # fmt: skip
@click.option("--noise", is_flag=True, help="Compare the properties with those that noise alone would cause.")
@options.wide
def show(file: Path, as_json: bool, rows: int, ratings: bool, plot: Path | None, noise: bool) -> None:
    """Print the winners and the best rankers of the matrix in FILE, and the properties of its preferences."""
    matrix = read_matrix(file)
    strengths = matrix.ratings() if ratings else None
    if plot is not None:
        drawn = analysis.plot_preferences(matrix) if strengths is None else analysis.plot_ratings(strengths)
        analysis.save_figure(drawn, plot)
    if as_json:
        click.echo(json.dumps(_everything(matrix)))
        return
    click.echo(f"{file}: {len(matrix)} rankers")
    click.echo(analysis.winner_sentence(matrix))
    if differs := preferences.difference_from_paper(matrix):
        click.echo(differs)
    echo_lines(analysis.property_lines(matrix))
    if noise:
        null = preferences.transitive_null(matrix, core.stream(0, "transitive worlds", matrix.digest), worlds=99)
        click.echo("\nIn strongly transitive worlds with the same noise (low and high: the middle 95 %):")
        print_table(null[["property", "observed", "low", "high", "p_value"]].map(_digits))
    click.echo()
    if strengths is None:
        print_table(analysis.rankers_table(matrix, rows))
    else:
        print_table(analysis.ratings_table(strengths, rows))
        if note := analysis.ratings_note(matrix):
            click.echo(note)
    print_rest(rows, len(matrix), "rankers")
    click.echo()
    for key, value in matrix.provenance.items():
        click.echo(f"  {key}: {value}")
    if rule := rule_sentence(matrix):
        click.echo(rule)
    if plot is not None:
        click.echo(plot)


@command.command()
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@click.option("--rows", type=ROWS, default=10, show_default=True, help="Number of pairs to list.")
@options.wide
def compare(a: Path, b: Path, rows: int) -> None:
    """Compare the matrices in A and B on the rankers that both have."""
    agreement = preferences.compare_matrices(read_matrix(a), read_matrix(b))
    echo_lines(_agreement_lines(agreement))
    click.echo()
    print_table(_agreement_table(agreement, rows))
    print_rest(rows, len(agreement.pairs), "pairs")


def _agreement_lines(agreement: preferences.Agreement) -> list[str]:
    """Return the differences between two matrices as lines of text."""
    z, differences = agreement.pairs["z"].abs(), agreement.pairs["difference"].abs()
    (a, p_a), (b, p_b) = ((winner or "none", analysis.equal_words(sure)) for winner, sure in agreement.winners)
    lines = [
        f"The same Condorcet winner: {a} (P {p_a} and {p_b})" if a == b
        else f"Different Condorcet winners: {a} (P {p_a}) and {b} (P {p_b})",
        f"{len(agreement.names)} rankers in common; the differences have a root mean square of"
        f" {agreement.root_mean_square:.4f}, and are at most {differences.max():.4f}",
    ]  # fmt: skip
    if agreement.chance is not None:
        lines.append(
            f"{(z > 2).mean():.1%} of pairs differ by more than two standard errors (4.6% expected by chance);"
            f" the largest z is {z.max():.2f}; P(by chance) {analysis.equal_words(agreement.chance)}"
        )
    if agreement.settings:
        settings = "; ".join(f"{key}: {a} and {b}" for key, (a, b) in agreement.settings.items())
        lines.append(f"The matrices were estimated with different settings: {settings}")
    return lines


def _agreement_table(agreement: preferences.Agreement, rows: int) -> pd.DataFrame:
    """Return the ``rows`` pairs that differ most, as a table of strings."""
    import pandas as pd

    head = agreement.pairs.head(rows)
    return pd.DataFrame(
        {
            "first": head["first"],
            "second": head["second"],
            "A": head["p_a"].map("{:.4f}".format),
            "B": head["p_b"].map("{:.4f}".format),
            "difference": head["difference"].map("{:+.4f}".format),
            "z": head["z"].map(lambda z: "" if math.isnan(z) else f"{z:+.2f}"),
        }
    )


def _everything(matrix: preferences.PreferenceMatrix) -> dict[str, Any]:
    """Return all facts about a matrix; unknown and infinite values are null."""
    scores: dict[str, Any] = {
        "copeland_winners": matrix.copeland_winners,
        "copeland_scores": matrix.copeland_scores.tolist(),
        "borda_winner": matrix.borda_winner,
        "borda_winners": matrix.borda_winners,
        "borda_scores": matrix.borda_scores.tolist(),
        "properties": preferences.matrix_properties(matrix).as_dict(),
    }
    if any(map(math.isinf, matrix.standard_error.flat)):  # a pair was never compared, so only the winner can be known
        scores = dict.fromkeys(scores)
    counts = {"comparisons": matrix.comparisons, "wins": matrix.wins, "ties": matrix.ties}
    return {
        "names": matrix.names,
        "p": matrix.p.tolist(),
        "standard_error": [[e if math.isfinite(e) else None for e in row] for row in matrix.standard_error.tolist()],
        **{name: None if array is None else array.tolist() for name, array in counts.items()},
        "condorcet_winner": matrix.condorcet_winner,
        **scores,
        "difference_from_paper": preferences.difference_from_paper(matrix),
        "provenance": matrix.provenance,
    }
