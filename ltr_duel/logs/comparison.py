"""The comparison of a log's rankers, computed from the sums of each cluster's outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ltr_duel.core import FloatVector, IntVector, statistics
from ltr_duel.logs.clusters import Means, interval_ends
from ltr_duel.logs.decision import Decision, decide
from ltr_duel.logs.looks import Look
from ltr_duel.logs.sums import PairSums, Sequences
from ltr_duel.preferences import PreferenceMatrix

if TYPE_CHECKING:
    from ltr_duel.logs.findings import Finding


@dataclass(frozen=True, eq=False)
class Comparison:
    """Comparison of each pair of a log's rankers.

    Arrays have one entry per pair. A positive mean favours the first ranker of the pair.

    Parameters
    ----------
    names : tuple of str
        Rankers, in their order of appearance in the log.
    pairs : ndarray of int64, shape (pairs, 2)
        Indices of the two rankers in ``names``.
    wins, losses, ties : ndarray of int64
        Number of impressions that the first ranker of the pair won, lost, or tied.
    means, cautious, naive : Means
        Mean outcome of the impressions (from -1 to 1), with standard error and degrees of freedom. ``means`` has
        cluster-robust errors; ``cautious``, for intervals, adds a won and a lost cluster, so that no error is 0;
        ``naive`` treats all impressions as independent.
    low, high : ndarray of float64
        Confidence interval of the mean outcome, from ``cautious``. The intervals of all pairs of rankers hold together
        (Bonferroni). An interval contains 0 unless ``p_corrected`` is below 1 - confidence.
    p, p_corrected : ndarray of float64
        p-value of the test that the mean is 0 (the larger of two p-values: Student's t test, and the exact sign test of
        clusters), and the p-value corrected for the number of pairs of rankers (Bonferroni).
    sequences : Sequences
        Sums for a test at any time: of all outcomes, or of users' first outcomes if clustered by user.
    sizes : ndarray of float64
        Mean number of outcomes in the cluster of a random outcome.
    by_dimension : tuple of Means
        ``cautious`` by users alone and by queries alone if ``cluster`` is "both"; otherwise empty.
    looks : list of Look
        Development of the result over time.
    impressions : int
    confidence : float
        Confidence of the intervals.
    cluster : str
        The kind of cluster to which the errors are robust.
    provenance : dict
        Facts about the log, as JSON values.
    warnings : list of str
        Cautions about the result.
    check : callable
        Returns the result of `check_log` for the log.

    Examples
    --------
    >>> "p_corrected" in Comparison.__dataclass_fields__
    True
    """

    names: tuple[str, ...]
    pairs: IntVector
    wins: IntVector
    losses: IntVector
    ties: IntVector
    means: Means
    cautious: Means
    naive: Means
    low: FloatVector
    high: FloatVector
    p: FloatVector
    p_corrected: FloatVector
    sequences: Sequences
    sizes: FloatVector
    by_dimension: tuple[Means, ...] = field(repr=False)
    looks: list[Look] = field(repr=False)
    impressions: int
    confidence: float
    cluster: str
    provenance: dict[str, Any] = field(repr=False)
    warnings: list[str] = field(repr=False)
    check: Callable[[], list[Finding]] = field(repr=False, default=list)

    @cached_property
    def findings(self) -> list[Finding]:
        """The result of `check_log` for the log."""
        return self.check()

    @cached_property
    def decision(self) -> Decision:
        """The decision at one planned look, with the checks of the log; see `decide` for more."""
        return decide(self)

    @property
    def named_pairs(self) -> list[tuple[str, str]]:
        """The two rankers of each pair."""
        return [(self.names[a], self.names[b]) for a, b in self.pairs]

    @property
    def counts(self) -> IntVector:
        """Number of outcomes of each pair."""
        return self.wins + self.losses + self.ties

    @property
    def tests(self) -> int:
        """Number of pairs among which the error is divided, including pairs that were not shown."""
        return len(self.names) * (len(self.names) - 1) // 2

    @property
    def adaptive(self) -> bool:
        """Whether a policy chose the rankers by earlier outcomes."""
        return "policies" in self.provenance

    @property
    def first_impressions(self) -> bool:
        """Whether means are of users' first impressions, because a policy chose the rankers."""
        return self.adaptive and self.cluster != "impression"

    @property
    def unit(self) -> str:
        """The unit that counts once: ``impression`` or ``user``."""
        return self.provenance.get("per", "impression")

    @property
    def preferences(self) -> PreferenceMatrix:
        """The preference matrix; a tie is half a win. Errors are above 0, or infinite for a pair with one cluster."""
        size = len(self.names)
        p, error = np.full((size, size), 0.5), np.full((size, size), np.inf)
        comparisons = np.zeros((size, size), np.int64)
        np.fill_diagonal(error, 0)
        first, second = self.pairs.T
        p[first, second] = (1 + self.means.mean) / 2
        p[second, first] = 1 - p[first, second]
        for matrix, values in ((error, self.cautious.error / 2), (comparisons, self.counts)):
            matrix[first, second] = values
            matrix[second, first] = values
        return PreferenceMatrix(p, self.names, error, comparisons, self.provenance | self._undecided())

    def _undecided(self) -> dict[str, Any]:
        """Return a note if the log decides no winner, because the matrix alone may suggest a winner."""
        decided = self.p_corrected < 1 - self.confidence
        first, second = (side[decided] for side in self.pairs.T)
        better = np.where(self.means.mean[decided] >= 0, first, second)
        if (np.bincount(better, minlength=1) == len(self.names) - 1).any():
            return {}
        by = f"p = {self.p_corrected[0]:.3g}"
        if len(self.pairs) > 1:
            by = f"{decided.sum()} of {len(self.pairs)} pairs {'is' if decided.sum() == 1 else 'are'} decided"
        return {"rankers": len(self.names), "undecided": f"Not decided by the log: {by}"}

    def to_frame(self) -> pd.DataFrame:
        """Return the table: one row per pair, the smallest p first."""
        first, second = map(list, zip(*self.named_pairs, strict=True))
        frame = pd.DataFrame(
            {
                "first": first,
                "second": second,
                f"{self.unit}s": self.counts,
                "wins": self.wins,
                "losses": self.losses,
                "ties": self.ties,
                "mean": self.means.mean,
                "standard_error": self.means.error,
                "naive_error": self.naive.error,
                "low": self.low,
                "high": self.high,
                "p": self.p,
                "p_corrected": self.p_corrected,
            }
        )
        return frame.sort_values(["p", "first", "second"], kind="stable", ignore_index=True)


