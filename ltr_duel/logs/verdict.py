"""The evidence from a log, and the decision that follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ltr_duel.core import several
from ltr_duel.logs.comparison import LogComparison
from ltr_duel.logs.findings import Finding
from ltr_duel.logs.limits import Guardrail
from ltr_duel.logs.slices import Beside
from ltr_duel.logs.stopping import StoppingDecision, impressions_to_go
from ltr_duel.logs.stopping_sentences import change_seen, days_to_wait, never_shown, stopping_sentence


class Evidence(NamedTuple):
    """The evidence for a decision."""

    found: LogComparison  # comparison by the primary outcome
    confidence: float
    decisions: list[StoppingDecision] | None = None  # valid at every look; None for a single planned look
    margin: float = 0.0
    any_time: bool = False  # whether decisions may be made before the week is complete
    findings: Sequence[Finding] | None = None  # None if nothing was checked
    guards: Sequence[Guardrail] = ()
    beside: Sequence[Beside] = ()


class Decision(NamedTuple):
    """The decision, as printed in the table, in the last line and on the report page."""

    winner: str  # winner against all others by the primary outcome; "" if none
    pairs: list[str]  # a short verdict per pair, in the order of the comparison's pairs
    lines: list[str]  # sentences; the last one is the decision


def decision_of(evidence: Evidence) -> Decision:
    """Decide from the checks, the primary outcome, the guardrails, and whether the week is complete.

    No pair is decided if a check fails or a guardrail of the winner is broken. Otherwise, sequential decisions are
    reported as "wait" until the week is complete, unless ``any_time`` is set.
    """
    winner, found, sentence = _by_outcome(evidence)
    guards = [one for one in evidence.guards if one.ahead == winner]
    broken = [f"{one.outcome} against {one.behind}" for one in guards if not one.holds]
    failed = failed_checks(evidence.findings or ())
    against = [failed] if failed else []
    if broken:
        hold = "holds" if len(broken) == 1 else "hold"
        said = f"the log does not show that {several(len(broken), 'guardrail')} {hold} ({', '.join(broken)})"
        against.append(f"{winner} is ahead, but {said}")
    lines = [one for one in (evidence.found.provenance.get("caution"),) if one]
    if guards and not broken:
        all_of_them = {1: "the guardrail holds", 2: "both guardrails hold"}.get(
            len(guards), f"all {len(guards)} guardrails hold"
        )
        lines.append(f"{all_of_them} for ranker '{winner}'.")
    if against:
        lines += [f"By the primary outcome alone, the result would be: {sentence}"]
        return Decision(winner, ["no decision"] * len(found), [*lines, f"no decision: {'; '.join(against)}."])
    waits = evidence.decisions is not None and days_to_wait(evidence.found, any_time=evidence.any_time) > 0
    harmed = {frozenset((one.ahead, one.behind)) for one in evidence.guards if not one.holds}
    pairs = [
        _words(*one, waits=waits, harmed=frozenset(pair) in harmed)
        for one, pair in zip(found, evidence.found.named_pairs, strict=True)
    ]
    return Decision(winner, pairs, [*lines, sentence])


def _words(ahead: str, decided: bool, *, waits: bool, harmed: bool) -> str:
    """Return the verdict on a pair. A decided pair in which no ranker is ahead is reported as "no difference"."""
    if not decided:
        return "open"
    if ahead and harmed:
        return "no decision"
    if waits:
        return f"wait: {ahead} ahead" if ahead else "wait: no difference"
    return f"{ahead} wins" if ahead else "no difference"


def failed_checks(findings: Sequence[Finding]) -> str:
    """Return a phrase that names the failed checks, which block the decision; "" if none failed."""
    failed = [one.name for one in findings if one.verdict == "fails"]
    fail = "fails" if len(failed) == 1 else "fail"
    return f"{several(len(failed), 'check')} of the experiment {fail} ({', '.join(failed)})" if failed else ""


def _by_outcome(evidence: Evidence) -> tuple[str, list[tuple[str, bool]], str]:
    """Return the winner by the primary outcome (or ""), the result of each pair, and the sentence of the decision."""
    found = evidence.found
    if evidence.decisions is not None:
        further, winner = impressions_to_go(found.names, evidence.decisions)
        winner = winner if further == 0 else ""
        sentence = stopping_sentence(found, evidence.decisions, evidence.margin, any_time=evidence.any_time)
        return winner, [(one.winner, one.verdict != "go on") for one in evidence.decisions], sentence
    better, winner = found.better, found.winner
    p = f"p {'< 1e-12' if found.p_corrected.max() < 1e-12 else f'= {found.p_corrected.max():.3g}'}"
    decided = p if len(found.pairs) == 1 else f"pairs decided: {len(better) - better.count('')} of {len(found.pairs)}"
    others = f"against each of the {len(found.names) - 1} others " if len(found.names) > 2 else ""
    said = f"{winner} wins {others}" if winner else f"no ranker is shown to win {others}"
    planned = "Valid for one planned look; use --stop-at to look repeatedly"
    unseen = "" if winner else never_shown(found.names, found.named_pairs)
    changed = change_seen(found, winner) if winner else ""
    changed = f"The mean outcome of the winner is ahead over the whole log; {changed}" * bool(changed)
    sentence = " ".join(filter(None, [f"At this look {said}({decided}). {planned}.", unseen, changed]))
    return winner, [(name, bool(name)) for name in better], sentence
