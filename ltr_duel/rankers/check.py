"""Test that a kind of ranker satisfies its contract: `check_ranker_kind`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ltr_duel.core import InputError
from ltr_duel.data import make_corpus
from ltr_duel.rankers.sources import RANKER_KINDS, RankerKind, require_rankers, require_scores


def check_ranker_kind(kind: str | RankerKind) -> None:
    """Test that a kind of ranker satisfies the contract, with a small corpus and a file that its ``example`` writes.

    The contract: All rankers have different names. Scores are floats, one for each document; at least one score is
    finite, and no score is plus infinity. The description of each ranker is valid JSON and names the kind. Opening the
    source twice gives the same names, descriptions and scores.
    """
    _, kind, _ = RANKER_KINDS.configure(kind)
    dataset = make_corpus(queries=5, documents=8, features=3)
    with TemporaryDirectory() as folder:
        if kind.takes and kind.example is None:
            raise InputError(
                f"kind of ranker '{kind.name}': cannot be checked without an example: RankerKind(example=...)"
            )
        what = kind.example(dataset, Path(folder)) if kind.example else ""
        first, again = kind.open(dataset, what), kind.open(dataset, what)
        require_rankers(kind, first)
        require_rankers(kind, again)
        said = [(one.name, one.about) for one in again]
        if said != [(one.name, one.about) for one in first]:
            raise InputError(f"kind of ranker '{kind.name}': names or descriptions differ if it is opened twice")
        for one, other in zip(first, again, strict=True):
            opened = (one.scores, one.scores, other.scores)
            scores = [require_scores(kind, dataset, one.name, given()) for given in opened]
            if not all(np.array_equal(scores[0], later, equal_nan=True) for later in scores[1:]):
                raise InputError(f"kind of ranker '{kind.name}': scores of '{one.name}' differ if they are read twice")
