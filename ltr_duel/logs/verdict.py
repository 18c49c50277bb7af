"""What follows from a log: all that a decision rests on, the decision, and what it claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ltr_duel.logs.compare import LogComparison
from ltr_duel.logs.findings import Finding
from ltr_duel.logs.guardrail import Guardrail
from ltr_duel.logs.slices import Beside
from ltr_duel.logs.stopping import StoppingDecision, impressions_to_go, never_shown, stopping_sentence


class Evidence(NamedTuple):
    """All that a decision rests on.

    Examples
    --------
    >>> Evidence._field_defaults["decisions"] is None
    True
    """

    found: LogComparison  # by the primary outcome
    confidence: float
    decisions: list[StoppingDecision] | None = None  # at any time; None for one look
    margin: float = 0.0
    any_time: bool = False  # whether to decide within a week
    findings: Sequence[Finding] | None = None  # None where nothing was checked
    guards: Sequence[Guardrail] = ()
    beside: Sequence[Beside] = ()


def decision_lines(evidence: Evidence) -> list[str]:
    """Return the decision as the last of some sentences: by the checks, the primary outcome and the guardrails.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    list of str

    Examples
    --------
    See `compare_log`, which makes what it takes.

    >>> callable(decision_lines)
    True
    """
    winner, sentence = _by_outcome(evidence)
    guards = [one for one in evidence.guards if one.ahead == winner]
    broken = [f"{one.outcome} against {one.behind}" for one in guards if not one.holds]
    failed = failed_checks(evidence.findings or ())
    against = [failed] if failed else []
    if broken:
        are = "is" if len(broken) == 1 else "are"
        names = ", ".join(broken)
        against.append(f"{winner} is ahead, but {_several(len(broken), 'guardrail')} {are} not shown to hold ({names})")
    lines = []
    if guards and not broken:
        lines.append(f"{_several(len(guards), 'guardrail')} of {winner} hold{'s' if len(guards) == 1 else ''}.")
    if not against:
        return [*lines, sentence]
    return [
        *lines,
        f"By the primary outcome alone, the result would be: {sentence}",
        f"no decision: {'; '.join(against)}.",
    ]


def failed_checks(findings: Sequence[Finding]) -> str:
    """Name the checks that fail, before which there is no decision; empty if none does."""
    failed = [one.name for one in findings if one.verdict == "fails"]
    fail = "fails" if len(failed) == 1 else "fail"
    return f"{_several(len(failed), 'check')} of the experiment {fail} ({', '.join(failed)})" if failed else ""


def _several(n: int, what: str) -> str:
    return f"{n} {what}{'s' if n > 1 else ''}"


def _by_outcome(evidence: Evidence) -> tuple[str, str]:
    """Return the winner by the primary outcome, or nothing, and the decision by it."""
    found = evidence.found
    if evidence.decisions is not None:
        further, winner = impressions_to_go(found.names, evidence.decisions)
        sentence = stopping_sentence(found, evidence.decisions, evidence.margin, any_time=evidence.any_time)
        return winner if further == 0 else "", sentence
    sure = found.p_corrected < 1 - evidence.confidence
    side = np.where(found.means.mean >= 0, 0, 1)
    better = [found.names[pair[k]] for pair, k, one in zip(found.pairs, side, sure, strict=True) if one]
    winner = next((name for name in found.names if better.count(name) == len(found.names) - 1), "")
    p = f"p {'< 1e-12' if found.p_corrected.max() < 1e-12 else f'= {found.p_corrected.max():.2g}'}"
    decided = p if len(found.pairs) == 1 else f"{sure.sum()} of {len(found.pairs)} pairs are decided"
    others = f"against each of the {len(found.names) - 1} others " if len(found.names) > 2 else ""
    said = f"{winner} wins {others}" if winner else f"no ranker is shown to win {others}"
    planned = "if this look was planned; to look more than once, give --stop-at"
    unseen = "" if winner else never_shown(found.names, [(found.names[i], found.names[j]) for i, j in found.pairs])
    return winner, f"at this look {said}({decided}), {planned}.{' ' * bool(unseen)}{unseen}"


def method_lines(evidence: Evidence) -> list[str]:
    """Return what the numbers estimate, which of them share an error, and what they assume.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    list of str

    Examples
    --------
    See `compare_log`, which makes what it takes.

    >>> callable(method_lines)
    True
    """
    about = evidence.found.provenance
    lines = [
        f"Outcome: {about['events']}, credited by {about['method']} ({about['outcome']}). The mean outcome is from"
        " -1 to 1: the share of impressions won less the share lost; of rules with credit in between, the mean credit.",
        _estimand(evidence),
        _family(evidence),
    ]
    if evidence.guards:
        lines.append(
            f"Guardrails: one-sided tests that the ranker ahead is not worse by more than the margin. Each has an error"
            f" of {1 - evidence.confidence:.2g}; a decision needs all of them, so they need no correction."
        )
    if evidence.beside:
        lines.append(
            "Secondary outcomes and parts of the log explain and do not decide. The intervals of each such table hold"
            f" together with {evidence.confidence:.0%} (Bonferroni), and p is corrected for its rows (Holm). Days and"
            " weeks are those of UTC, and as a day that is over does not change, their intervals are for one"
            " look. A user is new for 24 hours from the first impression in the log."
        )
    if evidence.findings is not None:
        lines.append("Checks: each test fails for one sound log of a hundred.")
    if evidence.found.adjusted:
        lines.append(
            "Adjusted: what the coin of place 1 decided, alone and with what was known of users before, is taken out of"
            " the primary outcome. The coin is fair, so the mean is the same, with less error. Parts are not adjusted."
        )
    return [*lines, _assumptions(evidence.found)]


def _estimand(evidence: Evidence) -> str:
    found = evidence.found
    if found.adaptive:
        names = " and ".join(found.provenance["policies"])
        once = (
            "users' first impressions of a pair" if found.cluster in ("user", "both") else "the impressions of a pair"
        )
        return (
            f"Estimated is the mean outcome over {once}, in the order in which {names} showed them: {names} chose the"
            " rankers by earlier outcomes, so that plain means are biased. The intervals are those of a confidence"
            f" sequence, valid whatever chose the pairs as long as the next user is new.{_weighted(evidence)}"
        )
    so_far = "so far" if evidence.decisions is not None else "of users like these"
    if any(not np.isnan(one.per_user) for one in evidence.decisions or ()):
        return (
            "Estimated is the mean outcome over the impressions so far, by which the decision is made, and beside it"
            " the mean over users, by their first impressions."
        )
    return f"Estimated is the mean outcome over the impressions {so_far}."


def _weighted(evidence: Evidence) -> str:
    if evidence.decisions is None and any("weigh" in one for one in evidence.found.warnings):
        return " Pairs whose propensities are known have means weighted by them instead."
    return ""


def _family(evidence: Evidence) -> str:
    error, pairs = f"{1 - evidence.confidence:.2g}", evidence.found.tests
    if evidence.decisions is None:
        pairs = len(evidence.found.pairs)  # those that were shown
        corrected = f" p is corrected for the {pairs} pairs (Holm); each interval is for its pair alone." * (pairs > 1)
        return f"Error: at one planned look, a pair is decided wrongly with a chance of at most {error}.{corrected}"
    shared = f" of the {pairs} pairs" if pairs > 1 else ""
    named = " So is the chance that a wrong winner against all others is ever named." * (pairs > 1)
    return (
        f"Error: the chance that any decision{shared} is ever wrong, at any number of looks, is at most {error}.{named}"
        " Intervals and p-values hold at every look as well, except those of days, weeks, checks and drift, and the"
        ' tests marked "one look".'
    )


def _assumptions(found: LogComparison) -> str:
    who = {"user": "users are", "query": "queries are", "both": "users are, and queries are,"}
    if found.cluster not in who:
        return "Assumed: impressions are independent of each other."
    return f"Assumed: {who[found.cluster]} independent of each other; outcomes of one may go together."
