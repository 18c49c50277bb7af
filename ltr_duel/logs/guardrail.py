"""Simultaneous intervals for all rows of a table, and guardrails: further outcomes that must not get worse."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, IntVector, errors
from ltr_duel.logs.comparison import Comparison, tested_ends
from ltr_duel.logs.decision import sequential_test


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


def limits(found: Comparison, confidence: float, tests: float = 1.0, *, every_look: bool = False) -> Limits:
    """Return the intervals of all pairs, with the error divided among ``tests`` tests (Bonferroni).

    With ``every_look``, and for logs of policies, the intervals are valid at any time.
    """
    if every_look or found.adaptive:
        test = sequential_test(found)
        now = test.sequence(confidence, tests)
        return Limits(test.mean, now.low, now.high, np.minimum(tests * np.exp(-now.log_e), 1.0))
    low, high = tested_ends(found.cautious, found.p, confidence, tests)
    return Limits(found.means.mean, low, high, np.minimum(tests * found.p, 1.0))


def indices_in(primary: Comparison, other: Comparison) -> tuple[IntVector, IntVector]:
    """Return each pair's index in another comparison (-1 if absent), and -1 if its rankers are exchanged, else 1."""
    index = {pair: n for n, pair in enumerate(other.named_pairs)}
    found = [(index[pair], 1) if pair in index else (index.get(pair[::-1], -1), -1) for pair in primary.named_pairs]
    indices, signs = np.array(found, np.int64).reshape(-1, 2).T
    return indices, signs


def leading(found: Comparison, *, every_look: bool = False) -> IntVector:
    """Return for each pair 1 if its first ranker is ahead or equal, else -1."""
    mean = sequential_test(found).mean if every_look or found.adaptive else found.means.mean
    return np.where(mean >= 0, 1, -1)


class Guardrail(NamedTuple):
    """Test of a further outcome on a pair; positive means favour the ranker that leads by the primary outcome.

    Examples
    --------
    >>> Guardrail("purchase", "new", "old", mean=0.01, low=-0.005, margin=0.01).holds
    True
    """

    outcome: str
    ahead: str  # the ranker that leads by the primary outcome
    behind: str
    mean: float  # mean of the further outcome
    low: float  # one-sided lower limit
    margin: float

    @property
    def holds(self) -> bool:
        """Whether the data show that the leading ranker, if it is worse at all, is worse by less than the margin."""
        return self.low > -self.margin


def guardrails(
    primary: Comparison, other: Comparison, margin: float = 0.01, *, stop_at: float | None = None
) -> list[Guardrail]:
    r"""Test for each pair that the ranker that leads by the primary outcome is not worse by ``margin`` or more.

    The limits are one-sided. A decision requires the primary outcome and each guardrail, so each test may use the whole
    error (intersection-union; Berger, Technometrics 1982).

    Parameters
    ----------
    primary, other : Comparison
        Comparisons of one log by its primary outcome and by the outcome that must not get worse.
    margin : float
        Largest accepted loss, a mean outcome above 0 and at most 1.
    stop_at : float, optional
        As in `decide`.

    Returns
    -------
    list of Guardrail
        One for each pair that both comparisons have.

    Raises
    ------
    InputError
        For numbers out of range.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ltr_duel.logs import ClickLog, compare_log
    >>> row = '{"impression": %d, "time": 0, "query": "q", "user": %d, "shown": ["a", "b"], "clicks": [2],'
    >>> row += ' "rankers": ["old", "new"], "owners": ["old", "new"]}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.jsonl"
    ...     _ = path.write_text("\n".join(row % (k, k) for k in range(1000)))
    ...     found = compare_log(ClickLog(path))
    >>> [one.holds for one in guardrails(found, found)]
    [True]
    """
    confidence = primary.confidence if stop_at is None else stop_at
    errors.require_between("the margin of a guardrail", margin, 1e-9, 1)
    errors.require_between("the confidence of a guardrail", confidence, 0.5 + 1e-9, 1 - 1e-9)
    indices, signs = indices_in(primary, other)
    leads = leading(primary, every_look=stop_at is not None)
    found = limits(other, confidence, 0.5, every_look=stop_at is not None)  # half a test, because limits are one-sided
    shared = np.flatnonzero(indices >= 0)
    found = Limits(*(part[indices[shared]] for part in found)).turned((leads * signs)[shared])
    outcome, guards = other.provenance["events"], []
    for n, mean, low in zip(shared, found.mean, found.low, strict=True):
        ahead, behind = primary.named_pairs[n][:: leads[n]]
        guards.append(Guardrail(outcome, ahead, behind, float(mean), float(min(low, mean)), margin))
    return guards


def guardrail_lines(found: tuple[Guardrail, ...]) -> list[str]:
    """Return the guardrails as lines of text."""
    return [
        f"guardrail {one.outcome}{' holds:' if one.holds else ': the log does not show that it holds;'} the mean of"
        f" {one.ahead} against {one.behind} is {one.mean:+z.4f}, and at least {one.low:+z.4f} with confidence"
        f" (margin {one.margin:g})"
        for one in found
    ]
