"""Sentences on stopping decisions: whether to stop, on which mean, and how many more impressions are needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations

import numpy as np

from ltr_duel.core import FloatVector
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.comparison import LogComparison
from ltr_duel.logs.looks import CHANGED, days_to_a_whole_week
from ltr_duel.logs.stopping import RunningComparison, StoppingDecision, outcomes_go_together, projected, too_few


def stopping_sentence(
    found: LogComparison | RunningComparison,
    decisions: list[StoppingDecision],
    margin: float = 0.0,
    *,
    any_time: bool = False,
) -> str:
    """Return a sentence or two: whether to stop, and the mean on which the decision is based."""
    sentence = _sentence(found, decisions, margin)
    missing = days_to_wait(found, any_time=any_time)
    if missing and not sentence.startswith("go on"):
        wait = f"{missing:.0f} day{'s' if missing >= 1.5 else ''}"
        return f"wait {wait} until the week is complete; with --any-time, the present result is: {sentence}"
    return sentence


def days_to_wait(found: LogComparison | RunningComparison, *, any_time: bool) -> float:
    """Return the number of days that a decision must wait until the week is complete; 0 if no wait is required."""
    if any_time or not isinstance(found, LogComparison):
        return 0.0
    return days_to_a_whole_week((found.provenance["last"] - found.provenance["first"]) / 86_400)


def _sentence(found: LogComparison | RunningComparison, decisions: list[StoppingDecision], margin: float) -> str:
    further, winner = projected(found.names, decisions)
    if winner and further == 0:
        beaten = f" against each of the {len(found.names) - 1} others" if len(found.names) > 2 else ""
        return f"stop: {winner} wins{beaten}. {_by_what(found, winner, decisions)}"
    if further == 0:
        if all(one.verdict == "no difference" for one in decisions):
            return f"no difference: the mean outcome of every pair is within {margin:g} of a tie."
        return "stop: every pair is decided, and no ranker wins against all others."
    what, each = to_go_in(found)
    unseen = never_shown(found.names, [(one.first, one.second) for one in decisions if one.observations])
    if np.isinf(further) and unseen:
        return f"go on: {unseen}"
    if too_few(winner, decisions):
        if isinstance(found, LogComparison) and outcomes_go_together(found):
            queries = _queries_limit(found, lambda one: one.freedom)
            who, more = ("queries", "; more different queries are needed") if queries else ("users", "")
            return (
                f"go on: there are too few {who} so far, or a few of them have too large a share of the log,"
                f" to project how many more impressions are needed{more}."
            )
        return f"go on: too few {what} so far to project how many more are needed."
    if np.isinf(further) or further > 1000 * found.impressions:
        return f"go on: the decision needs more than 1,000 times the present number of {what}{_of_pairs(decisions)}."
    until = f" until {winner} wins against all others" if winner and len(decisions) > 1 else ""
    if what == "queries":
        until = f", each with as many impressions as the present queries have,{until}"
    about, stay = f"{further * each:,.0f} further {what}", "the means stay"
    if isinstance(found, LogComparison) and found.adaptive:  # a policy changes the shares
        about, stay = f"{about} in the log, over all pairs,", "the means and the pairs' shares of the log stay"
    about = f"{about}{until}".removesuffix(",")
    return f"go on: about {about}, if {stay} as they are{_of_pairs(decisions)}."


def to_go_in(found: LogComparison | RunningComparison) -> tuple[str, float]:
    """Return the unit of a projection (queries if they limit the precision), and the number of units per impression."""
    if not isinstance(found, LogComparison):
        return "comparisons", 1.0  # not pages, because a live page may have nothing to compare
    if outcomes_go_together(found) and _queries_limit(found, lambda one: -one.error):
        return "queries", found.provenance["queries"] / max(found.impressions, 1)
    return "impressions", 1.0


def _queries_limit(found: LogComparison, known: Callable[[Means], FloatVector]) -> bool:
    """Return whether queries, rather than users, limit the precision for most pairs."""
    if found.cluster != "both":
        return found.cluster == "query"
    users, queries = map(known, found.each)
    return bool((queries <= users).mean() >= 0.5)


def _of_pairs(decisions: Sequence[StoppingDecision]) -> str:
    """Return a clause with the number of open pairs, if there are several pairs."""
    open_ones = sum(one.verdict == "go on" for one in decisions)
    return f" (still open: {open_ones} of {len(decisions)} pairs)" if len(decisions) > 1 else ""


def change_seen(found: LogComparison | RunningComparison, winner: str) -> str:
    """Return a clause on the rivals for which a warning reports a drift of the winner's mean; "" if none."""
    notes = found.warnings if isinstance(found, LogComparison) else []
    drifted = [note.partition(": ")[0] for note in notes if note.endswith(CHANGED)]
    rivals = [one for one in found.names if {f"{one} against {winner}", f"{winner} against {one}"} & set(drifted)]
    against = f" against {', '.join(rivals)}" if len(found.names) > 2 else ""
    return f"the mean{against} changed while the log grew (see the note), and may change again." if rivals else ""


def _by_what(found: LogComparison | RunningComparison, winner: str, decisions: Sequence[StoppingDecision]) -> str:
    """Return a sentence on the mean behind a win, with a caution if the mean over users disagrees."""
    changed = change_seen(found, winner)
    later = changed or "a later change of users or rankers is not ruled out."
    if all(np.isnan(one.per_user) for one in decisions):
        return f"So far its mean outcome is ahead; {later}"
    met = dict(_over_users(one, winner) for one in decisions if winner in one[:2])
    if any(high < 0 for _, _, high in met.values()):
        behind = "behind" if len(met) == 1 else "behind some ranker"
        said = (
            "So far its mean outcome over impressions is ahead;"
            f" the mean over users, from their first impressions only, is {behind}"
        )
        return f"{said}; {changed}" if changed else f"{said}."
    if any(mean < 0 for mean, _, _ in met.values()):
        return (
            "So far its mean outcome over impressions is ahead;"
            f" the mean over users is not ahead of every rival; {later}"
        )
    if unsure := {rival: ends for rival, ends in met.items() if ends[1] <= 0 <= ends[2]}:
        each = ", ".join(
            f"{f'against {rival} ' * (len(met) > 1)}{mean:+.3f} ({low:+.3f} to {high:+.3f})"
            for rival, (mean, low, high) in unsure.items()
        )
        return (
            "So far its mean outcome over impressions is ahead;"
            f" the mean over users is not yet certain: {each}; {later}"
        )
    return f"So far its mean outcome over impressions is ahead, and over users too; {later}"


def _over_users(one: StoppingDecision, winner: str) -> tuple[str, tuple[float, float, float]]:
    """Return a rival, and the mean over users of the winner against this rival, with the mean's interval."""
    mean, low, high = one.per_user, one.per_user_low, one.per_user_high
    return (one.second, (mean, low, high)) if winner == one.first else (one.first, (-mean, -high, -low))


def never_shown(names: Sequence[str], shown: Collection[tuple[str, str]]) -> str:
    """Return a sentence on the pairs that no impression compared; "" if there are none."""
    met = {frozenset(pair) for pair in shown}
    missing = [f"{a} and {b}" for a, b in combinations(names, 2) if frozenset((a, b)) not in met]
    if not missing:
        return ""
    if len(missing) == 1:
        return f"{missing[0]} have no impression that counts, so they cannot be compared."
    some = ", ".join([*missing[:3], *(["..."] if len(missing) > 3 else [])])
    return f"{len(missing):,} pairs have no impression that counts ({some}), so they cannot be compared."
