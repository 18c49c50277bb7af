"""Options for reading a corpus and choosing its rankers, shared by all commands that read a corpus."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import click

from ltr_duel import data, preferences, rankers
from ltr_duel.cli._options import COUNT
from ltr_duel.core import InputError


def read_matrix(file: Path) -> preferences.PreferenceMatrix:
    """Read a preference matrix, or return the synthetic or published matrix of this name."""
    name, names = str(file), ("arxiv", *preferences.SYNTHETIC)
    if name not in names and not file.exists() and not file.suffix and file.name == name:
        raise InputError(f"{name}: no such file, and no matrix of this name: {', '.join(names)}")
    if file.exists() or name not in names:
        return preferences.load_preferences(file)
    return preferences.arxiv() if name == "arxiv" else preferences.synthetic_preferences(name)


class Reading(NamedTuple):
    """The user's options for reading a corpus."""

    split: str | None
    fold: int | None
    given: dict[str, Any]  # the options of `ReadOptions` that were given
    queries: str | None = None
    cache: bool = True

    @property
    def options(self) -> data.ReadOptions:
        """All options, with defaults for those that were not given."""
        return data.ReadOptions(**self.given)

    def load(self, path: Path) -> data.Dataset:
        """Read the corpus at a path."""
        dataset = data.load_dataset(path, split=self.split, fold=self.fold, cache=self.cache, **self.given)
        return dataset.with_relevant() if self.queries == "with_relevant" else dataset

    @property
    def for_files(self) -> tuple[str | None, int | None, dict[str, Any]]:
        """Split, fold and options, for commands that process whole files."""
        if self.queries is not None:
            raise InputError("--queries applies to commands that load a corpus; this command processes whole files")
        return self.split, self.fold, self.given

    @property
    def is_given(self) -> bool:
        """Return whether the user gave any of these options."""
        return bool(self.given) or not self.cache or any(x is not None for x in (self.split, self.fold, self.queries))


_READING = (
    click.option("--split", help="Read only this part of a folder: train, vali or test."),
    click.option("--fold", type=COUNT, help="Read only this fold of a folder with Fold1 to Fold5."),
    click.option(
        "--queries",
        type=click.Choice(("all", "with_relevant")),
        help="Queries to use: all (the default), or only those with a relevant document.",
    ),
    click.option("--dialect", help="Dialect of the files.  [default: detected]"),
    click.option("--features", type=COUNT, metavar="N", help="Number of features; a higher id is an error."),
    click.option("--first-id", type=COUNT, metavar="0|1", help="Id of the first feature: 1 (the default) or 0."),
    click.option("--fill", help="Replacement for NULL: min, last (rank lists), nan or a number."),
    click.option("--omitted", help="Features that a line omits: zero (the default), or missing, as in XGBoost."),
    click.option("--labels", help="Treatment of labels that are not whole numbers: round or distinct."),
    click.option("--unlabelled", help="Treatment of label -1: refuse (the default), or zero for grade 0."),
    click.option("--no-cache", is_flag=True, help="Read the text again, and store nothing in the cache."),
)
_READ_KEYS = ("dialect", "features", "first_id", "fill", "omitted", "labels", "unlabelled")


def reading_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for reading feature files; the command receives them as one `Reading`, ``reading``."""

    @functools.wraps(function)
    def with_reading(
        *args: Any, split: str | None, fold: int | None, queries: str | None, no_cache: bool, **given: Any
    ) -> Any:
        how = {key: given.pop(key) for key in _READ_KEYS}
        how["fill"] = data.fill_from_text(how["fill"])
        said = {key: value for key, value in how.items() if value is not None}
        return function(*args, reading=Reading(split, fold, said, queries, not no_cache), **given)

    for option in reversed(_READING):
        option(with_reading)
    return with_reading


class Corpus(NamedTuple):
    """The user's options for a corpus and its rankers."""

    reading: Reading
    words: tuple[str, ...]  # the words that name the rankers
    how: dict[str, Any]  # the tie rule and `drop_constant`, as arguments of `rankers_named`

    def load(self, path: Path) -> data.Dataset:
        """Read the corpus at a path; build the corpus ``qrels:FILE`` from judgements and retrieved documents."""
        pool = rankers.pool_named(str(path), self.words, reading=self.reading.is_given)
        if pool is None:
            return self.reading.load(path)
        click.echo(
            f"{path}: {pool.dataset.n_queries:,} queries, {pool.dataset.n_docs:,} documents (judged, or among the"
            f" first {pool.depth} of a ranker), of which {pool.unjudged:,} are"
            f" not judged and have grade 0; "
            f"{pool.left_out:,} queries without judgements or documents are left out",
            err=True,
        )
        return pool.dataset

    def rank(self, dataset: data.Dataset, *, jobs: int) -> rankers.Rankings:
        """Build the rankers; report constant features, and entries of ranker files that the corpus lacks."""
        rankings = rankers.rankers_named(dataset, self.words, **self.how, jobs=jobs)
        _print_constant(dataset, rankings.names, all_named="features" in (self.words or ("features",)))
        print_gaps(dataset, rankings.provenance.get("rankers", {}))
        for name, about in rankings.provenance.get("rankers", {}).items():
            unknown = {key.removeprefix("unknown_"): about[key] for key in about if key.startswith("unknown_")}
            if strange := [f"{count:,} {what}" for what, count in unknown.items() if count]:
                lacks = f"{dataset.name} lacks {' and '.join(strange)} of {about['file']}"
                click.echo(f"{name}: {lacks}; they are left out", err=True)
        return rankings

    def rankings(self, path: Path, jobs: int) -> rankers.Rankings:
        """Build the rankers of the corpus at a path."""
        return self.rank(self.load(path), jobs=jobs)


