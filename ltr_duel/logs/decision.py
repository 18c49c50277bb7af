"""Decide whether an experiment can stop and which ranker wins, and explain the decision in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ltr_duel.core import errors
from ltr_duel.logs.looks import CHANGED

if TYPE_CHECKING:
    from ltr_duel.logs.comparison import Comparison
    from ltr_duel.logs.findings import Finding
    from ltr_duel.logs.sequential import Intervals

FEWEST = 20.0  # minimum effective number of observations for a projection
_FAR = 1000  # largest multiple of the present impressions that a projection names
_CLUSTERS = {"user": "users", "query": "queries"}
_DISTRUST = " Users or rankers changed, so do not trust that the means stay as they are."


class PairDecision(NamedTuple):
    """The decision on a pair of rankers."""

    first: str
    second: str
    verdict: str  # "stop", "no difference" or "go on"
    winner: str | None  # winner if the verdict is "stop", else None
    observations: int  # impressions, or users' first impressions in the log of a policy
    mean: float  # mean outcome of the first ranker against the second
    low: float  # ends of the interval of the mean; the intervals of all pairs hold together (Bonferroni)
    high: float
    p: float  # p-value of "the mean is 0", corrected for all pairs; valid at every look unless `e_value` is NaN
    e_value: float  # e-value against "the mean is 0"; NaN for a decision at a single look
    more: float  # about how many further impressions a decision needs, if the mean stays as it is; inf: never
    more_to_win: float  # about how many further impressions a win of the leading ranker needs
    effective: float  # effective number of independent observations


class Guardrail(NamedTuple):
    """A test that the leading ranker does not harm another outcome by more than a margin.

    The leading ranker has the higher mean of the primary outcome. It wins only if all of its guardrails hold.
    """

    outcome: str
    ahead: str  # the ranker that leads by the primary outcome
    behind: str
    mean: float  # mean of this outcome; positive if it favours the leading ranker
    low: float  # one-sided lower limit
    margin: float
    confidence: float  # confidence of the limit

    @property
    def holds(self) -> bool:
        """Whether the data show that the leading ranker's loss in this outcome is smaller than the margin."""
        return self.low > -self.margin

    def __str__(self) -> str:
        verdict = " holds:" if self.holds else ": the log does not show that it holds;"
        return (
            f"guardrail {self.outcome}{verdict} the mean of {self.ahead} against {self.behind} is {self.mean:+z.4f},"
            f" and at least {self.low:+z.4f} with {100 * self.confidence:.4g}% confidence (margin {self.margin:g})"
        )


class Decision(NamedTuple):
    """The decision on an experiment. The command ``logs compare`` prints it."""

    verdict: str  # "stop", "no difference", "go on", or "no decision" if a check or guardrail fails
    winner: str | None  # the ranker that wins against all others by the primary outcome alone
    sentence: str  # the verdict with its reason
    notes: tuple[str, ...]  # what else you should know, for example about guardrails
    pairs: tuple[PairDecision, ...]  # in the order of the comparison
    labels: tuple[str, ...]  # for each pair, its verdict in the table
    confidence: float  # confidence of the decision
    every_look: bool  # whether the decision is valid at every look; if not, it is valid at one planned look
    margin: float
    findings: tuple[Finding, ...] | None  # None if nothing was checked
    guardrails: tuple[Guardrail, ...]

    def __repr__(self) -> str:
        return f"Decision(verdict={self.verdict!r}, winner={self.winner!r}, sentence={self.sentence!r}, ...)"


