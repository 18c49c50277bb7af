"""The comparison of a log's rankers by one outcome, computed from the sums of each cluster's outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.core import FloatVector, InputError, IntVector, several, statistics
from ltr_duel.logs.clusters import Means, interval_ends
from ltr_duel.logs.decision import Decision, decide
from ltr_duel.logs.looks import Look
from ltr_duel.logs.ratio import LINES, Ratio
from ltr_duel.logs.sequential import BettingTest, ClusteredTest
from ltr_duel.logs.sums import PairSums, Sequences
from ltr_duel.preferences import PreferenceMatrix

if TYPE_CHECKING:
    from ltr_duel.logs.findings import Finding


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Comparison of each pair of a log's rankers by one outcome.

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
        ``naive`` treats all impressions as independent. Of a `Ratio`, the mean is the ratio, which ``naive`` lacks.
    low, high : ndarray of float64
        Confidence interval of the mean outcome, from ``cautious``. The intervals of all pairs of rankers hold together
        (Bonferroni). An interval contains 0 unless ``p_corrected`` is below 1 - confidence.
    p : ndarray of float64
        p-value of the test that the mean is 0: the larger of two p-values, Student's t test, and the exact sign test of
        clusters.
    sequences : Sequences
        Sums for a test at any time: of all outcomes, or of users' first outcomes if clustered by user.
    denominator : ndarray of float64
        What the sum of outcomes is divided by: the number of impressions, or the denominator of a `Ratio`.
    sizes : ndarray of float64
        Mean number of outcomes in the cluster of a random outcome.
    impressions : int
    confidence : float
        Confidence of the intervals.
    cluster : str
        The kind of cluster to which the errors are robust.
    provenance : dict
        Facts about the log, as JSON values.
    looks : list of Look
        Development of the result over time.
    warnings : list of str
        Cautions about the result.
    secondary, guarded : dict of str to Comparison
        The same log by secondary outcomes, on which no decision is based, and by the outcomes of guardrails.
    margins : dict of str to float
        The largest accepted loss of each guardrail.
    check : callable
        Returns the result of `check_log` for the log.

    Examples
    --------
    >>> "cautious" in Comparison.__dataclass_fields__
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
    sequences: Sequences
    denominator: FloatVector
    sizes: FloatVector
    impressions: int
    confidence: float
    cluster: str
    provenance: dict[str, Any]
    looks: list[Look] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    secondary: dict[str, Comparison] = field(default_factory=dict)
    guarded: dict[str, Comparison] = field(default_factory=dict)
    margins: dict[str, float] = field(default_factory=dict)
    check: Callable[[], list[Finding]] = field(default=list)

    def __repr__(self) -> str:
        """Return the size of the log and the means, with the ranker that leads first; `to_frame` has the numbers."""
        pairs = zip(self.named_pairs, self.leading(), self.means.mean, strict=True)
        means = [f"{' > '.join(pair[::sign])} {sign * mean:+z.4f}" for pair, sign, mean in pairs]
        shown = ", ".join([*means[:3], *(["..."] if len(means) > 3 else [])])
        return f"<Comparison by {self.provenance.get('events')}, {several(self.impressions, 'impression')}: {shown}>"

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
    def p_corrected(self) -> FloatVector:
        """p-values corrected for the number of pairs of rankers (Bonferroni)."""
        return np.minimum(self.tests * self.p, 1.0)

    @property
    def adaptive(self) -> bool:
        """Whether a policy chose the rankers by earlier outcomes."""
        return "policies" in self.provenance

    @property
    def first_impressions(self) -> bool:
        """Whether means are of users' first impressions, because a policy chose the rankers."""
        return self.adaptive and self.cluster != "impression"

    @property
    def ratio(self) -> bool:
        """Whether the outcome is a ratio of two outcomes."""
        return "denominator" in self.provenance

    @property
    def outcome(self) -> str | Ratio:
        """The outcome: its name, or a ratio."""
        name = self.provenance["events"]
        below = self.provenance.get("denominator", "")
        return Ratio(name.removesuffix(f"/{below}"), below) if below else name

    @property
    def unit(self) -> str:
        """The unit that counts once: ``impression`` or ``user``."""
        return self.provenance.get("per", "impression")

    @property
    def sequential_test(self) -> ClusteredTest | BettingTest:
        """The test at any time: clustered, but for logs of policies and for outcomes of independent impressions."""
        if self.adaptive or (self.cluster == "impression" and not self.ratio):
            return BettingTest(self.sequences)
        bound = np.inf if self.ratio else 1.0
        return ClusteredTest(self.cautious, self.p, self.denominator, self.means.mean, bound)

    def limits(self, confidence: float, tests: float = 1.0, *, every_look: bool = False) -> Limits:
        """Return the intervals of all pairs, with the error divided among ``tests`` tests (Bonferroni).

        With ``every_look``, and for logs of policies, the intervals are valid at any time.
        """
        if every_look or self.adaptive:
            test = self.sequential_test
            now = test.sequence(confidence, tests)
            return Limits(test.mean, now.low, now.high, np.minimum(tests * np.exp(-now.log_e), 1.0))
        ends = interval_ends(self.cautious, 1 - (1 - confidence) / tests, self.p, np.inf if self.ratio else 1.0)
        return Limits(self.means.mean, *ends, np.minimum(tests * self.p, 1.0))

    def leading(self, *, every_look: bool = False) -> IntVector:
        """Return for each pair 1 if its first ranker is ahead or equal, else -1."""
        mean = self.sequential_test.mean if every_look or self.adaptive else self.means.mean
        return np.where(mean >= 0, 1, -1)

    @property
    def preferences(self) -> PreferenceMatrix:
        """The preference matrix; a tie is half a win. Errors are above 0, or infinite for a pair with one cluster."""
        if self.ratio:
            raise InputError(f"'{self.provenance['events']}' is a ratio, which is no share of wins: no matrix has it")
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
        undecided = (
            {} if decide(self, checks=False).winner else {"rankers": size, "undecided": "Not decided by the log"}
        )
        return PreferenceMatrix(p, self.names, error, comparisons, self.provenance | undecided)

    def to_frame(self) -> pd.DataFrame:
        """Return the table: one row per pair, the smallest p first."""
        first, second = map(list, zip(*self.named_pairs, strict=True))
        columns = {"first": first, "second": second, f"{self.unit}s": self.counts}
        columns |= {name: getattr(self, name) for name in ("wins", "losses", "ties")}
        columns |= {"mean": self.means.mean, "standard_error": self.means.error, "naive_error": self.naive.error}
        columns |= {name: getattr(self, name) for name in ("low", "high", "p", "p_corrected")}
        return pd.DataFrame(columns).sort_values(["p", "first", "second"], kind="stable", ignore_index=True)


