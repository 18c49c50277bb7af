"""Rankers named by words: features, run files, models, tables of scores, rank lists.

    features    features:1,5,23    run:bm25.trec.gz    lightgbm:model.txt    scores:scores.parquet    mine=run:a.trec

A word is ``KIND``, ``KIND:WHAT`` or ``NAME=KIND:WHAT``. Every ranker gives scores to documents; a higher score is
better. Rankers of several kinds can be combined in one `Rankings`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, arguments, checked_seed, errors
from ltr_duel.data import Dataset
from ltr_duel.rankers.features import constant_features, feature_rankers, feature_scores
from ltr_duel.rankers.kinds.lightgbm import open_lightgbm
from ltr_duel.rankers.kinds.lists import open_lists
from ltr_duel.rankers.kinds.onnx import open_onnx
from ltr_duel.rankers.kinds.run import open_run
from ltr_duel.rankers.kinds.scores import open_scores, pooled_scores
from ltr_duel.rankers.kinds.xgboost import open_xgboost
from ltr_duel.rankers.rankings import Rankings
from ltr_duel.rankers.scores import Ranker, coverage, rankings_from_scores
from ltr_duel.rankers.ties import TieRule

_PLAIN_FEATURE = {"kind": "features"}  # the description of a feature that is not renamed


class RankerKind(NamedTuple):
    """A kind of file with rankers."""

    open: Callable[[Dataset, str], list[Ranker]]  # the rankers of a file; the text is its path
    pooled: Callable[[Path], dict[str, Any]] | None = None  # the run of each ranker, if `pool_runs` can use the file


RANKER_KINDS: dict[str, RankerKind] = {
    "lightgbm": RankerKind(open_lightgbm),
    "lists": RankerKind(open_lists),
    "onnx": RankerKind(open_onnx),
    "run": RankerKind(open_run, lambda path: {str(path): path}),
    "scores": RankerKind(open_scores, pooled_scores),
    "xgboost": RankerKind(open_xgboost),
}


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
    """Build the rankers named by words, all in one `Rankings`.

    Parameters
    ----------
    dataset : Dataset
    words : sequence of str
        For example ``["features:1,5", "run:bm25.trec.gz", "mine=lightgbm:model.txt"]``. A word that is the name of a
        feature, or several names separated by commas, is short for ``features:...``; an empty sequence means all
        features.
    folder : path
        Base of relative paths in words; the working directory by default.
    ties : str
        See `ltr_duel.rankers.ties`.
    seed : int
        Seed of the tie rule.
    drop_constant : bool
        Leave out features that are constant within every query, unless a word names them; see `feature_rankers`.
    jobs : int
        Number of threads, -1 for all cores.

    Returns
    -------
    Rankings
        ``provenance["rankers"]`` contains the origin of each ranker, with the digest of its file, but no entry for a
        feature that is not renamed.

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
    if not isinstance(dataset, Dataset):
        raise InputError(f"rankers require a Dataset, not {errors.shown(dataset)}")
    seed = checked_seed(seed)
    parsed = [_parsed(dataset, word) for word in arguments.as_names("rankers", words)] or [("", "features", "")]
    if not dataset.n_features and any(kind == "features" for _, kind, _ in parsed):
        raise InputError(f"{dataset.name} has no features; name other rankers, such as run:bm25.trec.gz")
    if all(kind == "features" and not name for name, kind, _ in parsed):
        whats = [what for _, _, what in parsed]
        chosen = None if whats == [""] else [one for what in whats for one in _features(dataset, what)]
        return feature_rankers(dataset, features=chosen, ties=ties, seed=seed, drop_constant=drop_constant, jobs=jobs)
    every = drop_constant and any((kind, what) == ("features", "") for _, kind, what in parsed)
    constant = constant_features(dataset) if every else ()
    rankers: list[Ranker] = []
    for name, kind, what in parsed:
        if kind == "features":
            chosen = [one for one in _features(dataset, what) if what or one not in constant]
            columns = [dataset.feature_names.index(one) for one in chosen]
            scores = [partial(feature_scores, dataset, column) for column in columns]
            found = [Ranker(one, given, _PLAIN_FEATURE) for one, given in zip(chosen, scores, strict=True)]
        else:
            found = RANKER_KINDS[kind].open(dataset, str(Path(folder) / what))
        if name and len(found) != 1:
            raise InputError(f"'{name}={kind}:{what}' opens {len(found)} rankers; a name applies to a single ranker")
        rankers += [one._replace(name=name, about=one.about | {"named": one.name}) for one in found] if name else found
    names = [ranker.name for ranker in rankers]
    for name in names:
        if names.count(name) > 1:
            about = next(ranker.about for ranker in rankers if ranker.name == name)
            origin = f"{about['kind']}:{about.get('file', '')}"
            raise InputError(f"two rankers are called '{name}'; rename one: NAME={origin}")
    covered: dict[str, dict[str, Any]] = {}

    def scores_of(k: int) -> NDArray[np.floating[Any]]:
        scores = rankers[k].scores()
        if rankers[k].about["kind"] != "features":
            covered[names[k]] = coverage(scores, dataset)
        return scores

    rankings = rankings_from_scores(dataset, tuple(names), scores_of, ties=ties, seed=seed, jobs=jobs)
    described = (ranker for ranker in rankers if ranker.about != _PLAIN_FEATURE)
    about = {ranker.name: ranker.about | covered.get(ranker.name, {}) for ranker in described}
    left_out = tuple(one for one in constant if one not in names)
    return replace(rankings, provenance={**rankings.provenance, "rankers": about}, left_out=left_out)


def _parsed(dataset: Dataset, word: str) -> tuple[str, str, str]:
    """Split a word into a name, a kind and the part after the colon."""
    text = word.strip()
    if not text:
        raise InputError("an empty word names no ranker; without any word, all features are used")
    if text in dataset.feature_names:
        return "", "features", text
    named = re.match(r"([^=:,]+)=(.*)", text)
    name, rest = (named[1].strip(), named[2]) if named else ("", text)
    kind, colon, what = rest.partition(":")
    if colon or kind == "features" or kind in RANKER_KINDS:
        if kind != "features":
            if kind == "catboost":
                raise InputError(
                    "models of CatBoost are read over ONNX: model.save_model('model.onnx', format='onnx'), then"
                    " onnx:model.onnx"
                )
            errors.require_one_of("kind of ranker", kind, RANKER_KINDS)
            if not what:
                raise InputError(f"'{kind}:' requires a file after the colon: {kind}:FILE")
        return name, kind, what
    return name, "features", rest


def _features(dataset: Dataset, what: str) -> list[str]:
    """Return the names of the features that ``what`` lists by name or number; all features if it is empty."""
    if not what:
        return list(dataset.feature_names)
    if what in dataset.feature_names:
        return [what]
    found = []
    for one in filter(None, (part.strip() for part in what.split(","))):
        if one in dataset.feature_names:
            found.append(one)
        elif one.isdecimal() and 1 <= int(one[:9]) <= dataset.n_features:
            found.append(dataset.feature_names[int(one) - 1])
        else:
            raise errors.unknown_name(f"feature in {dataset.name} called", one, dataset.feature_names)
    if not found:
        raise InputError(f"'features:{what}' names no feature")
    return found
