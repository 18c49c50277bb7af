"""What a log says of each pair of its rankers, from sums over clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ltr_duel.core import FloatVector, IntVector, statistics
from ltr_duel.logs.clusters import Kinds, Means, interval_ends
from ltr_duel.logs.looks import Look
from ltr_duel.logs.sums import PairSums, Sequences
from ltr_duel.preferences import PreferenceMatrix


@dataclass(frozen=True, eq=False)
class LogComparison:
    """What a log says of each pair of its rankers. Arrays have one entry a pair; outcomes are those of the first one.

    Parameters
    ----------
    names : tuple of str
        Rankers, in the order in which the log names them.
    pairs : ndarray of int64, shape (pairs, 2)
        Positions of the rankers.
    wins, losses, ties : ndarray of int64
        Impressions that the first of the pair won, lost, or neither.
    means, cautious, naive : Means
        Mean outcome (credit, -1 to 1) over impressions, with standard error and degrees of freedom: right under the
        cluster; the same for intervals, with a won and a lost cluster added, so that no error is 0; and as if all
        impressions were independent.
    low, high : ndarray of float64
        Confidence interval of the mean outcome, of ``cautious``; it holds 0 unless ``p`` is below the error.
    p, p_corrected : ndarray of float64
        Of the test that the mean is 0: the larger of Student's t and the exact test by signs of clusters. And
        corrected for the number of pairs (Holm).
    bootstrap : ndarray of float64, shape (2, pairs)
        The same interval by drawing clusters with replacement; NaN where clusters are single impressions, where all
        draws are the same, and of adjusted outcomes, whose slopes each draw would fit again.
    sequences : Sequences
        For `stopping_decisions`.
    kinds : list of tuple
        Of each pair: how often its clusters come, as some kinds of them: outcomes of a cluster, and the share of all.
    half : list of float
        Of each pair: half of its outcomes are of clusters with so many or more.
    each : tuple of Means
        Clustered both ways: ``cautious`` by users alone, and by queries alone. Else nothing.
    looks : list of Look
        How it came about.
    impressions : int
    confidence : float
        Of the intervals.
    cluster : str
        What the errors are robust to.
    provenance : dict
        Of the log, as JSON.
    warnings : list of str
        What a reader should know before believing it.

    Examples
    --------
    >>> "p_corrected" in LogComparison.__dataclass_fields__
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
    bootstrap: FloatVector
    sequences: Sequences
    kinds: list[Kinds] = field(repr=False)
    half: list[float] = field(repr=False)
    each: tuple[Means, ...] = field(repr=False)
    looks: list[Look] = field(repr=False)
    impressions: int
    confidence: float
    cluster: str
    provenance: dict[str, Any] = field(repr=False)
    warnings: list[str] = field(repr=False)

    @property
    def counts(self) -> IntVector:
        """Outcomes of each pair."""
        return self.wins + self.losses + self.ties

    @property
    def tests(self) -> int:
        """Pairs that share the error of looking at any time: all pairs of the rankers, also those not met so far."""
        return len(self.names) * (len(self.names) - 1) // 2

    @property
    def adaptive(self) -> bool:
        """Whether a policy chose the rankers by earlier outcomes."""
        return "policies" in self.provenance

    @property
    def adjusted(self) -> bool:
        """Whether what the coin decided was taken out of the outcomes."""
        return "adjusted" in self.provenance

    @property
    def unit(self) -> str:
        """What counts once: ``impression`` or ``user``."""
        return self.provenance.get("per", "impression")

    @property
    def preferences(self) -> PreferenceMatrix:
        """The matrix: a tie is half a win; no error is 0, and that of a pair which one user or none met is infinite."""
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

    @property
    def better(self) -> list[str]:
        """The ranker of each pair that is better at one look; empty where neither is shown to be."""
        sure, side = self.p_corrected < 1 - self.confidence, np.where(self.means.mean >= 0, 0, 1)
        return [self.names[pair[k]] if one else "" for pair, k, one in zip(self.pairs, side, sure, strict=True)]

    @property
    def winner(self) -> str:
        """The ranker that is better than all others at one look; empty for none."""
        better = self.better
        return next((name for name in self.names if better.count(name) == len(self.names) - 1), "")

    def _undecided(self) -> dict[str, Any]:
        """Say that the log decides nothing, for readers of the matrix, whose probabilities are one-sided."""
        if self.winner:
            return {}
        by = f"p = {self.p_corrected[0]:.3g}"
        if len(self.pairs) > 1:
            decided = len(self.pairs) - self.better.count("")
            by = f"{decided} of {len(self.pairs)} pairs {'is' if decided == 1 else 'are'} decided"
        return {"rankers": len(self.names), "undecided": f"Not decided by the log: {by}"}

    def to_frame(self) -> pd.DataFrame:
        """Return the table: one row a pair, the clearest first."""
        first, second = ([self.names[k] for k in side] for side in self.pairs.T)
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
                "bootstrap_low": self.bootstrap[0],
                "bootstrap_high": self.bootstrap[1],
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
) -> LogComparison:
    """Return what the sums of pairs say, without bootstrap, looks or warnings.

    A pair may be there several times, once for each slice.
    """
    cautious = sums.cautious()
    p: FloatVector = np.maximum(statistics.student_p(*cautious), sums.sign_p())
    return LogComparison(
        names,
        pairs,
        sums.wins,
        sums.losses,
        sums.ties,
        sums.means(),
        cautious,
        sums.naive(),
        *tested_ends(cautious, p, confidence),
        p,
        statistics.holm(p),
        np.full((2, len(pairs)), np.nan),
        sums.sequences,
        sums.sizes(),
        sums.half(),
        sums.cautious_of_each(),
        [],
        impressions,
        confidence,
        sums.cluster,
        provenance,
        [],
    )


def tested_ends(cautious: Means, p: FloatVector, confidence: float) -> tuple[FloatVector, FloatVector]:
    """Return the ends of the intervals: 0 is tested exactly, so the test decides whether it is in."""
    low, high = interval_ends(cautious, confidence)
    inside = p >= 1 - confidence
    return np.where(inside, np.minimum(low, 0.0), low), np.where(inside, np.maximum(high, 0.0), high)
