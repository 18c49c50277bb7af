"""Make the rankers that a user names by words: features, run files, tables of scores and models.

    features    features:1,5,23    run:bm25.trec.gz    lightgbm:model.txt    scores:scores.parquet    mine=run:a.trec

Each word has one of the forms ``KIND``, ``KIND:WHAT`` or ``NAME=KIND:WHAT``. WHAT is a file or a list of features.
Rankers of several kinds can be combined in one `Rankings`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, arguments, checked_seed, digest, errors
from ltr_duel.data import Dataset
from ltr_duel.rankers.features import constant_features, feature_rankers, feature_scores
from ltr_duel.rankers.model_files import open_lightgbm, open_onnx, open_xgboost
from ltr_duel.rankers.rankings import Rankings
from ltr_duel.rankers.records import Rows, document_index, run_rows, score_rows
from ltr_duel.rankers.runs import match_run
from ltr_duel.rankers.scores import Ranker, coverage, rankings_from_scores
from ltr_duel.rankers.ties import TieRule


def open_run(dataset: Dataset, path: Path) -> list[Ranker]:
    """Read ``run:FILE``: the documents that a retrieval system returned, in TREC's format, plain or compressed."""
    name = Path(path.name.removesuffix(".gz")).stem
    return _matched(dataset, path, "run", {f"run:{name}": run_rows(name, path)})


def open_scores(dataset: Dataset, path: Path) -> list[Ranker]:
    """Read ``scores:FILE``: a table of queries and documents, with a column of scores for each ranker."""
    return _matched(dataset, path, "scores", score_rows(path))


def _matched(dataset: Dataset, path: Path, kind: str, runs: dict[str, Rows]) -> list[Ranker]:
    documents, sha256, rankers = document_index(dataset), digest.sha256_file(path), []
    for name, rows in runs.items():
        run = match_run(sha256, rows, documents)
        if not run.facts["retrieved"]:
            raise InputError(f"{path}: none of the {len(rows.value):,} documents of {name} is in {dataset.name}")
        rankers.append(Ranker(name, run.scores.copy, {"kind": kind, "file": path.name, **run.facts}))
    return rankers


KINDS: dict[str, Callable[[Dataset, Path], list[Ranker]]] = {
    "lightgbm": open_lightgbm,
    "onnx": open_onnx,
    "run": open_run,
    "scores": open_scores,
    "xgboost": open_xgboost,
}
_PLAIN_FEATURE = {"kind": "features"}  # the description of a feature that is not renamed


