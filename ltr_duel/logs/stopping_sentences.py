"""Stopping decisions as sentences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations

import numpy as np

from ltr_duel.core import FloatVector
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.comparison import LogComparison
from ltr_duel.logs.looks import CHANGED, days_to_a_whole_week
from ltr_duel.logs.stopping import RunningComparison, StoppingDecision, outcomes_go_together, projected, too_few


def two_tests(found: LogComparison) -> str:
    """Return a note that the test changes when the first user (or query) returns; "" if it does not change."""
    if found.cluster == "impression" or found.adaptive or found.adjusted:
        return ""
    who = {"user": "user", "query": "query"}.get(found.cluster, "user or query")
    if outcomes_go_together(found):
        return f"Before the first {who} returned, a different test was used"
    return f"Once the first {who} returns, a different test is used"


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
        return f"wait {wait} for the week to be whole; --any-time decides now, and the result would be: {sentence}"
    return sentence


def days_to_wait(found: LogComparison | RunningComparison, *, any_time: bool) -> float:
    """Return the days until the week is complete, for which decisions wait; 0 for none."""
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
            who, more = ("queries", "; it takes other queries") if queries else ("users", "")
            return f"go on: the {who} so far are too few, or too unequal, to say for how long{more}."
        return f"go on: the {what} so far are too few to say for how long."
    if np.isinf(further) or further > 1000 * found.impressions:
        return f"go on: more than a thousand times as many {what} as there are{_of_pairs(decisions)}."
    until = f" until {winner} wins against all others" if winner and len(decisions) > 1 else ""
    if what == "queries":
        until = f", with as many impressions each as these have,{until}"
    about, stay = f"{further * each:,.0f} further {what}", "the means stay"
    if isinstance(found, LogComparison) and found.adaptive:  # a policy changes the shares
        about, stay = f"{about} of the log, all pairs together,", "the means and the pairs' shares of the log stay"
    about = f"{about}{until}".removesuffix(",")
    return f"go on: about {about}, if {stay} as they are{_of_pairs(decisions)}."


def to_go_in(found: LogComparison | RunningComparison) -> tuple[str, float]:
    """Return the unit of a projection, and its number per impression: queries if they limit the precision."""
    if not isinstance(found, LogComparison):
        return "comparisons", 1.0  # a live page may compare nothing
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
    """Return a clause on the rivals against whom the winner's mean drifted, according to the warnings; "" if none."""
    notes = found.warnings if isinstance(found, LogComparison) else []
    drifted = [note.partition(": ")[0] for note in notes if note.endswith(CHANGED)]
    rivals = [one for one in found.names if {f"{one} against {winner}", f"{winner} against {one}"} & set(drifted)]
    against = f" against {', '.join(rivals)}" if len(found.names) > 2 else ""
    return f"that mean{against} changed while the log grew, as the note says, and may change again." if rivals else ""


def _by_what(found: LogComparison | RunningComparison, winner: str, decisions: Sequence[StoppingDecision]) -> str:
    """Return a sentence on the mean behind a win, with a caution if the mean over users disagrees."""
    changed = change_seen(found, winner)
    later = changed or "a later change of users or rankers is not ruled out."
    if all(np.isnan(one.per_user) for one in decisions):
        return f"So far its mean outcome is ahead; {later}"
    met = [one for one in decisions if winner in one[:2]]
    if any((one.per_user_high < 0) if winner == one.first else (one.per_user_low > 0) for one in met):
        behind = "behind" if len(met) == 1 else "behind some ranker"
        said = f"So far its mean outcome over impressions is ahead; per user, by first impressions, it is {behind}"
        return f"{said}; {changed}" if changed else f"{said}."
    if any((one.per_user < 0) if winner == one.first else (one.per_user > 0) for one in met):
        return f"So far its mean outcome over impressions is ahead; per user it is not shown to be; {later}"
    if unsure := [one for one in met if one.per_user_low <= 0 <= one.per_user_high]:
        each = ", ".join(_not_yet_certain(one, winner, several=len(met) > 1) for one in unsure)
        return f"So far its mean outcome over impressions is ahead; over users {each}; {later}"
    return f"So far its mean outcome over impressions is ahead, and over users too; {later}"


def _not_yet_certain(one: StoppingDecision, winner: str, *, several: bool) -> str:
    """Return a phrase with the winner's mean over users against a rival, whose interval contains 0."""
    if winner == one.first:
        rival, mean, low, high = one.second, one.per_user, one.per_user_low, one.per_user_high
    else:
        rival, mean, low, high = one.first, -one.per_user, -one.per_user_high, -one.per_user_low
    against = f"against {rival} " if several else ""
    return f"{against}{mean:+.3f}, not yet certain ({low:+.3f} to {high:+.3f})"


def never_shown(names: Sequence[str], shown: Collection[tuple[str, str]]) -> str:
    """Return a sentence on the pairs that no impression compared; "" if there are none."""
    met = {frozenset(pair) for pair in shown}
    missing = [f"{a} and {b}" for a, b in combinations(names, 2) if frozenset((a, b)) not in met]
    if not missing:
        return ""
    if len(missing) == 1:
        return f"{missing[0]} have no impression that counts, so nothing is known of one against the other."
    some = ", ".join([*missing[:3], *(["..."] if len(missing) > 3 else [])])
    return f"{len(missing):,} pairs have no impression that counts ({some}), so nothing is known of them."
