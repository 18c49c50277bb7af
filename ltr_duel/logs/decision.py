"""The decision on a whole experiment, and its sentence."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ltr_duel.core import InputError, several
from ltr_duel.logs.looks import CHANGED, days_to_a_whole_week
from ltr_duel.logs.pair_decision import Guardrail, PairDecision, at_one_look, guardrail_tests, pair_decisions

if TYPE_CHECKING:
    from ltr_duel.logs.comparison import Comparison
    from ltr_duel.logs.findings import Finding

FEWEST = 20.0  # minimum effective number of observations for a projection
_FAR = 1000  # a decision that needs more than this multiple of the impressions is not projected


class Decision(NamedTuple):
    """The decision on an experiment, as printed by ``logs compare``."""

    verdict: str  # "stop", "no difference", "go on", "wait", or "no decision" if a check or guardrail fails
    winner: str  # the ranker that wins against all others by the primary outcome alone; "" if none
    sentence: str  # the verdict with its reason
    notes: tuple[str, ...]  # what limits the sentence: guardrails, changes of users or rankers
    pairs: tuple[PairDecision, ...]  # as in the comparison; the command exchanges rankers so that the leader is first
    labels: tuple[str, ...]  # for each pair, its verdict in the table
    confidence: float  # confidence of the decision
    every_look: bool  # whether the decision is valid at every look (else at one planned look)
    margin: float
    findings: tuple[Finding, ...] | None  # None if nothing was checked
    guardrails: tuple[Guardrail, ...]

    def __repr__(self) -> str:
        """Return the verdict, the winner and the sentence."""
        return f"Decision(verdict={self.verdict!r}, winner={self.winner!r}, sentence={self.sentence!r}, ...)"


def decide(
    comparison: Comparison, stop_at: float | None = None, *, margin: float = 0.0, checks: bool = True
) -> Decision:
    """Decide from the checks of the log, the primary outcome, the guardrails, and whether the week is complete.

    Parameters
    ----------
    comparison : Comparison
        Nothing is decided for a winner that breaks one of its guardrails.
    stop_at : float, optional
        Confidence that holds for all looks at the growing log together; above 0 and below 1. By default the decision
        is for one planned look, at the confidence of the comparison.
    margin : float
        With ``stop_at``: the largest absolute mean outcome that does not matter. A pair is decided as "no difference"
        once its absolute mean is shown to be smaller.
    checks : bool
        Whether the log is checked as by `check_log`. Nothing is decided if a check fails.

    Returns
    -------
    Decision

    Raises
    ------
    InputError
        For numbers out of range, or for looks at a comparison in which each user counts once.

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
    confidence, every_look = comparison.confidence if stop_at is None else stop_at, stop_at is not None
    if every_look and comparison.unit == "user":
        raise InputError("a comparison in which each user counts once is valid for one look only")
    about = comparison.named_pairs, comparison.tests, comparison.impressions
    pairs = (
        pair_decisions(comparison.sequential_test, *about, confidence=confidence, margin=margin)
        if every_look
        else at_one_look(comparison)
    )
    further, ahead = _projection(comparison.names, pairs)
    winner = ahead if further == 0 else ""
    verdict = _verdict(pairs, winner)
    sentence = _every_look(comparison, pairs, margin) if every_look else _one_look(comparison, pairs, winner)
    days = days_to_a_whole_week((comparison.provenance["last"] - comparison.provenance["first"]) / 86_400)
    waits = every_look and days > 0
    if waits and verdict != "go on":
        wait = f"wait {days:.0f} day{'s' if days >= 1.5 else ''} until the week is complete"
        verdict, sentence = "wait", f"{wait}; so far: {sentence.removeprefix('stop: ')}"
    guardrails = guardrail_tests(comparison, confidence, every_look=every_look)
    findings = tuple(comparison.findings) if checks else None
    failed = [finding.name for finding in findings or () if finding.verdict == "fails"]
    protecting = [guardrail for guardrail in guardrails if guardrail.ahead == winner]
    broken = [guardrail for guardrail in protecting if not guardrail.holds]
    notes = [*drift_notes(comparison), *filter(None, (comparison.provenance.get("caution"),))]
    if protecting and not broken:
        words = {1: "The guardrail holds", 2: "Both guardrails hold"}
        notes.append(f"{words.get(len(protecting), f'All {len(protecting)} guardrails hold')} for ranker '{winner}'.")
    if failed or broken:
        notes.append(f"By the primary outcome alone, the result would be: {sentence}")
        verdict, sentence = "no decision", _no_decision(failed, broken, winner)
    harmed = {frozenset((guardrail.ahead, guardrail.behind)) for guardrail in guardrails if not guardrail.holds}
    labels = tuple(
        "no decision" if verdict == "no decision" else _label(pair, waits, frozenset(pair[:2]) in harmed)
        for pair in pairs
    )
    return Decision(
        verdict, winner, sentence, tuple(notes), tuple(pairs), labels, confidence, every_look, margin, findings,
        tuple(guardrails),
    )  # fmt: skip


