"""``ltr-duel prefs estimate``: estimate a preference matrix by simulated comparisons."""

from __future__ import annotations

import re
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

_DIGITS = re.compile("[0-9]{1,9}")


class Part(click.ParamType):  # type: ignore[type-arg]  # generic only in new versions of click
    """A share of the work, written 2/5."""

    name = "number/of"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, int]:
        """Parse both numbers."""
        number, _, of = str(value).partition("/")
        if not (_DIGITS.fullmatch(number) and _DIGITS.fullmatch(of) and 1 <= int(number) <= int(of)):
            self.fail(f"'{value}' is not a share (for example 2/5, the second of five)", param, ctx)
        return int(number), int(of)


class Names(click.ParamType):  # type: ignore[type-arg]  # as above
    """Several names, separated by commas."""

    name = "name,name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Split at commas."""
        if isinstance(value, tuple):
            return value
        names = tuple(filter(None, (part.strip() for part in value.split(","))))
        if value and not names:
            self.fail(f"'{value}' contains no name", param, ctx)
        return names


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
    "--variance-reduction", type=Names(), default="auto", show_default=True,
    help="auto (all that apply), none, or some of common, stratified, integrated, antithetic, control.",
)  # fmt: skip
@click.option("--share", type=Part(), help="Do only this share of the work; a run without --share combines all shares.")
@options.checked_plugin
@options.seed
@options.jobs
@click.option("--out", type=OUT_FILE, required=True, help="The Parquet file to write.")
def estimate(
    path: Path, corpus: Corpus, store: Path | None, share: tuple[int, int] | None, jobs: int,
    out: Path, **settings: Any,
) -> None:  # fmt: skip
    """Estimate the preference matrix of rankers, by default the features, of the corpus at PATH.

    A method for sets, such as sosm, multileaves sets of rankers, and each list compares all pairs of its set.

    Partial results are stored beside OUT until OUT is written; after an interruption, the same command resumes.
    Several machines with a common folder can divide the work: run with --share 1/2 on one machine, with --share 2/2 on
    another, and finally without --share.
    """
    only_writer(None if share else out)
    rankings = corpus.rank(corpus.load(path), jobs=jobs)
    parts = store or _parts_of(out)
    matrix = preferences.estimate_preferences(rankings, jobs=jobs, store=parts, share=share, **settings)
    if share:
        click.echo(f"{parts}: share {share[0]} of {share[1]} is counted")
        return
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
