"""``ltr-duel prefs``: estimate, show and compare preference matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ltr_duel import analysis, core, preferences
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import COUNT, OUT_FILE, PATH, ROWS, option
from ltr_duel.cli._output import echo_lines, is_set, print_answer, print_at_end, print_table
from ltr_duel.cli._reading import Corpus, corpus_options, read_matrix
from ltr_duel.cli._words import Commands


@click.group(cls=Commands)
def command() -> None:
    """Estimate, show and compare preference matrices.

    Where a FILE is read, you can also give the name of a synthetic or published matrix ('arxiv', 'arith51', ...).
    """


@command.command()
@click.argument("path", type=PATH)
@options.clicks
@options.method
@click.option("--size", type=COUNT, help="Compare sets of this many rankers.  [default for sets: at most 200]")
@click.option("--outcome", default="", help="Rule that decides the winner.  [default: the first of the method]")
@click.option("--comparisons", type=COUNT, help="Comparisons per pair.  [default: 1,000; plain: 4,000]")
@options.top
@corpus_options
@click.option("--against", help="Compare only pairs with this ranker.")
@click.option("--target-error", type=float, metavar="ERROR", help="Continue until all errors are this small.")
@option("--at-most", type=COUNT, default=4_000_000, help="Maximum comparisons per pair.")
@option("--variance-reduction", type=click.Choice(("auto", "none")), default="auto", help="none: compare plainly.")
@options.plugin
@options.seed
@options.jobs
@click.option("-o", "--out", type=OUT_FILE, required=True, help="The file to write; Parquet keeps everything.")
@options.explain
def estimate(path: Path, corpus: Corpus, jobs: int, out: Path, **settings: Any) -> None:
    """Estimate the preference matrix of rankers of the corpus at PATH. By default, the rankers are the features.

    With a method for sets, such as sosm, each list is made from a set of rankers and compares all pairs of the set.
    """
    preferences.require_suffix(out)
    matrix = preferences.estimate_preferences(corpus.rankings(path, jobs), jobs=jobs, **settings)
    preferences.save_preferences(matrix, out)
    counts = matrix.comparisons[matrix.comparisons > 0]
    number = f"{counts.min():,}" + f" to {counts.max():,}" * bool(counts.max() > counts.min())
    rankers, rule = core.several(len(matrix), "ranker"), matrix.provenance["outcome"]
    note = f"{out}: {rankers}, {number} comparisons for each pair, outcome rule {rule}"
    print_answer(*analysis.winner_lines(matrix), [note])


@command.command()
@click.argument("file", type=PATH)
@option("--rows", type=ROWS, default=10, help="Number of rankers to list.")
@click.option("--ratings", is_flag=True, help="List Bradley-Terry strengths with intervals; --plot draws them.")
@click.option("--plot", type=OUT_FILE, help="Draw a heat map in Copeland order (.png, .svg, .pdf).")
@options.explain
def show(file: Path, rows: int, ratings: bool, plot: Path | None) -> None:
    """Print the winner and the best rankers of the matrix in FILE. Use --explain for further properties."""
    matrix = read_matrix(file)
    about = ", ".join(filter(None, [core.several(len(matrix), "ranker"), analysis.origin(matrix.provenance)]))
    strengths = matrix.ratings() if ratings else None
    if plot is not None:
        if strengths is None:
            drawn = analysis.plot_preferences(matrix)
        else:
            drawn = analysis.plot_ratings(strengths, title=about.replace(", ", "\n", 1))
        print_at_end([analysis.save_figure(drawn, plot)])
    contradiction = analysis.ratings_note(matrix) if ratings else ""
    print_answer(*analysis.winner_lines(matrix), [contradiction, f"{file}: {about}"])
    if is_set("explain"):
        echo_lines(analysis.property_lines(matrix))
        echo_lines(f"  {key}: {analysis.in_words(value)}" for key, value in matrix.provenance.items())
    table = analysis.rankers_table(matrix, rows) if strengths is None else analysis.ratings_table(strengths, rows)
    print_table(table, len(matrix), "rankers")


@command.command()
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
def compare(a: Path, b: Path) -> None:
    """Compare two matrices, A and B, on the rankers that both have."""
    agreement = preferences.compare_matrices(read_matrix(a), read_matrix(b))
    z, names = agreement.pairs["z"].abs(), [winner or "none" for winner, _ in agreement.winners]
    chances = " and ".join(f"P {analysis.equal_words(chance)}" for _, chance in agreement.winners)
    same = names[0] == names[1]
    answer = f"The same Condorcet winner: {names[0]}" if same else f"Different Condorcet winners: {' and '.join(names)}"
    differences = f"{len(agreement.names)} rankers in common; root mean square {agreement.root_mean_square:.4f}"
    if agreement.chance is not None:
        differences += (
            f", {(z > 2).mean():.1%} of pairs differ by more than two standard errors (4.6% expected by chance), the"
            f" largest z is {z.max():.2f}; P(by chance) {analysis.equal_words(agreement.chance)}"
        )
    values = {key: ["not set" if one is None else one for one in both] for key, both in agreement.settings.items()}
    settings = "; ".join(f"{key}: {first} and {second}" for key, (first, second) in values.items())
    print_answer(
        f"{answer} ({chances})", f"Differences: {differences}",
        [f"the matrices were estimated with different settings: {settings}"] if settings else [],
    )  # fmt: skip
