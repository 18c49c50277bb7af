"""Rankers by one word each, wherever they come from: features, run files, models, tables of scores, rank lists.

    features    features:1,5,23    run:bm25.trec.gz    lightgbm:model.txt    scores:scores.parquet    mine=run:a.trec

A word is ``KIND``, ``KIND:WHAT`` or ``NAME=KIND:WHAT``. Every kind gives scores of documents, highest first; they mix
in one `Rankings`. A kind is registered by a page of the package `ltr_duel.rankers.kinds`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, arguments, checked_seed, components, errors
from ltr_duel.data import Dataset
from ltr_duel.rankers.features import constant_features, feature_rankers, feature_scores
from ltr_duel.rankers.rankings import Rankings
from ltr_duel.rankers.scores import rankings_from_scores
from ltr_duel.rankers.ties import TieRule

Scores = NDArray[np.floating[Any]]
_PLAIN_FEATURE = {"kind": "features"}  # what there is to say about a feature under its own name


class Ranker(NamedTuple):
    """One ranker of a source, before its documents are ordered.

    Examples
    --------
    >>> Ranker("flat", lambda: np.zeros(3), {"kind": "mine"}).name
    'flat'
    """

    name: str
    scores: Callable[[], Scores]  # (n_docs,), highest first; NaN for documents that it does not retrieve
    about: dict[str, Any]  # provenance: kind, file, SHA-256, what was unknown


@dataclass(frozen=True, eq=False, kw_only=True)
class RankerKind(components.Component):
    """A kind of source of rankers.

    Parameters
    ----------
    name : str
        What stands before the colon.
    open : callable
        ``open(dataset, what) -> list of Ranker``; ``what`` is the text after the colon.
    params, limits, choices, cite, where
        See `ltr_duel.core.Component`; a kind needs none of them.
    takes : str
        What stands after the colon. ``"FILE"`` is a path, relative to the folder of a spec.
    means : str
        What that is, for people.
    pooled : callable, optional
        ``pooled(path) -> dict`` of what each ranker of a file retrieves, as `ltr_duel.rankers.pool_runs` takes it: then
        judgements and such a file are a corpus. A kind without it orders the documents that a corpus has.
    example : callable, optional
        ``example(dataset, folder)`` writes something to open into a folder, and returns what stands after the colon.
        `ltr_duel.rankers.check_ranker_kind` opens it.

    Examples
    --------
    >>> kind = RankerKind(name="mine", open=lambda dataset, what: [], means="my own format")
    >>> kind.facts()
    {'written': 'mine:FILE', 'what it is': 'my own format'}
    """

    open: Callable[[Dataset, str], list[Ranker]] = field(repr=False)
    takes: str = field(default="FILE", repr=False)
    means: str = field(default="", repr=False)
    pooled: Callable[[Path], dict[str, Any]] | None = field(default=None, repr=False)
    example: Callable[[Dataset, Path], str] | None = field(default=None, repr=False)

    def facts(self) -> dict[str, str]:
        """Return the facts about the component, keyed by column heading."""
        return {"written": f"{self.name}:{self.takes}" if self.takes else self.name, "what it is": self.means}


RANKER_KINDS: components.Registry[RankerKind] = components.Registry(
    "kind of ranker", "ltr_duel.rankers.kinds", check="ltr_duel.rankers.check:check_ranker_kind"
)


def rankers_named(
    dataset: Dataset,
    words: Sequence[str],
    *,
    folder: str | Path = "",
    ties: TieRule = "fixed_random",
    seed: int = 0,
    drop_constant: bool = False,
    jobs: int = -1,
) -> Rankings:
    """Build the rankers that some words name, all in one `Rankings`.

    Parameters
    ----------
    dataset : Dataset
    words : sequence of str
        For example ``["features:1,5", "run:bm25.trec.gz", "mine=lightgbm:model.txt"]``. A word that names a feature, or
        several separated by commas, stands for ``features:`` these; no word at all for all features.
    folder : path
        What the paths in words are relative to; the working directory by default.
    ties : str
        See `ltr_duel.rankers.ties`.
    seed : int
        Of the tie rule.
    drop_constant : bool
        Leave out features that are constant within every query, unless a word names them.
    jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    Rankings
        The provenance holds under ``rankers`` where each one comes from, with the digest of its file; nothing for
        features.

    Raises
    ------
    InputError
        For an unknown kind or feature, a file that cannot be used, or two rankers of one name.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> corpus = make_corpus(queries=10, documents=8, features=3)
    >>> rankers_named(corpus, ["features:1,3"]).names == (corpus.feature_names[0], corpus.feature_names[2])
    True
    """
    if not isinstance(dataset, Dataset):
        raise InputError(f"rankers are made for a Dataset, not for {errors.shown(dataset)}")
    seed = checked_seed(seed)
    parsed = [_parsed(dataset, word) for word in arguments.as_names("rankers", words)] or [("", "features", "")]
    if not dataset.n_features and any(kind == "features" for _, kind, _ in parsed):
        raise InputError(f"{dataset.name} has no features; name other rankers, such as run:bm25.trec.gz")
    if all(kind == "features" and not name for name, kind, _ in parsed):
        whats = [what for _, _, what in parsed]
        chosen = None if whats == [""] else [one for what in whats for one in _features(dataset, what)]
        return feature_rankers(dataset, features=chosen, ties=ties, seed=seed, drop_constant=drop_constant, jobs=jobs)
    constant = set(constant_features(dataset)) if drop_constant else set()
    rankers: list[Ranker] = []
    for name, kind, what in parsed:
        if kind == "features":
            chosen = [one for one in _features(dataset, what) if what or one not in constant]
            columns = [dataset.feature_names.index(one) for one in chosen]
            scores = [partial(feature_scores, dataset, column) for column in columns]
            found = [Ranker(one, given, _PLAIN_FEATURE) for one, given in zip(chosen, scores, strict=True)]
        else:
            found = _opened(dataset, RANKER_KINDS[kind], what, Path(folder))
        if name and len(found) != 1:
            raise InputError(f"'{name}={kind}:{what}' is {len(found)} rankers; a name of your own is for one")
        rankers += [one._replace(name=name, about=one.about | {"named": one.name}) for one in found] if name else found
    names = [ranker.name for ranker in rankers]
    for name in names:
        if names.count(name) > 1:
            about = next(ranker.about for ranker in rankers if ranker.name == name)
            origin = f"{about['kind']}:{about.get('file', '')}"
            raise InputError(f"two rankers are called '{name}'; name one of them yourself: NAME={origin}")
    rankings = rankings_from_scores(
        dataset, tuple(names), lambda k: rankers[k].scores(), ties=ties, seed=seed, jobs=jobs
    )
    about = {ranker.name: ranker.about for ranker in rankers if ranker.about != _PLAIN_FEATURE}
    return replace(rankings, provenance={**rankings.provenance, "rankers": about})


def _parsed(dataset: Dataset, word: str) -> tuple[str, str, str]:
    """Split a word into a name, a kind and what stands after the colon."""
    text = word.strip()
    if not text:
        raise InputError("an empty word names no ranker; without any word, all features are taken")
    if text in dataset.feature_names:
        return "", "features", text
    named = re.match(r"([^=:,]+)=(.*)", text)
    name, rest = (named[1].strip(), named[2]) if named else ("", text)
    kind, colon, what = rest.partition(":")
    if colon or kind == "features" or kind in RANKER_KINDS:
        if kind != "features":
            RANKER_KINDS[kind]  # an unknown kind is said here
        return name, kind, what
    return name, "features", rest


def _opened(dataset: Dataset, kind: RankerKind, what: str, folder: Path) -> list[Ranker]:
    if kind.takes and not what:
        raise InputError(f"'{kind.name}:' needs a word after the colon: {kind.name}:{kind.takes}")
    found = kind.open(dataset, str(folder / what) if kind.takes == "FILE" else what)
    require_rankers(kind, found)
    return [
        one._replace(scores=lambda one=one: require_scores(kind, dataset, one.name, one.scores()))  # type: ignore[misc]
        for one in found
    ]


def require_rankers(kind: RankerKind, found: Any) -> None:
    """Refuse what is no list of rankers with different names that are described."""
    listed = isinstance(found, list | tuple) and found and all(isinstance(one, Ranker) for one in found)
    _require(bool(listed) and all(callable(one.scores) for one in found), kind, "open returns no list of Ranker")
    names = [one.name for one in found]
    _require(all(isinstance(name, str) and name for name in names), kind, f"a name is no text: {names}")
    _require(len(set(names)) == len(names), kind, f"two rankers have one name: {names}")
    for one in found:
        try:
            json.dumps(one.about)
        except (TypeError, ValueError) as error:
            _require(False, kind, f"the description of '{one.name}' is not JSON: {error}")
        told = isinstance(one.about, dict) and one.about.get("kind") == kind.name
        _require(told, kind, f"about['kind'] of '{one.name}' must be '{kind.name}'")


def require_scores(kind: RankerKind, dataset: Dataset, name: str, given: Any) -> Scores:
    """Refuse what is no score for each document: a float, or NaN or minus infinity where it is not retrieved."""
    scores = np.asarray(given)
    shape, wanted = scores.shape, dataset.relevance.shape
    _require(shape == wanted, kind, f"scores of '{name}' have shape {shape}, not one a document")
    _require(scores.dtype.kind == "f", kind, f"scores of '{name}' are {scores.dtype}, not floats")
    _require(bool(np.isfinite(scores).any()), kind, f"'{name}' retrieves no document")
    _require(not np.isposinf(scores).any(), kind, f"a score of '{name}' is infinite")
    return scores


def _require(holds: bool, kind: RankerKind, what: str) -> None:
    if not holds:
        raise InputError(f"kind of ranker '{kind.name}': {what}")


def _features(dataset: Dataset, what: str) -> list[str]:
    """Return the features that a list of names or numbers stands for; all of them where it is empty."""
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
