"""Spend comparisons where the Condorcet winner is still in doubt, and stop when it is known.

After each round, pair (i, j) is decided if the confidence interval of p[i, j] excludes 1/2. A ranker that a rival beats
for certain is no candidate any more. The most promising candidate's undecided pairs get as many comparisons again. The
search ends when one ranker beats all others for certain, when no candidate is left (then there is no Condorcet winner),
or when no pair may get more comparisons.

In round r an interval may miss on one side with probability ``(1 - confidence) / (K r (r + 1))``. A wrong answer
needs one of at most K particular intervals to miss: the winner's against the others if there is a winner, and else,
for each ranker, one that it does not beat. So all answers of a search together are right with the given confidence,
as far as the normal approximation of Wilson's interval goes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import IntVector
from ltr_duel.preferences.estimate.sampling import PairSampler
from ltr_duel.preferences.estimate.settings import Settings
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.tally import Tally


def search_winner(
    settings: Settings, sampler: PairSampler, tally: Tally, confidence: float, at_most: int
) -> dict[str, Any]:
    """Add comparisons to ``tally`` until the winner is known; return how the search ended, as JSON."""
    size = len(settings.rankings)
    for number in range(1, 1000):
        beats = beaten_for_certain(settings.matrix(tally, {}), (1 - confidence) / (size * number * (number + 1)))
        candidates = np.flatnonzero(~beats.any(axis=0))
        known = np.flatnonzero(beats.sum(axis=1) == size - 1)
        pair = _next_pairs(tally, beats, candidates, at_most) if not known.size else None
        if pair is None:
            break
        first, second = pair
        lists = tally.lists[first, second]
        sampler.add(tally, first, second, np.minimum(2 * np.maximum(lists, 2), at_most))
    names = settings.rankings.names
    return {
        "winner": names[known[0]] if known.size else None,
        "known": bool(known.size or not candidates.size),
        "rounds": number,
        "candidates": [names[k] for k in candidates],
    }


def beaten_for_certain(matrix: PreferenceMatrix, miss: float) -> NDArray[np.bool_]:
    """Return a matrix of booleans: i beats j, but for a chance ``miss``."""
    low, _ = matrix.intervals(1 - 2 * miss)
    return np.asarray(low > 0.5)


def _next_pairs(
    tally: Tally, beats: NDArray[np.bool_], candidates: IntVector, at_most: int
) -> tuple[IntVector, IntVector] | None:
    """Return the undecided pairs of the most promising candidate that may still get comparisons; None if none has."""
    lists = tally.lists + tally.lists.T
    with np.errstate(divide="ignore", invalid="ignore"):
        ahead = np.where(lists > 0, (tally.total - tally.total.T) / lists, 0.0)
    np.fill_diagonal(ahead, np.inf)
    for leader in sorted(candidates.tolist(), key=lambda k: -ahead[k].min()):
        open_ = ~beats[leader] & ~beats[:, leader] & (lists[leader] < at_most)
        open_[leader] = False
        rivals = np.flatnonzero(open_)
        if rivals.size:
            return np.minimum(leader, rivals), np.maximum(leader, rivals)
    return None
