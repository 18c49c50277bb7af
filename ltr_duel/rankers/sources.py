"""Rankers named by words: features, run files, models, tables of scores, rank lists.

    features    features:1,5,23    run:bm25.trec.gz    lightgbm:model.txt    scores:scores.parquet    mine=run:a.trec

A word is ``KIND``, ``KIND:WHAT`` or ``NAME=KIND:WHAT``. Every ranker gives scores to documents; a higher score is
better. Rankers of several kinds can be combined in one `Rankings`. The modules of the package `ltr_duel.rankers.kinds`
register the kinds.
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
_PLAIN_FEATURE = {"kind": "features"}  # the description of a feature that is not renamed


class Ranker(NamedTuple):
    """One ranker of a source: its name, scores and description.

    Examples
    --------
    >>> Ranker("flat", lambda: np.zeros(3), {"kind": "mine"}).name
    'flat'
    """

    name: str
    scores: Callable[[], Scores]  # (n_docs,), a higher score is better; NaN: the ranker does not retrieve the document
    about: dict[str, Any]  # provenance: kind, file, SHA-256, number of unknown documents


@dataclass(frozen=True, eq=False, kw_only=True)
class RankerKind(components.Component):
    """A kind of ranker: how its sources are named, opened and described.

    Parameters
    ----------
    name : str
        The part of a word before the colon.
    open : callable
        ``open(dataset, what) -> list of Ranker``; ``what`` is the text after the colon.
    params, limits, choices, cite, where
        See `ltr_duel.core.Component`; a kind of ranker does not need them.
    takes : str
        Placeholder for the text after the colon, shown to users; empty if there is no such text. With ``"FILE"``, the
        text is a path, relative to the ``folder`` of `rankers_named`.
    means : str
        Description of the source, for users.
    pooled : callable, optional
        ``pooled(path) -> dict`` returns the run of each ranker in a file; `ltr_duel.rankers.pool_runs` makes a corpus
        from these runs. Rankers of a kind without ``pooled`` can only order the documents of an existing corpus.
    example : callable, optional
        ``example(dataset, folder) -> str`` writes a file into a folder, and returns the text after the colon with which
        `ltr_duel.rankers.check_ranker_kind` opens the file.

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
            found = _opened(dataset, RANKER_KINDS[kind], what, Path(folder))
        if name and len(found) != 1:
            raise InputError(f"'{name}={kind}:{what}' opens {len(found)} rankers; a name applies to a single ranker")
        rankers += [one._replace(name=name, about=one.about | {"named": one.name}) for one in found] if name else found
    names = [ranker.name for ranker in rankers]
    for name in names:
        if names.count(name) > 1:
            about = next(ranker.about for ranker in rankers if ranker.name == name)
            origin = f"{about['kind']}:{about.get('file', '')}"
            raise InputError(f"two rankers are called '{name}'; rename one: NAME={origin}")
    rankings = rankings_from_scores(
        dataset, tuple(names), lambda k: rankers[k].scores(), ties=ties, seed=seed, jobs=jobs
    )
    about = {ranker.name: ranker.about for ranker in rankers if ranker.about != _PLAIN_FEATURE}
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
            RANKER_KINDS[kind]  # raises for an unknown kind
        return name, kind, what
    return name, "features", rest


def _opened(dataset: Dataset, kind: RankerKind, what: str, folder: Path) -> list[Ranker]:
    if kind.takes and not what:
        raise InputError(f"'{kind.name}:' requires text after the colon: {kind.name}:{kind.takes}")
    found = kind.open(dataset, str(folder / what) if kind.takes == "FILE" else what)
    require_rankers(kind, found)
    return [
        one._replace(scores=lambda one=one: require_scores(kind, dataset, one.name, one.scores()))  # type: ignore[misc]
        for one in found
    ]


def require_rankers(kind: RankerKind, found: Any) -> None:
    """Raise `InputError` unless ``found`` is a list of rankers with different names and valid descriptions."""
    listed = isinstance(found, list | tuple) and found and all(isinstance(one, Ranker) for one in found)
    _require(bool(listed) and all(callable(one.scores) for one in found), kind, "open does not return a list of Ranker")
    names = [one.name for one in found]
    _require(all(isinstance(name, str) and name for name in names), kind, f"a name is not a string: {names}")
    _require(len(set(names)) == len(names), kind, f"two rankers have the same name: {names}")
    for one in found:
        try:
            json.dumps(one.about)
        except (TypeError, ValueError) as error:
            _require(False, kind, f"the description of '{one.name}' is not JSON: {error}")
        told = isinstance(one.about, dict) and one.about.get("kind") == kind.name
        _require(told, kind, f"about['kind'] of '{one.name}' must be '{kind.name}'")


def require_scores(kind: RankerKind, dataset: Dataset, name: str, given: Any) -> Scores:
    """Check and return scores: a float per document, NaN or minus infinity if the document is not retrieved."""
    scores = np.asarray(given)
    shape, wanted = scores.shape, dataset.relevance.shape
    _require(shape == wanted, kind, f"scores of '{name}' have shape {shape}, not one per document")
    _require(scores.dtype.kind == "f", kind, f"scores of '{name}' are {scores.dtype}, not floats")
    _require(bool(np.isfinite(scores).any()), kind, f"'{name}' retrieves no document")
    _require(not np.isposinf(scores).any(), kind, f"a score of '{name}' is infinite")
    return scores


def _require(holds: bool, kind: RankerKind, what: str) -> None:
    if not holds:
        raise InputError(f"kind of ranker '{kind.name}': {what}")


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