def decide(
    comparison: Comparison, stop_at: float | None = None, *, margin: float = 0.0, checks: bool = True
) -> Decision:
    """Decide which ranker wins by the primary outcome of a comparison.

    A guardrail is another outcome that must not get worse. The verdict is "no decision" if a check of the log fails, or
    if the winner may make a guardrail worse.

    Parameters
    ----------
    comparison : Comparison
        Result of `compare_log`.
    stop_at : float, optional
        Set this confidence (above 0 and below 1) if you look at a growing log more than once. The decision is then
        valid at every look. By default, it is valid for one planned look, with the confidence of the comparison.
    margin : float
        The largest mean outcome that you regard as no difference. If the interval of a pair's mean lies between -margin
        and margin, the verdict on the pair is "no difference". The margin is used only with ``stop_at``.
    checks : bool
        Whether to check the log with `check_log`.

    Returns
    -------
    Decision

    Raises
    ------
    InputError
        If ``stop_at`` or ``margin`` is out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> from ltr_duel.logs import compare_log
    >>> row = {"time": 0, "query": "q", "shown": ["x", "y"], "clicks": [2], "rankers": ["old", "new"], "owners": [0, 1]}
    >>> log = pd.DataFrame([row | {"impression": k, "user": k} for k in range(1000)])
    >>> decision = decide(compare_log(log), 0.95, checks=False)
    >>> decision.verdict, decision.winner
    ('stop', 'new')
    """
    every_look, names, tests = stop_at is not None, comparison.names, comparison.tests
    confidence = comparison.confidence if stop_at is None else stop_at
    errors.require_between("the confidence", confidence, 1e-9, 1 - 1e-9)
    now = comparison.intervals(confidence, tests, every_look=every_look)
    given = {"confidence": confidence, "margin": margin if every_look else 0.0}
    pairs = pair_decisions(now, comparison.named_pairs, tests, comparison.impressions * every_look, **given)
    further, ahead = _projection(names, pairs)
    winner, verdicts = None if further else ahead, {pair.verdict for pair in pairs}
    verdict = "stop" if winner else "go on" if "go on" in verdicts else max(verdicts)
    changed = any(warning.endswith(CHANGED) for warning in comparison.warnings)
    sentence = _one_look(comparison, pairs, winner)
    if every_look:
        who = "" if comparison.adaptive else _CLUSTERS.get(comparison.cluster, "")
        sentence = running_sentence(names, pairs, margin, comparison.impressions, "impressions", who, changed=changed)
    sentence += _DISTRUST * changed
    findings = tuple(comparison.findings) if checks else None
    failed = [finding.name for finding in findings or () if finding.verdict == "fails"]
    guardrails = _guardrails(comparison, confidence, every_look=every_look)
    protecting = [guardrail for guardrail in guardrails if guardrail.ahead == winner]
    broken = [guardrail for guardrail in protecting if not guardrail.holds]
    notes = list(filter(None, [comparison.provenance.get("caution")]))
    if protecting and not broken:
        held = "The guardrail holds" if len(protecting) == 1 else f"All {len(protecting)} guardrails hold"
        notes.append(f"{held} for ranker '{winner}'.")
    harmed = {frozenset(guardrail[1:3]) for guardrail in guardrails if not guardrail.holds}
    labels = [_label(pair, harmed=frozenset(pair[:2]) in harmed) for pair in pairs]
    if failed or broken:
        notes.append(f"By the primary outcome alone, the result would be: {sentence}")
        verdict, sentence, labels = "no decision", _no_decision(failed, broken, winner), ["no decision"] * len(pairs)
    return Decision(
        verdict, winner, sentence, tuple(notes), tuple(pairs), tuple(labels), confidence, every_look, margin, findings,
        tuple(guardrails),
    )  # fmt: skip


def pair_decisions(
    now: Intervals, named_pairs: Sequence[tuple[str, str]], tests: int, impressions: int, *, confidence: float,
    margin: float = 0.0,
) -> list[PairDecision]:  # fmt: skip
    """Decide for each pair of rankers whether one of them wins.

    tests: number of pairs among which the error probability is divided.
    impressions: number of impressions of all pairs so far; 0 if only one look is planned.
    confidence: confidence of the intervals.
    """
    errors.require_between("the margin", margin, 0, 1)
    won, lost, alpha = now.low > 0, now.high < 0, (1 - confidence) / tests
    same = ~(won | lost) & (-margin < now.low) & (now.high < margin)
    to_win = np.maximum((now.growth(alpha) - 1) * impressions, 1.0) if impressions else np.full(len(won), np.inf)
    more = to_win = np.where(won | lost, 0.0, to_win)
    if margin > 0:
        to_tie = np.maximum((now.growth(alpha, margin) - 1) * max(impressions, 1), 1.0)
        more = np.where(same, 0.0, np.minimum(to_win, to_tie))
    e_value = np.exp(np.minimum(now.log_e, 700.0))
    columns = now.n.astype(np.int64), now.mean, now.low, now.high, now.p, e_value, more, to_win, now.effective
    decisions = []
    for k, pair in enumerate(named_pairs):
        winner = pair[int(lost[k])] if won[k] or lost[k] else None
        verdict = "stop" if winner else "no difference" if same[k] else "go on"
        decisions.append(PairDecision(*pair, verdict, winner, *(column[k].item() for column in columns)))
    return decisions


def _guardrails(comparison: Comparison, confidence: float, *, every_look: bool) -> list[Guardrail]:
    # A winner must pass all tests, so each test may use the whole error probability (intersection-union test; Berger,
    # Technometrics 1982).
    guardrails = []
    for name, other in comparison.guarded.items():
        limits = other.intervals(confidence, 0.5, every_look=every_look).facing(comparison.signs)  # one-sided
        for k, pair in enumerate(comparison.named_pairs):
            mean, low = float(limits.mean[k]), float(min(limits.low[k], limits.mean[k]))
            ahead, behind = pair[:: comparison.signs[k]]
            guardrails.append(Guardrail(name, ahead, behind, mean, low, comparison.margins[name], confidence))
    return guardrails


def _label(pair: PairDecision, *, harmed: bool) -> str:
    if pair.winner:
        return "no decision" if harmed else f"{pair.winner} wins"
    return "open" if pair.verdict == "go on" else "no difference"


