"""``ltr-duel prefs``: estimate and inspect preference matrices."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click

from ltr_duel import analysis, interleaving, preferences, rankers
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, OUT_FILE, PATH, ROWS
from ltr_duel.cli._output import echo_lines, print_rest, print_table
from ltr_duel.cli._prefs_estimate import Names, estimate, extend, rule_sentence
from ltr_duel.cli._reading import Corpus, corpus_options, read_matrix
from ltr_duel.cli._words import Commands
from ltr_duel.core import InputError

ORDER = "order of ties"  # name of a column
_MORE = 20  # this multiple of the comparisons usually decides a winner that the default number leaves undecided


@click.group(cls=Commands)
def command() -> None:
    """Estimate and inspect preference matrices.

    In place of a FILE to read, the name of a synthetic or published matrix ('arxiv', 'arith51', ...) is accepted.
    """


command.add_command(estimate)
command.add_command(extend)


@command.command()
@click.argument("file", type=PATH)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON: matrix, counts, scores, properties.")
@click.option("--rows", type=ROWS, default=10, show_default=True, help="Number of rankers to list.")
@options.most_rankers
@options.wide
def show(file: Path, as_json: bool, rows: int, most_rankers: int) -> None:
    """Print the winners and the best rankers of the matrix in FILE, and the properties of its preferences."""
    matrix = read_matrix(file, most_rankers)
    if as_json:
        click.echo(json.dumps(_everything(matrix)))
        return
    click.echo(f"{file}: {len(matrix)} rankers")
    click.echo(analysis.winner_sentence(matrix))
    if differs := preferences.difference_from_paper(matrix):
        click.echo(differs)
    echo_lines(analysis.property_lines(matrix))
    click.echo()
    print_table(analysis.rankers_table(matrix, rows))
    print_rest(rows, len(matrix), "rankers")
    click.echo()
    for key, value in matrix.provenance.items():
        click.echo(f"  {key}: {value}")
    if rule := rule_sentence(matrix):
        click.echo(rule)


@command.command()
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@click.option("--rows", type=ROWS, default=10, show_default=True, help="Number of pairs to list.")
@options.most_rankers
@options.wide
def compare(a: Path, b: Path, rows: int, most_rankers: int) -> None:
    """Compare the matrices in A and B on the rankers that both have."""
    agreement = preferences.compare_matrices(read_matrix(a, most_rankers), read_matrix(b, most_rankers))
    echo_lines(analysis.agreement_lines(agreement))
    click.echo()
    print_table(analysis.agreement_table(agreement, rows))
    print_rest(rows, len(agreement.pairs), "pairs")


@command.command()
@click.argument("file", type=PATH)
@click.option("--title", default="", help="Title above the figure.")
@click.option("--out", type=OUT_FILE, required=True, help="The figure to write (.png, .svg, .pdf).")
@options.most_rankers
def plot(file: Path, title: str, out: Path, most_rankers: int) -> None:
    """Draw the matrix in FILE as a heat map, in Copeland order; pairs whose better ranker is uncertain are grey."""
    analysis.save_figure(analysis.plot_preferences(read_matrix(file, most_rankers), title=title), out)
    click.echo(f"{out}")


@command.command()
@click.argument("file", type=PATH)
@click.option("--rankers", type=Names(), help="Rankers to select, in this order.")
@click.option("--size", type=COUNT, help="Number of random rankers to select, one of which beats all others.")
@click.option("--rename", multiple=True, metavar="OLD=NEW", help="New name for a ranker; may be repeated.")
@options.seed
@options.most_rankers
@click.option("--out", type=OUT_FILE, required=True, help="File to write: .parquet, .csv, .npy, .txt.")
def subset(
    file: Path, rankers: tuple[str, ...] | None, size: int | None, rename: tuple[str, ...], seed: int,
    most_rankers: int, out: Path,
) -> None:  # fmt: skip
    """Write the matrix of some rankers in FILE, optionally with other names or in another format."""
    matrix = read_matrix(file, most_rankers)
    if rankers is not None and size is not None:
        raise InputError("give either --rankers or --size")
    if rankers is not None:
        matrix = matrix[rankers]
    if size is not None:
        matrix = preferences.random_condorcet_subset(matrix, size, seed)
    new_names = dict(pair.partition("=")[::2] for pair in rename)
    if not all(new_names.values()):
        raise InputError("--rename must be written OLD=NEW")
    matrix = matrix.relabelled(new_names)
    preferences.save_preferences(matrix, out)
    click.echo(f"{out}: {len(matrix)} rankers")
    click.echo(analysis.winner_sentence(matrix))


@command.command()
@click.argument("path", type=PATH)
@options.clicks()
@options.method("Method of comparing two rankers.")
@click.option("--comparisons", type=COUNT, help="Comparisons of each pair.  [default: see prefs estimate]")
@click.option("--top", type=COUNT, default=10, show_default=True, help="Number of shown documents.")
@click.option(
    "--tie-orders", type=ROWS, default=3, show_default=True,
    help="Number of tie seeds of fixed_random to compare, in addition to resample; 0 for no other orders.",
)  # fmt: skip
@corpus_options
@options.checked_plugin
@options.seed
@options.jobs
@options.wide
def winners(path: Path, clicks: str, method: str, tie_orders: int, corpus: Corpus, jobs: int, **settings: Any) -> None:
    """Estimate the preferences on the corpus at PATH by each outcome rule, and print winners, certainty and cycles.

    If documents tie, the default outcome rule is also applied to other orders of the tied documents, because each tie
    seed gives different rankers, which may have a different winner.
    """
    import pandas as pd

    if path.suffix in (".parquet", ".npy", ".csv"):
        raise InputError(
            f"{path}: this is a preference matrix, but prefs winners requires a corpus, because it estimates a matrix"
            f" by each outcome rule; 'ltr-duel prefs show {path}' prints a matrix"
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
        more = f"--comparisons {_MORE * max(spent)} may decide"
        click.echo(
            f"{analysis.UNDECIDED}: the estimated answer, a winner or none, has a probability below 0.95; {more}"
        )


def _orders(ties: dict[str, Any], many: int, again: bool) -> list[dict[str, Any]]:
    """Return tie orders to compare: the given one, the first seeds, and, if possible, a new order per comparison."""
    seeds = [{"ties": "fixed_random", "seed": seed} for seed in range(many)]
    listed = [ties, *seeds, *([{"ties": "resample", "seed": 0}] if again else [])]
    return [order for place, order in enumerate(listed) if order not in listed[:place]]


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
