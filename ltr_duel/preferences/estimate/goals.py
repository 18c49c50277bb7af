"""Goals of an estimate: a number of comparisons, a target for the standard error, or a known Condorcet winner.

The search for the Condorcet winner compares only undecided pairs. After each round, pair (i, j) is decided if the
confidence interval of p[i, j] excludes 1/2. A ranker that loses a decided pair is no longer a candidate. The number of
comparisons of the most promising candidate's undecided pairs is then doubled. The search ends when one ranker has won
all its pairs, when no candidate is left (then there is no Condorcet winner), or when all remaining pairs have the
maximum number of comparisons.

In round r, an interval lies above the true value with probability at most ``(1 - confidence) / (K r (r + 1))``, and
below it with at most the same probability. The answer can be wrong only if at least one of at most K particular
intervals misses its true value on one particular side. If there is a true winner, these are its K - 1 intervals against
the others. If there is none, they are one interval for each ranker, against a rival that it does not beat. Summed over
these intervals and over all rounds, the probabilities are at most 1 - confidence, except for the error of the normal
approximation in Wilson's interval.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import IntVector, host
from ltr_duel.preferences.estimate.blocks import BLOCK
from ltr_duel.preferences.estimate.sampling import PairSampler
from ltr_duel.preferences.estimate.settings import Settings
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.tally import Tally, errors_of, preferences_of


def matrix_of(settings: Settings, tally: Tally, reached: dict[str, Any]) -> PreferenceMatrix:
    """Return the matrix of a tally; ``reached`` contains the provenance entries about the number of comparisons."""
    queries = settings.rankings.n_queries if settings.stratified else 0
    error = errors_of(tally, settings.lists_of_a_unit, queries)
    # Recorded for information only: results do not depend on these versions.
    versions = host.versions_of(("ltr-duel", "numba", "numpy"))
    share = settings.rankings.tied_share
    tied = {} if share is None else {"tied_share": round(share, 4)}  # determined by the corpus and the rankers
    provenance = {**settings.provenance, **tied, "versions": versions, **reached}
    counts = tally.lists + tally.lists.T
    return PreferenceMatrix(preferences_of(tally), settings.rankings.names, error, counts, provenance, tally)


def reach_error(
    sampler: PairSampler, tally: Tally, pairs: tuple[IntVector, IntVector], target: float, at_most: int
) -> None:
    """Add blocks to pairs whose error is above the target; how many depends on the pair's current error."""
    while True:
        error = matrix_of(sampler.settings, tally, {}).standard_error[pairs]
        lists = tally.lists[pairs]
        open_ = (error > target) & (lists < at_most)
        if not open_.any():
            return
        wanted = lists[open_] * np.minimum((error[open_] / target) ** 2, 8.0)
        blocks = np.maximum(np.ceil(wanted / BLOCK).astype(np.int64), lists[open_] // BLOCK + 1)
        sampler.add(tally, pairs[0][open_], pairs[1][open_], np.minimum(blocks * BLOCK, at_most))


def search_winner(sampler: PairSampler, tally: Tally, confidence: float, at_most: int) -> dict[str, Any]:
    """Add comparisons until the search ends; return the result as JSON."""
    names = sampler.settings.rankings.names
    size = len(names)
    for number in range(1, 1000):
        miss = (1 - confidence) / (size * number * (number + 1))
        beats = beaten_for_certain(matrix_of(sampler.settings, tally, {}), miss)
        candidates = np.flatnonzero(~beats.any(axis=0))
        known = np.flatnonzero(beats.sum(axis=1) == size - 1)
        pairs = _next_pairs(tally, beats, candidates, at_most) if not known.size else None
        if pairs is None:
            break
        sampler.add(tally, *pairs, np.minimum(2 * np.maximum(tally.lists[pairs], 2), at_most))
    return {
        "winner": names[known[0]] if known.size else None,
        "known": bool(known.size or not candidates.size),
        "rounds": number,
        "candidates": [names[k] for k in candidates],
    }


def beaten_for_certain(matrix: PreferenceMatrix, miss: float) -> NDArray[np.bool_]:
    """Return a matrix that is true where i surely beats j; each entry is wrong with probability ``miss`` at most."""
    low, _ = matrix.intervals(1 - 2 * miss)
    return np.asarray(low > 0.5)


def _next_pairs(
    tally: Tally, beats: NDArray[np.bool_], candidates: IntVector, at_most: int
) -> tuple[IntVector, IntVector] | None:
    """Return the most promising candidate's undecided pairs that have fewer than ``at_most`` comparisons.

    A candidate that has no such pairs is skipped; if this applies to all candidates, return None.
    """
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
