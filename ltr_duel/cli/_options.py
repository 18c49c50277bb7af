"""Option types and printing that several commands share."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ltr_duel.core import abandoned_threads_run

if TYPE_CHECKING:
    import pandas as pd

    from ltr_duel.cli._reading import Reading
    from ltr_duel.core import Plugin, Registry
    from ltr_duel.data import Dataset
    from ltr_duel.rankers import Rankings


class Count(click.ParamType):  # type: ignore[type-arg]  # generic only in new versions of click
    """A whole number, also written as 1e6 or 1_000_000."""

    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse the number; refuse fractions."""
        try:
            number = int(str(value).replace(",", ""))
        except ValueError:
            try:
                real = float(value)
                number = int(real)
            except (ValueError, OverflowError):
                self.fail(f"'{value}' is not a whole number (for example 1000000 or 1e6)", param, ctx)
            if number != real:
                self.fail(f"'{value}' is not a whole number (for example 1000000 or 1e6)", param, ctx)
        return number


COUNT = Count()

jobs_option = click.option("--jobs", type=COUNT, default=-1, show_default="all cores", help="Threads to use.")
seed_option = click.option("--seed", type=COUNT, default=0, show_default=True, help="Seed of everything random.")


def _load(ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]) -> tuple[Plugin, ...]:
    if not paths:
        return ()
    from ltr_duel.core import load_plugin

    return tuple(map(load_plugin, paths))


_PLUGIN: dict[str, Any] = {
    "multiple": True,
    "type": click.Path(path_type=Path),
    "callback": _load,
    "is_eager": True,
    "help": "A Python file with policies, comparison methods, click models or corpora of yours; may be repeated.",
}
plugin_option = click.option("--plugin", expose_value=False, **_PLUGIN)
plugins_option = click.option("--plugin", "plugins", **_PLUGIN)  # for commands that keep what was loaded


rankers_option = click.option(
    "--rankers",
    "words",
    multiple=True,
    metavar="WORD",
    help="features, features:1,5, run:FILE, lightgbm:FILE, xgboost:FILE, onnx:FILE, scores:FILE, lists:FILE, with NAME="
    " in front if wanted; may be repeated.  [default: all features]",
)


def corpus_at(path: Path, words: Sequence[str], reading: Reading) -> Dataset:
    """Read the corpus at a path; ``qrels:FILE`` is made of judgements and of the runs among the rankers."""
    from ltr_duel.core import InputError

    kind, _, file = str(path).partition(":")
    if kind != "qrels":
        return reading.load(path)
    from ltr_duel.rankers import pool_runs

    if reading.is_given:
        raise InputError(f"{path}: judgements are no feature files; options of how those are read do not belong here")
    runs = [word[word.index("run:") + 4 :] for word in words if word.startswith("run:") or "=run:" in word]
    if not runs:
        raise InputError(f"{path}: a corpus of judgements needs runs: --rankers run:FILE")
    pool = pool_runs(file, dict(zip(runs, runs, strict=True)))
    click.echo(
        f"{file}: {pool.dataset.n_queries:,} queries, {pool.dataset.n_docs:,} documents, of which {pool.unjudged:,} are"
        f" not judged and have grade 0; {pool.left_out:,} queries without judgements or documents are left out",
        err=True,
    )
    return pool.dataset


def rankings_of(dataset: Dataset, words: Sequence[str], **options: Any) -> Rankings:
    """Build the rankers that the words name, and say what their files hold that the corpus does not know."""
    from ltr_duel.rankers import rankers_named

    rankings = rankers_named(dataset, words, **options)
    for name, about in rankings.provenance.get("rankers", {}).items():
        strange = [
            f"{about[key]:,} {key.replace('_', ' ')}" for key in about if key.startswith("unknown_") and about[key]
        ]
        if strange:
            click.echo(f"{name}: {' and '.join(strange)} in {about['file']} are left out", err=True)
    return rankings


def end(code: int, *, at_once: bool = False) -> NoReturn:
    """End the process; without Python's shutdown where runs are still going on that nobody waits for."""
    if not at_once and not abandoned_threads_run():
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def print_table(frame: pd.DataFrame) -> None:
    """Print a table of text: the first column to the left, the others to the right."""
    columns = [[str(name), *map(str, frame[name])] for name in frame.columns]
    widths = [max(len(cell) for cell in column) for column in columns]
    for row in zip(*columns, strict=True):
        first, *rest = (
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        click.echo("  ".join([first, *rest]).rstrip())


def print_catalogue(registry: Registry[Any], names: Sequence[str], *, bibtex: bool) -> None:
    """Print all components of a kind, or those named, as wide as the terminal allows: each with the facts of it.

    With ``bibtex``, what to cite instead.
    """
    chosen = [registry[name] for name in names] or list(registry)
    if bibtex:
        click.echo("\n\n".join(dict.fromkeys(source.bibtex for component in chosen for source in component.sources)))
        return
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    for component in chosen:
        facts = component.facts()
        label = max(map(len, facts))
        click.echo(click.style(component.name, bold=True))
        for about, fact in facts.items():
            head = f"  {about.ljust(label)}  "
            click.echo(textwrap.fill(fact, width, initial_indent=head, subsequent_indent=" " * len(head)))
    if not names:
        click.echo(f"\n{len(chosen)} in all.")
