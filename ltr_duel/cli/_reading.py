"""The options of all commands that read a corpus: how it is read, and which rankers it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import click

from ltr_duel import data, preferences, rankers
from ltr_duel.cli._options import COUNT, bundle, option
from ltr_duel.cli._output import print_note
from ltr_duel.core import InputError, errors

_MOST_NOTES = 8
_READ_OPTIONS = ("dialect", "features", "first_id", "fill", "omitted", "labels", "unlabelled")
RANKER_WORDS = {
    "features": "each feature that is not constant in every query (see --keep-constant)",
    "features:1,5": "these features, by number",
    "run:FILE": "a TREC run",
    "lightgbm:FILE": "a LightGBM model, as text",
    "xgboost:FILE": "an XGBoost model, as JSON",
    "onnx:FILE": "an ONNX model",
    "scores:FILE": "a table of scores of documents, a ranker for each column",
}


def read_matrix(file: Path) -> preferences.PreferenceMatrix:
    """Read a preference matrix from a file, or return the synthetic or published matrix of this name."""
    name, names = str(file), ("arxiv", *preferences.SYNTHETIC)
    if file.exists() or (name not in names and (file.suffix or file.name != name)):
        return preferences.load_preferences(file)
    if name not in names:
        raise InputError(f"{name}: no such file, and no matrix of this name: {', '.join(names)}")
    return preferences.arxiv() if name == "arxiv" else preferences.synthetic_preferences(name)


class Reading(NamedTuple):
    """How a corpus is read."""

    split: str | None
    fold: int | None
    queries: str | None
    dialect: str | None
    features: int | None
    first_id: int | None
    fill: str | None
    omitted: str | None
    labels: str | None
    unlabelled: str | None
    no_cache: bool

    @property
    def is_given(self) -> bool:
        """Whether the user gave any of these options."""
        return self.no_cache or any(value is not None for value in self[:-1])

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of `ReadOptions` that the user gave."""
        values = self._asdict() | {"fill": data.fill_from_text(self.fill)}
        return {name: values[name] for name in _READ_OPTIONS if values[name] is not None}

    def load(self, path: Path) -> data.Dataset:
        """Read the corpus at a path."""
        dataset = data.load_dataset(path, split=self.split, fold=self.fold, cache=not self.no_cache, **self.settings)
        return dataset.with_relevant() if self.queries == "with_relevant" else dataset


reading_options = bundle(
    "reading", Reading,
    click.option("--split", help="Read only this part of a folder: train, vali or test."),
    click.option("--fold", type=COUNT, help="Read only this fold of a folder with Fold1 to Fold5."),
    click.option("--queries", type=click.Choice(("all", "with_relevant")), help="By default all queries."),
    click.option("--dialect", help="Dialect of the files.  [default: detected]"),
    click.option("--features", type=COUNT, metavar="N", help="Number of features; a higher id is an error."),
    click.option("--first-id", type=COUNT, metavar="0|1", help="Id of the first feature: 1 (the default) or 0."),
    click.option("--fill", help="Replacement for NULL: min, last (rank lists), nan or a number."),
    click.option("--omitted", help="Features that a line omits: zero (the default), or missing, as in XGBoost."),
    click.option("--labels", help="Treatment of labels that are not whole numbers: round or distinct."),
    click.option("--unlabelled", help="Treatment of label -1: refuse (the default), or zero for grade 0."),
    click.option("--no-cache", is_flag=True, help="Read the text again, and store nothing in the cache."),
)  # fmt: skip


