"""A test of the contract of a kind of rankers: `check_ranker_kind`."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ltr_duel.core import InputError
from ltr_duel.data import Dataset, make_corpus
from ltr_duel.rankers.sources import RANKER_KINDS, Ranker, RankerKind


def check_ranker_kind(kind: str | RankerKind) -> None:
    """Test that a kind of rankers keeps the contract, on a small corpus and the file that its ``example`` writes.

    Rankers have different names. Scores are floats, one for each document; none is plus infinity and at least one is
    finite. The description of a ranker is JSON and names the kind. A second opening gives equal rankers.

    Parameters
    ----------
    kind : str or RankerKind
        A name, or a custom kind.

    Raises
    ------
    InputError
        If a condition fails, which the message names; or if the kind takes a file and has no example.

    Examples
    --------
    >>> import numpy as np
    >>> def open_flat(dataset, what):
    ...     return [Ranker("flat", lambda: np.zeros(len(dataset.relevance)), {"kind": "flat"})]
    >>> check_ranker_kind(RankerKind(name="flat", open=open_flat, takes=""))
    """
    _, kind, _ = RANKER_KINDS.configure(kind)
    dataset = make_corpus(queries=5, documents=8, features=3)
    with TemporaryDirectory() as folder:
        if kind.takes and kind.example is None:
            raise InputError(
                f"kind of ranker '{kind.name}': cannot be checked without something to open: RankerKind(example=...)"
            )
        what = kind.example(dataset, Path(folder)) if kind.example else ""
        first, again = kind.open(dataset, what), kind.open(dataset, what)
        _require(bool(first) and all(isinstance(one, Ranker) for one in first), kind, "open returns no list of Ranker")
        names = [one.name for one in first]
        _require(all(isinstance(name, str) and name for name in names), kind, f"a name is no text: {names}")
        _require(len(set(names)) == len(names), kind, f"two rankers have one name: {names}")
        said = [(one.name, one.about) for one in again]
        _require(
            said == [(one.name, one.about) for one in first], kind, "opened again, a name or a description is different"
        )
        for one, other in zip(first, again, strict=True):
            _check_ranker(kind, dataset, one, other)


def _check_ranker(kind: RankerKind, dataset: Dataset, one: Ranker, other: Ranker) -> None:
    try:
        json.dumps(one.about)
    except TypeError as error:
        raise InputError(
            f"kind of ranker '{kind.name}': the description of '{one.name}' is not JSON: {error}"
        ) from None
    _require(one.about.get("kind") == kind.name, kind, f"about['kind'] of '{one.name}' must be '{kind.name}'")
    scores = [np.asarray(given()) for given in (one.scores, one.scores, other.scores)]
    shape, dtype = scores[0].shape, scores[0].dtype
    _require(shape == dataset.relevance.shape, kind, f"scores of '{one.name}' have shape {shape}, not one a document")
    _require(dtype.kind == "f", kind, f"scores of '{one.name}' are {dtype}, not floats")
    _require(bool(np.isfinite(scores[0]).any()), kind, f"'{one.name}' retrieves no document")
    _require(not np.isposinf(scores[0]).any(), kind, f"a score of '{one.name}' is infinite")
    same = all(np.array_equal(scores[0], later, equal_nan=True) for later in scores[1:])
    _require(same, kind, f"opened again, '{one.name}' has other scores")


def _require(holds: bool, kind: RankerKind, what: str) -> None:
    if not holds:
        raise InputError(f"kind of ranker '{kind.name}': {what}")