def _worded(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> tuple[str, ...]:
    """Raise `InputError` for an empty word, before any work is done."""
    if not all(map(str.strip, words)):
        raise InputError("an empty word does not name a ranker")
    return words


RANKER_WORDS = {
    "features": "each feature; features that are constant in every query only with --keep-constant",
    "features:1,5": "these features, by number",
    "run:FILE": "a TREC run",
    "lightgbm:FILE": "a LightGBM model, as text",
    "xgboost:FILE": "an XGBoost model, as JSON",
    "onnx:FILE": "an ONNX model",
    "scores:FILE": "a table with a score for each query and document, one ranker for each column",
}
_RANKERS = click.option(
    "--rankers", "words", multiple=True, callback=_worded, metavar="WORD",
    help=f"{', '.join(RANKER_WORDS)}, optionally after NAME=; may be repeated.  [default: all features]",
)  # fmt: skip
_KEEP = click.option("--keep-constant", is_flag=True, help="Rank also by features that are constant within each query.")
_TIES = click.option(
    "--ties", default="fixed_random", show_default=True,
    help="Order of documents with equal scores: fixed_random, shared, file, resample or redraw_at_inference.",
)  # fmt: skip
_TIE_SEED = click.option(
    "--tie-seed", type=COUNT, default=0, show_default=True,
    help="Seed of the order under --ties; --seed does not change the order.",
)  # fmt: skip


def corpus_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a corpus and its rankers; the command receives them as one `Corpus`, ``corpus``."""

    @functools.wraps(function)
    def with_corpus(
        *args: Any,
        reading: Reading,
        words: tuple[str, ...],
        keep_constant: bool,
        ties: str,
        tie_seed: int,
        **given: Any,
    ) -> Any:
        how = {"ties": ties, "seed": tie_seed, "drop_constant": not keep_constant}
        return function(*args, corpus=Corpus(reading, words, how), **given)

    for option in (_TIE_SEED, _TIES, _KEEP, _RANKERS):
        option(with_corpus)
    return reading_options(with_corpus)


def print_gaps(dataset: data.Dataset, about: dict[str, dict[str, Any]], most: int = 8) -> None:
    """Print on stderr a line for each ranker that lacks documents, or orders nothing; ``most`` lines of each kind."""
    lacking, equal, notes = [], [], []
    for name, facts in about.items():
        queries, retrieved = facts.get("queries", dataset.n_queries), facts.get("retrieved", dataset.n_docs)
        if retrieved < dataset.n_docs:
            lacking.append(
                f"{name}: has documents for {queries:,} of {dataset.n_queries:,} queries, {retrieved:,} of"
                f" {dataset.n_docs:,} documents; the others follow in the order of --ties"
            )
        if facts.get("equal_scores"):
            equal.append(f"{name}: the scores of each query are equal, {retrieved:,} in all; --ties alone orders them")
        if "note" in facts:
            notes.append(f"{name}: {facts['note']}")
    for lines in (lacking, equal, notes):
        for line in lines[:most]:
            click.echo(line, err=True)
        if len(lines) > most:
            click.echo(f"{len(lines) - most:,} more rankers likewise", err=True)


def _print_constant(dataset: data.Dataset, names: Collection[str], *, all_named: bool) -> None:
    """Print on stderr the features that are zero, or constant within each query, and whether they are rankers."""
    reasons: dict[str, list[str]] = {}
    for name in rankers.constant_features(dataset):
        column = dataset.feature_names.index(name)
        if name in names or all_named:
            reason = "constant within each query" if dataset.features[:, column].any() else "zero everywhere"
            use = (
                "--ties alone orders the documents"
                if name in names
                else "left out of the rankers (--keep-constant keeps them)"
            )
            reasons.setdefault(f"{reason} in {dataset.name}; {use}", []).append(column_label(dataset, column))
    for reason, columns in reasons.items():
        listed = ", ".join(columns[:8]) + f" and {len(columns) - 8} more" * (len(columns) > 8)
        click.echo(
            f"feature {listed} is {reason}" if len(columns) == 1 else f"features {listed} are {reason}", err=True
        )


def column_label(dataset: data.Dataset, column: int) -> str:
    """Return the name of a feature if it is a number, else the feature's number, counted from 1, and its name."""
    name = dataset.feature_names[column]
    return name if name.isdecimal() else f"{column + 1} ({name})"
