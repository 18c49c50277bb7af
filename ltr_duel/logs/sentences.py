"""The sentences of a decision: what to do, on which mean, and how many more impressions are needed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ltr_duel.core import several
from ltr_duel.logs.looks import CHANGED

if TYPE_CHECKING:
    from ltr_duel.logs.comparison import Comparison
    from ltr_duel.logs.decision import PairDecision
    from ltr_duel.logs.guardrail import Guardrail


def one_look(found: Comparison, pairs: Sequence[PairDecision], winner: str) -> str:
    """Return the sentence of a decision at a single look."""
    p = max(one.p for one in pairs)
    decided = f"p {'< 1e-12' if p < 1e-12 else f'= {p:.3g}'}"
    if len(pairs) > 1:
        decided = f"{sum(bool(one.winner) for one in pairs)} of {len(pairs)} pairs are decided"
    said = (
        f"{winner} wins{_against_all(found.names)}"
        if winner
        else f"no ranker is shown to win{_against_all(found.names)}"
    )
    unseen = "" if winner else never_shown(found.names, found.named_pairs)
    changed = change_of(found, winner) if winner else ""
    later = f"Its mean outcome is ahead over the whole log; {changed}" * bool(changed)
    once = "This is valid for one planned look; use --stop-at to look repeatedly."
    return " ".join(filter(None, [f"{said} ({decided}).", later, once, unseen]))


def every_look(
    found: Comparison, pairs: Sequence[PairDecision], margin: float, projected: tuple[float, str], *, too_few: bool
) -> str:
    """Return the sentence of a decision that is valid at every look; ``projected``: further impressions and winner."""
    unit, each = unit_to_go(found)
    few = f"too few {unit} so far to project how many more are needed."
    if found.cluster != "impression" and not found.adaptive:
        who, more = ("queries", "; more different queries are needed") if queries_limit(found) else ("users", "")
        few = (
            f"there are too few {who} so far, or a few of them have too large a share of the log, to project how many"
            f" more impressions are needed{more}."
        )
    winner = projected[1]
    stay = "the means stay as they are"
    if found.adaptive:  # a policy changes the shares
        stay = "the means and the pairs' shares of the log stay as they are"
    change = change_of(found, winner) if winner else ""
    return running(
        found.names,
        pairs,
        margin,
        projected,
        found.impressions,
        unit,
        each,
        few=few * too_few,
        stay=stay,
        change=change,
    )


def running(
    names: Sequence[str],
    pairs: Sequence[PairDecision],
    margin: float,
    projected: tuple[float, str],
    impressions: int,
    unit: str,
    each: float = 1.0,
    *,
    few: str = "",
    stay: str = "the means stay as they are",
    change: str = "",
) -> str:
    """Return whether to stop.

    ``projected``: further impressions and winner; ``unit``: what is counted, ``each`` of them per impression; ``few``:
    why nothing can be projected; ``change``: how the winner's mean has drifted.
    """
    further, winner = projected
    if winner and further == 0:
        later = change or "a later change of users or rankers is not ruled out."
        return f"stop: {winner} wins{_against_all(names)}. So far its mean outcome is ahead; {later}"
    if further == 0:
        if all(one.verdict == "no difference" for one in pairs):
            return f"no difference: the mean outcome of every pair is within {margin:g} of a tie."
        return "stop: every pair is decided, and no ranker wins against all others."
    unseen = never_shown(names, [(one.first, one.second) for one in pairs if one.observations])
    if np.isinf(further) and unseen:
        return f"go on: {unseen}"
    if few:
        return f"go on: {few}"
    still_open = sum(one.verdict == "go on" for one in pairs)
    of_pairs = f" (still open: {still_open} of {len(pairs)} pairs)" if len(pairs) > 1 else ""
    if np.isinf(further) or further > 1000 * impressions:
        return f"go on: the decision needs more than 1,000 times the present number of {unit}{of_pairs}."
    until = f" until {winner} wins against all others" if winner and len(pairs) > 1 else ""
    as_now = ", each with as many impressions as the present queries have" if unit == "queries" else ""
    return f"go on: about {further * each:,.0f} further {unit}{until}{as_now}, if {stay}{of_pairs}."


def unit_to_go(found: Comparison) -> tuple[str, float]:
    """Return the unit of a projection (queries if they limit the precision), and the number of units per impression."""
    if found.cluster in ("query", "both") and not found.adaptive and queries_limit(found):
        return "queries", found.provenance["queries"] / max(found.impressions, 1)
    return ("impressions in the log, over all pairs" if found.adaptive else "impressions"), 1.0


def queries_limit(found: Comparison) -> bool:
    """Return whether queries, rather than users, limit the precision for most pairs."""
    if found.cluster != "both":
        return found.cluster == "query"
    users, queries = found.by_dimension
    return bool((queries.error >= users.error).mean() >= 0.5)


def waiting(days: float, sentence: str) -> str:
    """Return the sentence of a decision that waits for the end of the week."""
    wait = f"{days:.0f} day{'s' if days >= 1.5 else ''}"
    return f"wait {wait} until the week is complete; so far: {sentence.removeprefix('stop: ')}"


def no_decision(failed: Sequence[str], broken: Sequence[Guardrail], winner: str) -> str:
    """Return the sentence of a log that is not sound, or of a winner that breaks a guardrail."""
    against = []
    if failed:
        fail = "fails" if len(failed) == 1 else "fail"
        against.append(f"{several(len(failed), 'check')} of the experiment {fail} ({', '.join(failed)})")
    if broken:
        hold = "holds" if len(broken) == 1 else "hold"
        names = ", ".join(f"{one.outcome} against {one.behind}" for one in broken)
        said = f"the log does not show that {several(len(broken), 'guardrail')} {hold} ({names})"
        against.append(f"{winner} is ahead, but {said}")
    return f"no decision: {'; '.join(against)}."


def guardrails_hold(number: int, winner: str) -> str:
    """Return the sentence of a winner that keeps all guardrails."""
    words = {1: "the guardrail holds", 2: "both guardrails hold"}.get(number, f"all {number} guardrails hold")
    return f"{words} for ranker '{winner}'."


def changes(found: Comparison) -> list[str]:
    """Return the warnings of a drift: the mean of the first half of the log differs from that of the second half."""
    return [one for one in found.warnings if one.endswith(CHANGED)]


def change_of(found: Comparison, winner: str) -> str:
    """Return a clause on the rivals against which the winner's mean has drifted; "" if there are none."""
    drifted = {note.partition(": ")[0] for note in changes(found)}
    rivals = [one for one in found.names if {f"{one} against {winner}", f"{winner} against {one}"} & drifted]
    against = f" against {', '.join(rivals)}" if len(found.names) > 2 else ""
    return f"the mean{against} changed while the log grew (see the note), and may change again." if rivals else ""


def never_shown(names: Sequence[str], shown: Collection[tuple[str, str]]) -> str:
    """Return a sentence on the pairs that no impression compared; "" if there are none."""
    known = {frozenset(pair) for pair in shown}
    missing = [f"{a} and {b}" for a, b in combinations(names, 2) if frozenset((a, b)) not in known]
    if len(missing) < 2:
        return "".join(f"{pair} have no impression that counts, so they cannot be compared." for pair in missing)
    some = ", ".join([*missing[:3], *(["..."] if len(missing) > 3 else [])])
    return f"{len(missing):,} pairs have no impression that counts ({some}), so they cannot be compared."


def _against_all(names: Sequence[str]) -> str:
    return f" against each of the {len(names) - 1} others" if len(names) > 2 else ""
