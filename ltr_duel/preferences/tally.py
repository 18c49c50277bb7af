"""Count the outcomes of comparisons, and compute preferences and standard errors from the counts.

Outcomes are multiplied by 2^32 and rounded to whole numbers, because sums of whole numbers are exact. Therefore, the
counts do not depend on the order of the comparisons or on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, InputError, IntMatrix, frozen

SCALE = 2.0**32
FARTHEST = 9.0  # the largest absolute value of an outcome after its correction by a control variate
MOST_COMPARISONS = 2**30  # of a pair, so that sums stay far below 2^63


class Tally(NamedTuple):
    """Sums of the outcomes of each pair of rankers, from which preferences and errors are computed.

    The sums of the rankers i and j, where i < j, are in row i and column j. All other entries are zero.
    """

    # An evaluation shows one list, or two mirrored lists, and gives one outcome. A unit is one evaluation of a chosen
    # query, or two evaluations if queries are visited in turn (stratified). Outcomes are between -1 and +1, or between
    # -9 and +9 if control variates correct them.
    lists: IntMatrix  # (K, K) the number of lists that were shown
    total: IntMatrix  # (K, K) the sum of the outcomes, times 2^32; positive if i is ahead
    square: IntMatrix  # (K, K) the sum over units of the squared mean outcome, times 2^32
    within: IntMatrix  # (K, K) the sum of (y1 - y2)^2 / 2, times 2^32, over units with two evaluations y1, y2

    @classmethod
    def empty(cls, size: int) -> Tally:
        """Return a tally without comparisons."""
        return cls(*(np.zeros((size, size), np.int64) for _ in cls._fields))

    def checked(self, size: int) -> Tally:
        """Check the counts, and return them in read-only arrays."""
        for name, part in self._asdict().items():
            if np.shape(part) != (size, size) or np.asarray(part).dtype.kind not in "iu":
                raise InputError(f"the counts '{name}' must be whole numbers, one for each pair of {size} rankers")
        tally = Tally(*(frozen(part, np.int64) for part in self))
        most = tally.lists * SCALE
        limits = {
            "lists": (0, (2**31 - 1) * np.ones_like(most)),
            "total": (-FARTHEST * most, FARTHEST * most),
            "square": (0, FARTHEST**2 * most),
            "within": (0, most),
        }
        for name, (low, high) in limits.items():
            part = getattr(tally, name)
            if (part > high).any() or (part < low).any():
                raise InputError(f"the counts are impossible: '{name}' is out of range for the number of comparisons")
        return tally

    def among(self, picks: list[int]) -> Tally:
        """Return the counts of the rankers ``picks``, in this order."""
        chosen = np.ix_(picks, picks)
        lists, square, within = (np.triu((m + m.T)[chosen], 1) for m in (self.lists, self.square, self.within))
        return Tally(lists, np.triu((self.total - self.total.T)[chosen], 1), square, within)


def preferences_of(tally: Tally) -> FloatMatrix:
    """Return a matrix with the share of comparisons that the row won against the column. A tie counts as half a win.

    The share is 1/2 for pairs that were never compared.
    """
    upper = np.triu_indices(len(tally.lists), 1)
    mean = np.clip(tally.total[upper] / (SCALE * np.maximum(tally.lists[upper], 1)), -1, 1)
    p = np.full(tally.lists.shape, 0.5)
    p[upper] = (1 + mean) / 2
    p.T[upper] = 1 - p[upper]
    return p


def errors_of(tally: Tally, lists_of_a_unit: int, stratified_queries: int) -> FloatMatrix:
    """Return the standard error of each win probability. It is infinite for pairs with too few comparisons.

    stratified_queries: the number of queries of the corpus if they are visited in turn, or 0 if queries are drawn at
        random.

    Notes
    -----
    If queries are visited in turn, errors are smaller than for random queries, because each complete pass shows every
    query equally often. See Cochran, Sampling Techniques, 10.4.
    """
    upper = np.triu_indices(len(tally.lists), 1)
    units = tally.lists[upper] / lists_of_a_unit
    total, square, within = (matrix[upper] / SCALE for matrix in (tally.total, tally.square, tally.within))
    total = total / lists_of_a_unit
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (square - total**2 / units) / (units - 1)
        variance = spread * units
        if stratified_queries:
            inside = within / units / 2  # half the variance within queries
            cut = units % stratified_queries  # units in the last, incomplete pass
            cut *= 1 - cut / stratified_queries
            seen = units * (1 - 1 / stratified_queries) - cut / units  # sum of squares at variance 1
            between = np.maximum(spread - inside, 0) * (units - 1) / seen
            variance = units * inside + np.where(cut > 0, cut * between, 0)
        variance = np.where(units >= 2, np.maximum(variance, 0) / units**2, np.inf)
    error = np.zeros(tally.lists.shape)
    error[upper] = np.sqrt(variance) / 2
    error.T[upper] = error[upper]
    return error


def wins_and_ties(tally: Tally, evaluations_of_a_unit: int) -> tuple[IntMatrix, IntMatrix] | None:
    """Return the numbers of wins and ties of each pair, or None if some outcome was not -1, 0 or 1."""
    # Of two outcomes y1 and y2 with the mean m, y1^2 + y2^2 = 2 m^2 + (y1 - y2)^2 / 2 were not ties.
    decided = evaluations_of_a_unit * tally.square + tally.within
    if (decided % int(SCALE)).any() or (tally.total % int(SCALE)).any():
        return None
    decided, ahead = decided // int(SCALE), tally.total // int(SCALE)
    wins = (decided + ahead) // 2 + ((decided - ahead) // 2).T
    ties = tally.lists - decided
    return wins, ties + ties.T
