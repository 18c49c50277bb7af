"""The comparison of a log's rankers by one outcome: means, intervals and tests of each pair of rankers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy import special

from ltr_duel.core import FloatVector, InputError, IntVector, several, statistics
from ltr_duel.logs.clusters import Means, interval_ends
from ltr_duel.logs.decision import Decision, decide
from ltr_duel.logs.looks import Look
from ltr_duel.logs.outcomes import Ratio
from ltr_duel.logs.sequential import Intervals, clustered_sequence, confidence_sequence
from ltr_duel.logs.sums import PairSums, Sequences
from ltr_duel.preferences import PreferenceMatrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ltr_duel.logs.findings import Finding


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The result of `compare_log`: each pair of rankers, compared by one outcome.

    Arrays have one entry per pair. A positive mean says that the first ranker of the pair is better.
    """

    names: tuple[str, ...]  # rankers, in their order of appearance in the log
    pairs: IntVector  # shape (pairs, 2), indices of the two rankers in `names`
    wins: IntVector  # impressions that the first ranker of the pair won
    losses: IntVector
    ties: IntVector
    means: Means  # mean outcomes (from -1 to 1; for a `Ratio`, the ratio) with cluster-robust errors
    cautious: Means  # means and errors for intervals, see `cautious_means`
    naive: Means  # means with errors as if all impressions were independent; NaN for a `Ratio`
    low: FloatVector  # lower ends of intervals that hold for all pairs together (Bonferroni)
    high: FloatVector  # upper ends; an interval excludes 0 only if `p_corrected` is below 1 - confidence
    p: FloatVector  # p-value of "the mean is 0": the larger one of Student's t test and the sign test of clusters
    sequences: Sequences  # sums for tests at any time; if clusters are users, sums of each user's first outcome
    denominator: FloatVector  # divisor of the sum of outcomes: impressions, or the denominator of a `Ratio`
    sizes: FloatVector  # mean number of outcomes in the cluster of a random outcome
    impressions: int
    confidence: float  # confidence of the intervals
    cluster: str  # kind of cluster to which the errors are robust
    provenance: dict[str, Any]  # facts about the log, as JSON values
    looks: list[Look] = field(default_factory=list)  # development over time
    warnings: list[str] = field(default_factory=list)
    secondary: dict[str, Comparison] = field(default_factory=dict)  # results for outcomes that do not decide
    guarded: dict[str, Comparison] = field(default_factory=dict)  # comparisons by the outcomes of guardrails
    margins: dict[str, float] = field(default_factory=dict)  # largest accepted loss of each guardrail
    check: Callable[[], list[Finding]] = field(default=list)  # returns the result of `check_log` for the log

    def __repr__(self) -> str:
        pairs = zip(self.named_pairs, self.signs, self.means.mean, strict=True)
        means = [f"{' > '.join(pair[::sign])} {sign * mean:+z.4f}" for pair, sign, mean in pairs]
        shown = ", ".join([*means[:3], *(["..."] if len(means) > 3 else [])])
        return f"<Comparison by {self.provenance.get('events')}, {several(self.impressions, 'impression')}: {shown}>"

    @cached_property
    def findings(self) -> list[Finding]:
        """What `check_log` finds in the log."""
        return self.check()

    @cached_property
    def decision(self) -> Decision:
        """Which ranker wins, if you look at the experiment only once. If you look repeatedly, use `decide`."""
        return decide(self)

    @property
    def named_pairs(self) -> list[tuple[str, str]]:
        """The two rankers of each pair."""
        return [(self.names[a], self.names[b]) for a, b in self.pairs]

    @property
    def counts(self) -> IntVector:
        """Number of impressions of each pair."""
        return self.wins + self.losses + self.ties

    @property
    def tests(self) -> int:
        """The number of tests for the Bonferroni correction: all pairs of rankers, even if never shown."""
        return len(self.names) * (len(self.names) - 1) // 2

    @property
    def p_corrected(self) -> FloatVector:
        """The p-values, corrected for the number of pairs of rankers (Bonferroni)."""
        return np.minimum(self.tests * self.p, 1.0)

    @property
    def adaptive(self) -> bool:
        """Whether a policy chose the rankers by earlier outcomes."""
        return "policies" in self.provenance

    @property
    def first_impressions(self) -> bool:
        """Whether only the first impression of each user counts."""
        return self.adaptive and self.cluster != "impression"

    @property
    def ratio(self) -> bool:
        """Whether the outcome is a ratio of two outcomes."""
        return "denominator" in self.provenance

    @property
    def outcome(self) -> str | Ratio:
        """The outcome: its name, or a ratio."""
        name, below = self.provenance["events"], self.provenance.get("denominator", "")
        return Ratio(name.removesuffix(f"/{below}"), below) if below else name

    def intervals(self, confidence: float, tests: float = 1.0, *, every_look: bool = False) -> Intervals:
        """Return an interval of the mean outcome of each pair, corrected for ``tests`` tests (Bonferroni).

        With ``every_look``, and always in the log of a policy, the intervals are valid however often you look.
        """
        bound = np.inf if self.ratio else 1.0
        if self.adaptive or (every_look and self.cluster == "impression" and not self.ratio):
            return confidence_sequence(*self.sequences, confidence=confidence, tests=tests)
        data = self.cautious, self.p, self.denominator, self.means.mean
        if every_look:
            return clustered_sequence(*data, confidence=confidence, tests=tests, bound=bound)
        ends = interval_ends(self.cautious, 1 - (1 - confidence) / tests, self.p, bound)
        p, nothing = np.minimum(tests * self.p, 1.0), np.full(len(self.p), np.nan)
        return Intervals(self.denominator, self.means.mean, *ends, p, nothing, self.cautious.error, nothing, nothing)

    @property
    def signs(self) -> IntVector:
        """The sign of each pair's mean: 1 if the mean is 0 or positive, and -1 if it is negative."""
        return np.where(self.means.mean >= 0, 1, -1)

    @property
    def clearest(self) -> IntVector:
        """The indices of the pairs, sorted by p-value. The smallest p-value comes first."""
        return np.argsort(self.p, kind="stable")

    @property
    def preferences(self) -> PreferenceMatrix:
        """The comparison as a preference matrix. A tie counts as half a win."""
        if self.ratio:
            raise InputError(f"'{self.provenance['events']}' is a ratio, which is no share of wins: no matrix has it")
        size = len(self.names)
        p, error = np.full((size, size), 0.5), np.full((size, size), np.inf)
        comparisons = np.zeros((size, size), np.int64)
        np.fill_diagonal(error, 0)
        for first, second in (self.pairs.T, self.pairs.T[::-1]):
            p[first, second] = (1 + self.means.mean) / 2
            error[first, second], comparisons[first, second] = self.cautious.error / 2, self.counts
        p[first, second] = 1 - p[second, first]
        won = decide(self, checks=False).winner
        undecided = {} if won else {"rankers": size, "undecided": "Not decided by the log"}
        return PreferenceMatrix(p, self.names, error, comparisons, self.provenance | undecided)

    def plot(self, *, stop_at: float | None = None, margin: float = 0.0, ax: Axes | None = None) -> Axes:
        """Plot how the mean outcomes and their intervals developed over time.

        The plot shows the pairs with the smallest p-values.

        Parameters
        ----------
        stop_at : float, optional
            Set this confidence (above 0 and below 1) if you look at a growing log more than once. The intervals are
            then valid at every look. By default, each interval is valid for one look, except in the log of a policy.
        margin : float
            The largest mean outcome that you regard as no difference. The plot shades the range from -margin to margin.
        ax : Axes, optional
            Axes to draw on. By default, new axes are created.

        Raises
        ------
        InputError
            If the outcome of the comparison is a ratio, or a secondary outcome.

        Examples
        --------
        >>> from ltr_duel.logs import compare_log
        >>> row = {"query": "q", "shown": ["x", "y"], "clicks": [2], "rankers": ["old", "new"], "owners": [0, 1]}
        >>> log = pd.DataFrame([row | {"impression": k, "user": k, "time": k} for k in range(100)])
        >>> compare_log(log).plot().get_ylabel()
        'mean outcome'
        """
        from ltr_duel.logs.plots import plot_comparison  # here, because only plots need matplotlib

        return plot_comparison(self, stop_at, margin, ax)

    def to_frame(self) -> pd.DataFrame:
        """Return the table: one row per pair, the smallest p first."""
        first, second = map(list, zip(*self.named_pairs, strict=True))
        columns = {"first": first, "second": second, "impressions": self.counts}
        columns |= {name: getattr(self, name) for name in ("wins", "losses", "ties")}
        columns |= {"mean": self.means.mean, "standard_error": self.means.error, "naive_error": self.naive.error}
        columns |= {name: getattr(self, name) for name in ("low", "high", "p", "p_corrected")}
        return pd.DataFrame(columns).sort_values(["p", "first", "second"], kind="stable", ignore_index=True)


