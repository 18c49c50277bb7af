"""How the feature files of a corpus are read: the same options for every command that reads one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ltr_duel.cli._options import COUNT

if TYPE_CHECKING:
    from ltr_duel.data import Dataset, ReadOptions


class Reading(NamedTuple):
    """What the user said of how a corpus is read."""

    split: str | None
    fold: int | None
    given: dict[str, Any]  # options of `ReadOptions`, only those that were given
    queries: str | None = None
    cache: bool = True

    @property
    def options(self) -> ReadOptions:
        """All options, where nothing else declares some."""
        from ltr_duel.data import ReadOptions

        return ReadOptions(**self.given)

    def load(self, path: Path) -> Dataset:
        """Read the corpus at a path."""
        from ltr_duel.data import load_dataset

        dataset = load_dataset(path, split=self.split, fold=self.fold, cache=self.cache, **self.given)
        return dataset.with_relevant() if self.queries == "with_relevant" else dataset

    @property
    def for_files(self) -> tuple[str | None, int | None, dict[str, Any]]:
        """Split, fold and options, for what converts whole files."""
        from ltr_duel.core import InputError

        if self.queries is not None:
            raise InputError(
                "--queries chooses among the queries of a corpus when it is used, not when it is converted"
            )
        if not self.cache:
            raise InputError("--no-cache goes with commands that load a corpus; this one reads text in any case")
        return self.split, self.fold, self.given

    @property
    def is_given(self) -> bool:
        """Whether the user said anything."""
        return bool(self.given) or not self.cache or any(x is not None for x in (self.split, self.fold, self.queries))


_READING = (
    click.option("--split", help="Only this part of a folder: train, vali or test."),
    click.option("--fold", type=COUNT, help="Only this fold of a folder with Fold1 to Fold5."),
    click.option(
        "--queries",
        type=click.Choice(("all", "with_relevant")),
        help="all (the default), or only those with a relevant document.",
    ),
    click.option("--dialect", help="How the files are written; recognised if not given."),
    click.option("--features", type=COUNT, metavar="N", help="Number of features; a higher id is an error."),
    click.option("--first-id", type=COUNT, metavar="0|1", help="Id of the first feature: 1 (the default) or 0."),
    click.option("--repeated", help="A feature given twice on a line: refuse (the default), or last."),
    click.option("--fill", help="What NULL becomes: min, last (rank lists), nan or a number."),
    click.option("--labels", help="Labels that are no whole numbers: round or distinct."),
    click.option("--unlabelled", help="Label -1: refuse (the default), or zero for grade 0."),
    click.option("--limit", type=float, metavar="GB", help="Most that gzipped text, or the numbers, may come to."),
    click.option("--no-cache", is_flag=True, help="Read the text again, and keep nothing of it."),
)
_READ_KEYS = ("dialect", "features", "first_id", "repeated", "fill", "labels", "unlabelled", "limit")


def reading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how feature files are read; the command gets them as one `Reading`, ``reading``."""

    @functools.wraps(function)
    def with_reading(
        *args: Any, split: str | None, fold: int | None, queries: str | None, no_cache: bool, **given: Any
    ) -> Any:
        from ltr_duel.data import fill_from_text

        how = {key: given.pop(key) for key in _READ_KEYS}
        how["fill"] = fill_from_text(how["fill"])
        said = {key: value for key, value in how.items() if value is not None}
        return function(*args, reading=Reading(split, fold, said, queries, not no_cache), **given)

    for option in reversed(_READING):
        option(with_reading)
    return with_reading


def print_constant(dataset: Dataset, rankers: Collection[str], *, all_named: bool) -> None:
    """Print on stderr which features order nothing, why, and whether they are among the rankers."""
    from ltr_duel.rankers import constant_features

    reasons: dict[str, list[str]] = {}
    for name in constant_features(dataset):
        column = dataset.feature_names.index(name)
        if name in rankers or all_named:
            reason = "constant within each query" if dataset.features[:, column].any() else "zero everywhere"
            use = "--ties alone orders the documents" if name in rankers else "left out of the rankers"
            reasons.setdefault(f"{reason} in {dataset.name}; {use}", []).append(column_label(dataset, column))
    for reason, columns in reasons.items():
        listed = ", ".join(columns[:8]) + f" and {len(columns) - 8} more" * (len(columns) > 8)
        click.echo(
            f"feature {listed} is {reason}" if len(columns) == 1 else f"features {listed} are {reason}", err=True
        )


def column_label(dataset: Dataset, column: int) -> str:
    """Return the number of a feature, counted from 1, with its name if it has another."""
    name = dataset.feature_names[column]
    return name if name.isdecimal() else f"{column + 1} ({name})"