class Corpus(NamedTuple):
    """How a corpus is read, and which rankers it has."""

    reading: Reading
    words: tuple[str, ...]  # the values of --rankers
    keep_constant: bool
    ties: Any  # one of `rankers.TIE_RULES`
    tie_seed: int

    def load(self, path: Path) -> data.Dataset:
        """Read the corpus at a path. For ``qrels:FILE``, build it from judgements and the rankers' documents."""
        pool = rankers.pool_named(str(path), self.words, reading=self.reading.is_given)
        if pool is None:
            return self.reading.load(path)
        print_note(
            f"{path}: {pool.dataset.n_queries:,} queries, {pool.dataset.n_docs:,} documents (judged, or among the"
            f" first {pool.depth} of a ranker), of which {pool.unjudged:,} are not judged and have grade 0;"
            f" {pool.left_out:,} queries without judgements or documents are left out"
        )
        return pool.dataset

    def rank(self, dataset: data.Dataset, *, jobs: int) -> rankers.Rankings:
        """Build the rankers, and print notes on features that do not order documents and on missing documents."""
        rankings = rankers.rankers_named(
            dataset, self.words, ties=self.ties, seed=self.tie_seed, drop_constant=not self.keep_constant, jobs=jobs
        )
        for note in islice(_notes(dataset, rankings), _MOST_NOTES):
            print_note(note)
        return rankings

    def rankings(self, path: Path, jobs: int) -> rankers.Rankings:
        """Build the rankers of the corpus at a path."""
        return self.rank(self.load(path), jobs=jobs)


def _require_words(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> tuple[str, ...]:
    if not all(map(str.strip, words)):
        raise InputError("an empty word does not name a ranker")
    return words


_ranker_options = bundle(
    "corpus", Corpus,
    click.option(
        "--rankers", "words", multiple=True, callback=_require_words, metavar="WORD",
        help=f"{', '.join(RANKER_WORDS)}, optionally after NAME=; may be repeated.  [default: all features]",
    ),
    click.option("--keep-constant", is_flag=True, help="Rank also by features that are constant within each query."),
    option("--ties", default="fixed_random", help=f"Order of equal scores: {', '.join(rankers.TIE_RULES)}."),
    option("--tie-seed", type=COUNT, default=0, help="Seed of the order under --ties, apart from --seed."),
)  # fmt: skip


def corpus_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a corpus and its rankers. Their values reach the command as one argument, ``corpus``."""
    decorated: Callable[..., Any] = reading_options(_ranker_options(function))
    return decorated


def _notes(dataset: data.Dataset, rankings: rankers.Rankings) -> Iterator[str]:
    """Yield notes on features that do not order documents, and on missing documents."""
    for names, use in (
        (rankings.left_out, "left out of the rankers (--keep-constant keeps them)"),
        (set(rankers.constant_features(dataset)) & set(rankings.names), "they rank by --ties alone"),
    ):
        if columns := sorted(dataset.feature_names.index(name) for name in names):
            labels = errors.listed([column_label(dataset, column) for column in columns])
            yield f"constant within each query in {dataset.name}: {labels}; {use}"
    for name, facts in rankings.provenance.get("rankers", {}).items():
        queries, retrieved = facts.get("queries", dataset.n_queries), facts.get("retrieved", dataset.n_docs)
        if retrieved < dataset.n_docs:
            yield (
                f"{name}: has documents for {queries:,} of {dataset.n_queries:,} queries, {retrieved:,} of"
                f" {dataset.n_docs:,} documents; the others follow in the order of --ties"
            )
        if facts.get("equal_scores"):
            yield f"{name}: the scores of each query are equal, {retrieved:,} in all; --ties alone orders them"
        if "note" in facts:
            yield f"{name}: {facts['note']}"
        unknown = [f"{facts[key]:,} {key[8:]}" for key in facts if key.startswith("unknown_") and facts[key]]
        if unknown:
            yield f"{name}: {dataset.name} lacks {' and '.join(unknown)} of {facts['file']}; they are left out"


def column_label(dataset: data.Dataset, column: int) -> str:
    """Return the name of a feature. The number of the feature, from 1, comes first if the name is no number."""
    name = dataset.feature_names[column]
    return name if name.isdecimal() else f"{column + 1} ({name})"