def rankers_named(
    dataset: Dataset,
    words: Sequence[str],
    *,
    folder: str | Path = "",
    ties: TieRule = "fixed_random",
    seed: int = 0,
    drop_constant: bool = True,
    jobs: int = -1,
) -> Rankings:
    """Build the rankers that the ``words`` name, all in one `Rankings`.

    Parameters
    ----------
    dataset : Dataset
    words : sequence of str
        The rankers, for example ``["features:1,5", "run:bm25.trec.gz", "mine=lightgbm:model.txt"]``. For features,
        ``"1,5"`` is short for ``"features:1,5"``. If the sequence is empty, all features are used.
    folder : path
        The folder in which relative paths start; by default the working directory.
    ties : str
        The rule that orders documents with equal scores (see `ltr_duel.rankers.ties`).
    seed : int
        The seed of the tie rule.
    drop_constant : bool
        Whether to leave out features that are constant within every query. Features that a word names are always used.
    jobs : int
        Number of threads, or -1 for one on each core.

    Returns
    -------
    Rankings
        ``provenance["rankers"]`` has the kind, the file and the SHA-256 of each ranker that was read from a file.

    Raises
    ------
    InputError
        If a kind or feature is unknown, a file cannot be used, or two rankers have the same name.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> corpus = make_corpus(queries=10, documents=8, features=3)
    >>> rankers_named(corpus, ["features:1,3"]).names == (corpus.feature_names[0], corpus.feature_names[2])
    True
    """
    arguments.require_type("the corpus", dataset, Dataset)
    seed = checked_seed(seed)
    parsed = [_parsed(dataset, word) for word in arguments.as_names("rankers", words)] or [("", "features", "")]
    if not dataset.n_features and any(kind == "features" for _, kind, _ in parsed):
        raise InputError(f"{dataset.name} has no features; name other rankers, such as run:bm25.trec.gz")
    if all(kind == "features" and not name for name, kind, _ in parsed):
        texts = [text for _, _, text in parsed]
        features = None if texts == [""] else [feature for text in texts for feature in _features(dataset, text)]
        return feature_rankers(dataset, features=features, ties=ties, seed=seed, drop_constant=drop_constant, jobs=jobs)
    every = drop_constant and any((kind, text) == ("features", "") for _, kind, text in parsed)
    constant = constant_features(dataset) if every else ()
    rankers: dict[str, Ranker] = {}
    for name, kind, text in parsed:
        if kind == "features":
            features = [feature for feature in _features(dataset, text) if text or feature not in constant]
            columns = map(dataset.feature_names.index, features)
            scores = (partial(feature_scores, dataset, column) for column in columns)
            opened = [Ranker(*pair, _PLAIN_FEATURE) for pair in zip(features, scores, strict=True)]
        else:
            opened = KINDS[kind](dataset, Path(folder) / text)
        if name and len(opened) != 1:
            raise InputError(f"'{name}={kind}:{text}' opens {len(opened)} rankers; a name applies to a single ranker")
        if name:
            opened = [opened[0]._replace(name=name, origin=opened[0].origin | {"named": opened[0].name})]
        for ranker in opened:
            if ranker.name in rankers:
                raise InputError(f"two rankers are called '{ranker.name}'; rename one: NAME={kind}:{text}")
            rankers[ranker.name] = ranker
    origins = {name: ranker.origin for name, ranker in rankers.items()}

    def scores_of(ranker: Ranker) -> NDArray[np.floating[Any]]:
        scores = ranker.scores()
        if ranker.origin["kind"] != "features":
            origins[ranker.name] = ranker.origin | coverage(scores, dataset)
        return scores

    functions = {name: partial(scores_of, ranker) for name, ranker in rankers.items()}
    rankings = rankings_from_scores(dataset, functions, ties=ties, seed=seed, jobs=jobs)
    described = {name: origin for name, origin in origins.items() if origin != _PLAIN_FEATURE}
    left_out = tuple(feature for feature in constant if feature not in rankers)
    return replace(rankings, provenance={**rankings.provenance, "rankers": described}, left_out=left_out)


def _parsed(dataset: Dataset, word: str) -> tuple[str, str, str]:
    """Split a word into the name before ``=`` (or ``""``), the kind, and the part after the colon."""
    text = word.strip()
    if not text:
        raise InputError("an empty word names no ranker; without any word, all features are used")
    if text in dataset.feature_names:
        return "", "features", text
    named = re.match(r"([^=:,]+)=(.*)", text)
    name, rest = (named[1].strip(), named[2]) if named else ("", text)
    kind, colon, file = rest.partition(":")
    if kind == "features":
        return name, kind, file
    if not colon and kind not in KINDS:
        return name, "features", rest
    if kind == "catboost":
        way = "model.save_model('model.onnx', format='onnx'), then onnx:model.onnx"
        raise InputError(f"models of CatBoost are read over ONNX: {way}")
    errors.require_one_of("kind of ranker", kind, KINDS)
    if not file:
        raise InputError(f"'{kind}:' requires a file after the colon: {kind}:FILE")
    return name, kind, file


def _features(dataset: Dataset, text: str) -> list[str]:
    """Return the names of the features that ``text`` lists by name or number. An empty text lists all features."""
    names = dataset.feature_names
    if not text or text in names:
        return [text] if text else list(names)
    features = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        if part not in names and not (part.isdecimal() and 1 <= int(part[:9]) <= len(names)):
            raise errors.unknown_name(f"feature in {dataset.name} called", part, names)
        features.append(part if part in names else names[int(part) - 1])
    if not features:
        raise InputError(f"'features:{text}' names no feature")
    return features