def _projection(names: Sequence[str], pairs: Sequence[PairDecision]) -> tuple[float, str | None]:
    # returns how many further impressions the experiment needs, and its winner, if the means stay as they are; the
    # experiment ends when a ranker wins against all others, or when all pairs are decided
    all_shown = len(pairs) == len(names) * (len(names) - 1) // 2
    shown = max((pair.more for pair in pairs), default=np.inf) if all_shown else np.inf
    ways: list[tuple[float, str | None]] = [(shown, None)]
    if name := leader(names, pairs):
        ways.append((max((pair.more_to_win for pair in pairs if name in pair[:2]), default=np.inf), name))
    return min(ways, key=lambda way: (way[0], not way[1]))


def leader(names: Sequence[str], pairs: Sequence[PairDecision]) -> str | None:
    """Return the ranker whose mean outcome is ahead of each other ranker so far, or None."""
    for name in names:
        own = [pair for pair in pairs if name in pair[:2]]
        leads = all((pair.first if pair.mean > 0 else pair.second) == name and pair.mean != 0 for pair in own)
        if len(own) == len(names) - 1 and leads:
            return name
    return None


def _too_few(winner: str | None, pairs: Sequence[PairDecision]) -> bool:
    needed = [pair for pair in pairs if pair.verdict == "go on" and (not winner or winner in pair[:2])]
    return any(pair.effective < FEWEST for pair in needed)


def impressions_to_go(names: Sequence[str], pairs: Sequence[PairDecision]) -> float:
    """Estimate how many more impressions the experiment needs, or infinity if the log is too short to say."""
    further, winner = _projection(names, pairs)
    return np.inf if further and _too_few(winner, pairs) else further


def running_sentence(
    names: Sequence[str], pairs: Sequence[PairDecision], margin: float, impressions: int,
    unit: str = "pages of several rankers", who: str = "", *, changed: bool = False,
) -> str:  # fmt: skip
    """Return a sentence that says whether the experiment can stop, and why.

    unit: name of an observation, in the plural.
    who: name of the clusters, "users" or "queries"; "" if there are none.
    changed: whether users or rankers have changed.
    """
    further, winner = _projection(names, pairs)
    if further == 0:
        if winner:
            later = "." if changed else "; a later change of users or rankers is not ruled out."
            return f"stop: ranker {winner} wins{_against_all(names)}. So far its mean outcome is ahead{later}"
        if all(pair.verdict == "no difference" for pair in pairs):
            return f"no difference: the mean outcome of every pair is within {margin:g} of a tie."
        return "stop: every pair is decided, and no ranker wins against all others."
    never = _never_shown(names, [pair[:2] for pair in pairs if pair.observations])
    if np.isinf(further) and never:
        return f"go on: {never}"
    if _too_few(winner, pairs):
        share = ", or a few of them have too large a share of the log," * bool(who)
        return (
            f"go on: too few {who or unit} so far{share} to project how many more{f' {unit}' * bool(who)} are needed."
        )
    still_open = sum(pair.verdict == "go on" for pair in pairs)
    which = f" (still open: {still_open} of {len(pairs)} pairs)" * (len(pairs) > 1)
    if further > _FAR * impressions:
        return f"go on: the decision needs more than {_FAR:,} times the present number of {unit}{which}."
    until = f" until ranker {winner} wins against all others" * bool(winner and len(pairs) > 1)
    more = ", of more queries" * (who == "queries")  # further impressions of the same queries say little
    return f"go on: about {further:,.0f} further {unit}{more}{until}, if the means stay as they are{which}."


def _one_look(comparison: Comparison, pairs: Sequence[PairDecision], winner: str | None) -> str:
    p = max(pair.p for pair in pairs)
    reason = "" if len(pairs) > 1 else f" (p {'< 1e-12' if p < 1e-12 else f'= {p:.3g}'})"
    answer = f"ranker {winner} wins" if winner else "no ranker is shown to win"
    once = "This is valid for one planned look; use --stop-at to look repeatedly."
    never = "" if winner else _never_shown(comparison.names, comparison.named_pairs)
    return f"{answer}{_against_all(comparison.names)}{reason}. {once} {never}".strip()


def _no_decision(failed: Sequence[str], broken: Sequence[Guardrail], winner: str | None) -> str:
    against = [f"checks of the experiment fail ({', '.join(failed)})"] * bool(failed)
    if broken:
        names = ", ".join(f"{guardrail.outcome} against {guardrail.behind}" for guardrail in broken)
        against.append(f"{winner} is ahead, but the log does not show that its guardrails hold ({names})")
    return f"no decision: {'; '.join(against)}."


def _never_shown(names: Sequence[str], shown: Collection[tuple[str, ...]]) -> str:
    pairs = {frozenset(pair) for pair in shown}
    missing = [f"{a} and {b}" for a, b in combinations(names, 2) if frozenset((a, b)) not in pairs]
    if len(missing) < 2:
        return "".join(f"{pair} have no impression that counts, so they cannot be compared." for pair in missing)
    some = ", ".join([*missing[:3], *(["..."] if len(missing) > 3 else [])])
    return f"{len(missing):,} pairs have no impression that counts ({some}), so they cannot be compared."


def _against_all(names: Sequence[str]) -> str:
    return f" against each of the {len(names) - 1} others" * (len(names) > 2)