def _verdict(pairs: Sequence[PairDecision], winner: str) -> str:
    """Return the verdict on all pairs together: "stop", "no difference" or "go on"."""
    verdicts = {pair.verdict for pair in pairs}
    if winner or verdicts == {"stop"}:
        return "stop"
    if verdicts == {"no difference"}:
        return "no difference"
    return "go on" if "go on" in verdicts else "stop"


def _label(pair: PairDecision, waits: bool, harmed: bool) -> str:
    """Return the verdict of a pair in the table."""
    if pair.verdict == "go on":
        return "open"
    if pair.winner and harmed:
        return "no decision"
    if waits:
        return f"wait: {pair.winner} ahead" if pair.winner else "wait: no difference"
    return f"{pair.winner} wins" if pair.winner else "no difference"


def _projection(names: Sequence[str], pairs: Sequence[PairDecision]) -> tuple[float, str]:
    """Return the number of further impressions until the experiment may stop, and its winner, if means persist.

    The experiment may stop once a ranker wins against all others, or every pair is decided; pairs that were never shown
    are never decided.
    """
    shown_all = len(pairs) == len(names) * (len(names) - 1) // 2
    ways = [(max((pair.more for pair in pairs), default=np.inf) if shown_all else np.inf, "")]
    for name in names:
        own = [pair for pair in pairs if name in pair[:2]]
        leads = all((pair.first if pair.mean > 0 else pair.second) == name and pair.mean != 0 for pair in own)
        if len(own) == len(names) - 1 and leads:
            ways.append((max((pair.more_to_win for pair in own), default=np.inf), name))
    return min(ways, key=lambda way: (way[0], not way[1]))


def _too_few(winner: str, pairs: Sequence[PairDecision]) -> bool:
    """Return whether an open pair on which the decision depends has too few observations for a projection."""
    needed = [pair for pair in pairs if pair.verdict == "go on" and (not winner or winner in pair[:2])]
    return any(pair.effective < FEWEST for pair in needed)


def impressions_to_go(names: Sequence[str], pairs: Sequence[PairDecision]) -> float:
    """Return the further impressions until the experiment may stop, or infinity if there are too few to project."""
    further, winner = _projection(names, pairs)
    return np.inf if further and _too_few(winner, pairs) else further


def running_sentence(names: Sequence[str], pairs: Sequence[PairDecision], margin: float, impressions: int) -> str:
    """Return whether to stop a live experiment, whose closed pages of several rankers are ``impressions``."""
    return _running(names, pairs, margin, impressions, "pages of several rankers")


def _one_look(comparison: Comparison, pairs: Sequence[PairDecision], winner: str) -> str:
    """Return the sentence of a decision at a single look."""
    p = max(pair.p for pair in pairs)
    reason = f"p {'< 1e-12' if p < 1e-12 else f'= {p:.3g}'}"
    if len(pairs) > 1:
        reason = f"{sum(bool(pair.winner) for pair in pairs)} of {len(pairs)} pairs are decided"
    answer = f"{winner} wins" if winner else "no ranker is shown to win"
    drift = _drift_of(comparison, winner)
    sentences = [
        f"{answer}{_against_all(comparison.names)} ({reason}).",
        f"Its mean outcome is ahead over the whole log; {drift}" * bool(drift),
        "This is valid for one planned look; use --stop-at to look repeatedly.",
        "" if winner else _never_shown(comparison.names, comparison.named_pairs),
    ]
    return " ".join(filter(None, sentences))


