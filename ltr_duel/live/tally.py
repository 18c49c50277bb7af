"""What is counted of a live experiment: impressions, who won, and the sums of sequences that may be looked at any time.

The sums are those of `ltr_duel.logs`: of each user and pair the outcome of the page that was shown first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, IntMatrix, IntVector
from ltr_duel.live.turns import Key
from ltr_duel.logs import Sequences

ALONE, CLICKED, UNCLICKED, EXPIRED = range(4)  # what an event is: a plain page was shown, or how a page was closed
COMPARED = 4  # counted beside them: pages of several rankers that were closed


class Tally:
    """Counts, for K rankers and P = K (K - 1) / 2 pairs of them."""

    def __init__(self, n_arms: int) -> None:
        first, second = np.triu_indices(n_arms, 1)
        self.pairs: IntMatrix = np.stack([first, second], axis=1)
        self._number = np.zeros((n_arms, n_arms), np.int64)
        self._number[first, second] = self._number[second, first] = np.arange(len(first))
        self.events: IntVector = np.zeros(5, np.int64)  # of each kind, and COMPARED
        self.exposure: FloatVector = np.zeros(n_arms)  # impressions; of a page of s rankers each has 1/s
        self.score: IntMatrix = np.zeros((3, len(first)), np.int64)  # ties, wins, losses of the first of each pair
        self.fresh: IntMatrix = np.zeros_like(self.score)  # the same, of each user and pair the first page shown

    def show(self, key: Key) -> None:
        """Count an impression."""
        for arm in key:
            self.exposure[arm] += 1 / len(key)

    def bits(self, key: Key) -> int:
        """Return the pairs of a page, a bit each."""
        return sum(1 << int(self._number[a, b]) for k, a in enumerate(key) for b in key[k + 1 :])

    def happen(self, kind: int, key: Key, credit: bytes | None, seen: int = 0) -> None:
        """Count an event.

        kind: one of the constants of this module.
        credit: for each pair of the key in order +1, 0 or -1, a byte each; nothing of a page that compares nothing.
        seen: bit p is set if the user had been shown an earlier page of pair p.
        """
        self.events[kind] += 1
        if credit is not None:
            self.events[COMPARED] += 1
            signs = iter(np.frombuffer(credit, np.int8).tolist())
            for k, a in enumerate(key):
                for b in key[k + 1 :]:
                    p, sign = int(self._number[a, b]), next(signs)
                    y = sign if a < b else -sign
                    self.score[y, p] += 1
                    if not seen >> p & 1:
                        self.fresh[y, p] += 1

    def sequences(self) -> Sequences:
        """Return the sums of the pairs' sequences of observations."""
        ties, wins, losses = self.fresh.astype(np.float64)
        none = np.zeros_like(ties)
        return Sequences(wins, losses, ties, none, none, none)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the counts, for `take`."""
        return {"events": self.events, "exposure": self.exposure, "score": self.score, "fresh": self.fresh}

    def take(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `arrays` returned.

        Raises `ValueError` for arrays of other sizes.
        """
        for name, mine in self.arrays().items():
            if arrays[name].shape != mine.shape:
                raise ValueError(f"the counts '{name}' are those of other rankers")
            mine[...] = arrays[name]