class Limits(NamedTuple):
    """Means with intervals; each field has one entry per pair."""

    mean: FloatVector
    low: FloatVector
    high: FloatVector
    p: FloatVector  # p-value of each pair, corrected for the number of tests (Bonferroni)

    def turned(self, signs: IntVector) -> Limits:
        """Return the limits with the two rankers exchanged in each pair whose sign is -1."""
        low, high = np.sort([signs * self.low, signs * self.high], axis=0)
        return Limits(signs * self.mean, low, high, self.p)


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
    ratio, means, cautious = "denominator" in provenance, sums.means(), sums.cautious()
    naive, bound, divisor = sums.naive(), 1.0, sums.counts()
    if ratio:
        naive, bound = means._replace(error=np.full(len(sums.wins), np.nan)), np.inf
        clusters = sums.kinds[0]
        divisor = np.bincount(clusters.pair, clusters.n * clusters.number, len(sums.wins)).astype(np.float64)
    p: FloatVector = np.maximum(statistics.student_p(*cautious), sums.sign_p())
    tests = len(names) * (len(names) - 1) // 2
    low, high = interval_ends(cautious, 1 - (1 - confidence) / tests, p, bound)
    cluster = "impression" if sums.cluster == LINES else sums.cluster
    return Comparison(
        names, pairs, sums.wins, sums.losses, sums.ties, means, cautious, naive, low, high, p, sums.sequences, divisor,
        _sizes(sums), impressions, confidence, cluster, provenance,
    )  # fmt: skip


def _sizes(sums: PairSums) -> FloatVector:
    """Return the mean size of the cluster of a random outcome; for both, the larger of users' and queries' sizes."""
    sizes = np.ones((max(len(sums.kinds[:2]), 1), len(sums.wins)))
    for row, clusters in zip(sizes, sums.kinds[:2], strict=False):
        for k in range(len(row)):
            n, _, number = clusters.of(k)
            row[k] = float((n * n) @ number) / max(float(n @ number), 1.0)
    return np.asarray(np.maximum(sizes.max(axis=0), 1.0), np.float64)