def _every_look(comparison: Comparison, pairs: Sequence[PairDecision], margin: float) -> str:
    """Return the sentence of a decision that is valid at every look."""
    drift = _drift_of(comparison, _projection(comparison.names, pairs)[1])
    about = comparison.names, pairs, margin, comparison.impressions
    if comparison.adaptive:  # a policy changes the shares
        stay = "the means and the pairs' shares of the log stay as they are"
        return _running(*about, "impressions in the log, over all pairs", stay=stay, drift=drift)
    who = {"user": "users", "query": "queries", "both": "users and queries"}.get(comparison.cluster, "")
    return _running(*about, "impressions", who, drift=drift)


def _running(
    names: Sequence[str],
    pairs: Sequence[PairDecision],
    margin: float,
    impressions: int,
    unit: str,
    who: str = "",
    *,
    stay: str = "the means stay as they are",
    drift: str = "",
) -> str:
    """Return whether to stop; ``unit`` is counted, ``who`` are the clusters, ``drift`` says that a mean has changed."""
    further, winner = _projection(names, pairs)
    if winner and further == 0:
        later = drift or "a later change of users or rankers is not ruled out."
        return f"stop: {winner} wins{_against_all(names)}. So far its mean outcome is ahead; {later}"
    if further == 0:
        if all(pair.verdict == "no difference" for pair in pairs):
            return f"no difference: the mean outcome of every pair is within {margin:g} of a tie."
        return "stop: every pair is decided, and no ranker wins against all others."
    never = _never_shown(names, [pair[:2] for pair in pairs if pair.observations])
    if np.isinf(further) and never:
        return f"go on: {never}"
    if _too_few(winner, pairs):
        share = ", or a few of them have too large a share of the log," * bool(who)
        return f"go on: too few {who or unit} so far{share} to project how many more {unit} are needed."
    still_open = sum(pair.verdict == "go on" for pair in pairs)
    which = f" (still open: {still_open} of {len(pairs)} pairs)" if len(pairs) > 1 else ""
    if further > _FAR * impressions:
        return f"go on: the decision needs more than {_FAR:,} times the present number of {unit}{which}."
    until = f" until {winner} wins against all others" if winner and len(pairs) > 1 else ""
    more = f", of more {who}" if who.endswith("queries") else ""  # further impressions of the same queries say little
    return f"go on: about {further:,.0f} further {unit}{more}{until}, if {stay}{which}."


def _no_decision(failed: Sequence[str], broken: Sequence[Guardrail], winner: str) -> str:
    """Return the sentence of a log that is not sound, or of a winner that breaks a guardrail."""
    against = []
    if failed:
        fail = "fails" if len(failed) == 1 else "fail"
        against.append(f"{several(len(failed), 'check')} of the experiment {fail} ({', '.join(failed)})")
    if broken:
        hold = "holds" if len(broken) == 1 else "hold"
        names = ", ".join(f"{guardrail.outcome} against {guardrail.behind}" for guardrail in broken)
        unproved = f"the log does not show that {several(len(broken), 'guardrail')} {hold} ({names})"
        against.append(f"{winner} is ahead, but {unproved}")
    return f"no decision: {'; '.join(against)}."


def drift_notes(comparison: Comparison) -> list[str]:
    """Return the warnings of a drift: the mean of the first half of the log differs from that of the second half."""
    return [warning for warning in comparison.warnings if warning.endswith(CHANGED)]


def _drift_of(comparison: Comparison, winner: str) -> str:
    """Return a clause on a drift of the winner's mean; "" if there is none."""
    drifted = {name for note in drift_notes(comparison) for name in note.partition(": ")[0].split(" against ")}
    return "the mean changed while the log grew (see the note), and may change again." * (winner in drifted)


def _never_shown(names: Sequence[str], shown: Collection[tuple[str, ...]]) -> str:
    """Return a sentence on the pairs that no impression compared; "" if there are none."""
    pairs = {frozenset(pair) for pair in shown}
    missing = [f"{a} and {b}" for a, b in combinations(names, 2) if frozenset((a, b)) not in pairs]
    if len(missing) < 2:
        return "".join(f"{pair} have no impression that counts, so they cannot be compared." for pair in missing)
    some = ", ".join([*missing[:3], *(["..."] if len(missing) > 3 else [])])
    return f"{len(missing):,} pairs have no impression that counts ({some}), so they cannot be compared."


def _against_all(names: Sequence[str]) -> str:
    return f" against each of the {len(names) - 1} others" if len(names) > 2 else ""