def compared(
    sums: PairSums, names: tuple[str, ...], pairs: IntVector, *, confidence: float, impressions: int,
    provenance: dict[str, Any],
) -> Comparison:  # fmt: skip
    """Make a `Comparison` from sums of outcomes. Its ``looks`` and ``warnings`` are empty."""
    ratio, means, cautious = "denominator" in provenance, sums.means(), sums.cautious()
    naive, divisor = sums.naive(), sums.divisor()
    tests = len(names) * (len(names) - 1) // 2
    error = (1 - confidence) / tests
    if ratio:
        naive = means._replace(error=np.full(len(divisor), np.nan))
    p: FloatVector = np.maximum(statistics.student_p(*cautious), sums.sign_p())
    low, high = interval_ends(cautious, 1 - error, p, np.inf if ratio else 1.0)
    if "policies" in provenance:
        now = confidence_sequence(*sums.sequences, confidence=confidence, tests=tests)
        low, high, p = now.low, now.high, np.minimum(np.exp(-now.log_e), 1.0)
        width = (high - low) / 2 / float(special.ndtri(1 - error / 2))  # as of a normal interval of this width
        means = cautious = Means(now.mean, width, now.n - 1)
    return Comparison(
        names, pairs, sums.wins, sums.losses, sums.ties, means, cautious, naive, low, high, p, sums.sequences, divisor,
        sums.sizes(), impressions, confidence, sums.cluster, provenance,
    )  # fmt: skip
