"""``ltr-duel prefs estimate``: estimate a preference matrix by simulated comparisons."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from ltr_duel import analysis, interleaving, preferences
from ltr_duel.cli import _options as options
from ltr_duel.cli._options import CONTINUED_FOLDER, COUNT, OUT_FILE, PATH
from ltr_duel.cli._output import only_writer
from ltr_duel.cli._reading import Corpus, corpus_options
from ltr_duel.cli._words import Command
from ltr_duel.core import several


def goal_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for the precision of the matrix, and for the folder of partial results."""
    for option in (
        click.option("--store", type=CONTINUED_FOLDER, help="Folder for partial results.  [default: OUT.parts]"),
        click.option(
            "--at-most", type=COUNT, default=4_000_000, show_default=True, help="Maximum comparisons per pair."
        ),
        click.option(
            "--until-winner", type=float, metavar="CONFIDENCE", help="Continue until the winner has this confidence."
        ),
        click.option("--target-error", type=float, metavar="ERROR", help="Continue until all errors are this small."),
    ):
        command = option(command)
    return command


@click.command(cls=Command)
@click.argument("path", type=PATH)
@options.clicks()
@options.method("Method of comparing rankers.")
@click.option(
    "--size", type=COUNT, help="Compare sets of this many rankers.  [default of methods for sets: all, at most 200]"
)
@click.option(
    "--outcome", default="", show_default="the method's first rule",
    help="Rule that decides the winner from the clicks.",
)  # fmt: skip
@click.option(
    "--comparisons", type=COUNT, help="Comparisons per pair.  [default: 1,000; without variance reduction 4,000]"
)
@click.option("--top", type=COUNT, default=10, show_default=True, help="Number of shown documents.")
@corpus_options
@click.option("--against", help="Compare only pairs with this ranker.")
@goal_options
@click.option(
    "--variance-reduction", type=click.Choice(("auto", "none")), default="auto", show_default=True,
    help="Reach the same error with fewer lists, or compare plainly.",
)  # fmt: skip
@options.checked_plugin
@options.seed
@options.jobs
@click.option("--out", type=OUT_FILE, required=True, help="The file to write; Parquet keeps everything.")
def estimate(path: Path, corpus: Corpus, store: Path | None, jobs: int, out: Path, **settings: Any) -> None:
    """Estimate the preference matrix of rankers, by default the features, of the corpus at PATH.

    A method for sets, such as sosm, multileaves sets of rankers, and each list compares all pairs of its set.

    Partial results are stored beside OUT until OUT is written; after an interruption, the same command resumes.
    """
    preferences.require_suffix(out)
    only_writer(out)
    rankings = corpus.rank(corpus.load(path), jobs=jobs)
    parts = store or _parts_of(out)
    matrix = preferences.estimate_preferences(rankings, jobs=jobs, store=parts, **settings)
    _save(matrix, out, parts)


def _parts_of(out: Path) -> Path:
    return out.with_name(out.name + ".parts")


def _save(matrix: preferences.PreferenceMatrix, out: Path, parts: Path) -> None:
    """Write the matrix, remove the parts, and print the winner."""
    preferences.save_preferences(matrix, out)
    _forget(parts)
    counts = matrix.comparisons[matrix.comparisons > 0]
    many = f"{counts.min():,}" + (f" to {counts.max():,}" if counts.max() > counts.min() else "")
    asked = int(matrix.provenance.get("comparisons", 0))
    why = f" ({asked:,} were requested; comparisons are made in groups)" if 0 < asked < counts.min() else ""
    click.echo(f"{out}: {several(len(matrix), 'ranker')}, {many} comparisons for each pair{why}")
    click.echo(analysis.winner_sentence(matrix))
    if "search" in matrix.provenance:
        click.echo(_search_sentence(matrix))
    click.echo(rule_sentence(matrix))


def _search_sentence(matrix: preferences.PreferenceMatrix) -> str:
    """Return a sentence on the result of the search for the Condorcet winner."""
    search, confidence = matrix.provenance["search"], f"with confidence {matrix.provenance['until_winner']:g}"
    after, candidates = several(search["rounds"], "round"), search["candidates"]
    if search["winner"] is not None:
        return f"The Condorcet winner is known {confidence}, after {after}."
    if search["known"]:
        return f"There is no Condorcet winner, {confidence}, after {after}."
    may_be = f"{len(candidates)} rankers may be the winner ({', '.join(candidates[:5])})"
    return f"The Condorcet winner is not known {confidence}: {may_be}."


def rule_sentence(matrix: preferences.PreferenceMatrix) -> str:
    """Return a line on the outcome rule of an estimated matrix, and whether it is the default, or ""."""
    rule, method = matrix.provenance.get("outcome"), interleaving.METHODS.get(str(matrix.provenance.get("method")))
    if not rule:
        return ""
    usual = method is not None and rule == method.default_outcome(sets="size" in matrix.provenance)
    return f"outcome rule: {rule}{' (the default)' * usual}"


def _forget(parts: Path) -> None:
    """Remove partial results only, because the folder may contain other files of the user."""
    for folder in parts.glob("[0-9a-f]" * 16):
        shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # not empty, or never created
        parts.rmdir()