def compared(
    sums: PairSums,
    names: tuple[str, ...],
    pairs: IntVector,
    *,
    confidence: float,
    impressions: int,
    provenance: dict[str, Any],
) -> Comparison:
    """Return the comparison without looks or warnings; a pair may occur several times, once per part of a log."""
    cautious, tests = sums.cautious(), len(names) * (len(names) - 1) // 2
    p: FloatVector = np.maximum(statistics.student_p(*cautious), sums.sign_p())
    return Comparison(
        names,
        pairs,
        sums.wins,
        sums.losses,
        sums.ties,
        sums.means(),
        cautious,
        sums.naive(),
        *tested_ends(cautious, p, confidence, tests),
        p,
        np.minimum(tests * p, 1.0),
        sums.sequences,
        _sizes(sums),
        sums.cautious_of_each(),
        [],
        impressions,
        confidence,
        sums.cluster,
        provenance,
        [],
    )


def tested_ends(
    cautious: Means, p: FloatVector, confidence: float, tests: float = 1.0
) -> tuple[FloatVector, FloatVector]:
    """Return the ends of the intervals, widened to contain 0 unless the test rejects 0; ``tests`` share the error."""
    error = (1 - confidence) / tests
    low, high = interval_ends(cautious, 1 - error)
    inside = p >= error
    return np.where(inside, np.minimum(low, 0.0), low), np.where(inside, np.maximum(high, 0.0), high)


def _sizes(sums: PairSums) -> FloatVector:
    """Return the mean size of the cluster of a random outcome; for both, the larger of users' and queries' sizes."""
    sizes = np.ones((max(len(sums.kinds[:2]), 1), len(sums.wins)))
    for row, clusters in zip(sizes, sums.kinds[:2], strict=False):
        for k in range(len(row)):
            n, _, number = clusters.of(k)
            row[k] = float((n * n) @ number) / max(float(n @ number), 1.0)
    return np.asarray(np.maximum(sizes.max(axis=0), 1.0), np.float64)
