"""Counts of comparisons for each pair: whole numbers, so that sums are exact in any order.

An outcome y, from -1 to +1, is stored as a whole multiple of 2^-32. Wins, losses and ties are exact; fractional
outcomes are rounded by less than 1.2e-10. So the same comparisons give the same bytes, regardless of how they are
distributed over workers and days.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, InputError, IntMatrix, frozen

SCALE = 2.0**32
FARTHEST = 9.0  # largest absolute value of an outcome corrected by a control variate
MOST_COMPARISONS = 2**30  # for each pair, so that sums stay far below 2^63


class Tally(NamedTuple):
    """Counts of all pairs i < j; all other entries are zero.

    Outcomes are between -1 and +1; outcomes corrected by control variates are between -9 and +9.

    A unit consists of all evaluations for one choice of a query: one evaluation, or two if queries are stratified. An
    evaluation consists of one list, or of a mirrored pair of lists.
    """

    lists: IntMatrix  # (K, K) numbers of lists shown
    total: IntMatrix  # (K, K) sum of the outcomes, times 2^32; positive: i is ahead
    square: IntMatrix  # (K, K) sum over units of the squared mean outcome, times 2^32
    within: IntMatrix  # (K, K) sum of (y1 - y2)^2 / 2 over units with two evaluations, times 2^32

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
    """Return p: the share of wins, with a tie counted as half; 1/2 for pairs that were never compared.

    The mean of a small number of corrected outcomes can exceed 1 in absolute value, so means are clipped.
    """
    upper = np.triu_indices(len(tally.lists), 1)
    mean = np.clip(tally.total[upper] / (SCALE * np.maximum(tally.lists[upper], 1)), -1, 1)
    p = np.full(tally.lists.shape, 0.5)
    p[upper] = (1 + mean) / 2
    p.T[upper] = 1 - p[upper]
    return p


def errors_of(tally: Tally, lists_of_a_unit: int, stratified_queries: int) -> FloatMatrix:
    """Return the standard error of p; infinite for pairs that were compared in fewer than two units.

    stratified_queries: number of queries in the corpus if they are visited in turn, with two evaluations each; 0 if
        queries are drawn with replacement.

    Notes
    -----
    If queries are drawn, this is the standard error of a mean. If queries are stratified, u units over Q queries make
    ``u // Q`` complete passes and one partial pass over r queries. In the complete passes, the choice of queries adds
    no variance; the partial pass is a sample without replacement (Cochran, Sampling Techniques, 3rd ed., section 10.4).
    The variance of the sum of the unit means is ``u w / 2 + r (1 - r / Q) b``, where w is the variance within queries
    and b the variance between queries.
    """
    upper = np.triu_indices(len(tally.lists), 1)
    units = tally.lists[upper] / lists_of_a_unit
    total, square, within = (matrix[upper] / SCALE for matrix in (tally.total, tally.square, tally.within))
    total = total / lists_of_a_unit
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (square - total**2 / units) / (units - 1)
        variance = spread * units
        if stratified_queries:
            inside = within / units / 2
            cut = units % stratified_queries
            variance = units * inside + cut * (1 - cut / stratified_queries) * np.maximum(spread - inside, 0)
        variance = np.where(units >= 2, np.maximum(variance, 0) / units**2, np.inf)
    error = np.zeros(tally.lists.shape)
    error[upper] = np.sqrt(variance) / 2
    error.T[upper] = error[upper]
    return error


def wins_and_ties(tally: Tally, evaluations_of_a_unit: int) -> tuple[IntMatrix, IntMatrix] | None:
    """Return the wins of i over j and the symmetric numbers of ties, or None if some outcome was fractional.

    If a unit has the outcomes y1 and y2 with mean m, the number of its decided comparisons is y1^2 + y2^2, which is
    equal to 2 m^2 + (y1 - y2)^2 / 2.
    """
    decided = evaluations_of_a_unit * tally.square + tally.within
    if (decided % int(SCALE)).any() or (tally.total % int(SCALE)).any():
        return None
    decided, ahead = decided // int(SCALE), tally.total // int(SCALE)
    wins = (decided + ahead) // 2 + ((decided - ahead) // 2).T
    ties = tally.lists - decided
    return wins, ties + ties.T
