"""The decisions on each pair of rankers: by the primary outcome, and by guardrails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, errors
from ltr_duel.logs.sequential import BettingTest, ClusteredTest

if TYPE_CHECKING:
    from ltr_duel.logs.comparison import Comparison


class PairDecision(NamedTuple):
    """The decision on a pair of rankers."""

    first: str
    second: str
    verdict: str  # "stop", "no difference" or "go on"
    winner: str  # winner if the verdict is "stop", else ""
    observations: int  # impressions, or users' first impressions in the log of a policy
    mean: float  # mean outcome of the first ranker against the second
    low: float  # interval of the mean; the intervals of all pairs hold together (Bonferroni)
    high: float
    p: float  # p-value of "the mean is 0", corrected for all pairs (Bonferroni); valid at every look if `e_value` is
    e_value: float = np.nan  # e-value against "the mean is 0"; NaN for a decision at a single look
    more: float = np.nan  # further impressions of the log until a decision, if the mean persists; inf: never
    more_to_win: float = np.nan  # like `more`, but until the ranker with the higher mean wins
    effective: float = np.nan  # effective number of independent observations


class Guardrail(NamedTuple):
    """Test of a further outcome on a pair; positive means favour the ranker that leads by the primary outcome.

    The limit is one-sided. A decision requires the primary outcome and each guardrail, so each test may use the whole
    error (intersection-union; Berger, Technometrics 1982).
    """

    outcome: str
    ahead: str  # the ranker that leads by the primary outcome
    behind: str
    mean: float  # mean of the further outcome
    low: float  # one-sided lower limit
    margin: float
    confidence: float  # confidence of the limit

    @property
    def holds(self) -> bool:
        """Whether the data show that the leading ranker, if it is worse at all, is worse by less than the margin."""
        return self.low > -self.margin

    def __str__(self) -> str:
        """Return the test as a line of text."""
        verdict = " holds:" if self.holds else ": the log does not show that it holds;"
        return (
            f"guardrail {self.outcome}{verdict} the mean of {self.ahead} against {self.behind} is {self.mean:+z.4f},"
            f" and at least {self.low:+z.4f} with {100 * self.confidence:.4g}% confidence (margin {self.margin:g})"
        )


def pair_decisions(
    test: ClusteredTest | BettingTest,
    named_pairs: Sequence[tuple[str, str]],
    tests: int,
    impressions: int,
    *,
    confidence: float,
    margin: float = 0.0,
) -> list[PairDecision]:
    """Decide for each pair whether to stop; the error bound holds for any number of looks.

    With probability ``confidence``, all intervals hold at all times, so that no decision on a pair, and no winner
    against all others, is ever wrong. The error is divided among ``tests`` pairs; ``impressions`` are those of all.
    """
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    errors.require_between("the margin", margin, 0, 1)
    now = test.sequence(confidence, tests)
    won, lost = now.low > 0, now.high < 0
    same = ~(won | lost) & (-margin < now.low) & (now.high < margin)

    def further(undecided: NDArray[np.bool_], margin: float) -> FloatVector:
        rows, more = np.flatnonzero(undecided), np.zeros(len(undecided))
        more[rows] = (test.select(rows).growth(confidence, tests, margin) - 1) * max(impressions, 1)
        return more

    more = further(~(won | lost | same), margin)
    to_win = further(~(won | lost), 0.0) if margin > 0 else more
    e_value = np.exp(np.minimum(now.log_e, 700.0))
    p = np.minimum(tests / np.maximum(e_value, 1e-300), 1.0)
    verdict = np.select([won | lost, same], ["stop", "no difference"], "go on").tolist()
    side = np.where(won, 0, np.where(lost, 1, 2)).tolist()
    columns = test.n.astype(np.int64), test.mean, now.low, now.high, p, e_value, more, to_win, test.effective
    return [
        PairDecision(*pair, verdict[k], (*pair, "")[side[k]], *(column[k].item() for column in columns))
        for k, pair in enumerate(named_pairs)
    ]


def at_one_look(comparison: Comparison) -> list[PairDecision]:
    """Decide for each pair at a single look."""
    decided = comparison.p_corrected < 1 - comparison.confidence
    n = comparison.sequences.n if comparison.adaptive else comparison.counts
    columns = comparison.means.mean, comparison.low, comparison.high, comparison.p_corrected
    pairs = []
    for k, pair in enumerate(comparison.named_pairs):
        mean, low, high, p = (float(column[k]) for column in columns)
        verdict, winner = ("stop", pair[0 if mean >= 0 else 1]) if decided[k] else ("go on", "")
        more = 0.0 if decided[k] else np.inf
        pairs.append(PairDecision(*pair, verdict, winner, int(n[k]), mean, low, high, p, more=more, more_to_win=more))
    return pairs


def guardrail_tests(comparison: Comparison, confidence: float, *, every_look: bool) -> list[Guardrail]:
    """Test for each pair and guardrail that the ranker ahead is not worse by the margin or more."""
    leads, guardrails = comparison.leading(every_look=every_look), []
    for name, other in comparison.guarded.items():
        limits = other.limits(confidence, 0.5, every_look=every_look).turned(leads)  # one-sided: half a test
        for k, pair in enumerate(comparison.named_pairs):
            ahead, behind = pair[:: leads[k]]
            mean, low = float(limits.mean[k]), float(min(limits.low[k], limits.mean[k]))
            guardrails.append(Guardrail(name, ahead, behind, mean, low, comparison.margins[name], confidence))
    return guardrails
