"""Stopping decisions: for each pair, for all pairs together, and as sentences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, IntMatrix, errors
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.comparison import LogComparison
from ltr_duel.logs.looks import CHANGED, days_to_a_whole_week
from ltr_duel.logs.sequential import Clustered, Observed
from ltr_duel.logs.sums import Sequences

FEWEST = 20.0  # minimum number of impressions, or effective number of clusters, for a projection


class RunningComparison(NamedTuple):
    """Data for a decision in an experiment without a log; fields as in `LogComparison`."""

    names: tuple[str, ...]
    pairs: IntMatrix
    sequences: Sequences
    impressions: int
    tests: int


class StoppingDecision(NamedTuple):
    """The decision on a pair, valid at any look."""

    first: str
    second: str
    verdict: str  # "stop", "no difference" or "go on"
    winner: str  # winner if the verdict is "stop", else ""
    observations: int  # impressions, or users if each counts once
    mean: float  # mean outcome of the observations so far
    low: float  # confidence sequence of the mean
    high: float
    e_value: float  # e-value against the hypothesis of no difference
    more: float  # expected further impressions of the log until a decision, if the mean persists; inf: never
    more_to_win: float = np.inf  # like `more`, until the ranker with the higher mean wins
    independent: float = np.inf  # observations in the mean, or effective number of clusters
    per_user: float = (
        np.nan
    )  # mean of users' first impressions if ``mean`` is over impressions, by users alone; else NaN
    per_user_low: float = np.nan  # confidence sequence of this mean
    per_user_high: float = np.nan


def stopping_decisions(
    found: LogComparison | RunningComparison,
    confidence: float = 0.95,
    *,
    margin: float = 0.0,
    tuned_at: float = 1000.0,
) -> list[StoppingDecision]:
    r"""Decide for each pair whether to stop; the error bound holds for any number of looks while the log grows.

    Parameters
    ----------
    found : LogComparison or RunningComparison
        If the errors are clustered by users or queries (or both), every impression counts (see `Clustered`). If the
        clusters are users only, each decision also has the mean of the users' first impressions. If the clusters are
        impressions, or if each cluster has one outcome, all impressions count as independent. For a running comparison,
        the observations in ``sequences`` count.
    confidence : float
        Probability that all intervals hold at all times, so that no decision on a pair, and no winner against all
        others, is ever wrong; above 0 and below 1.
    margin : float
        Largest absolute mean outcome that does not matter. The verdict is "no difference" once the absolute mean is
        shown to be smaller; with a margin of 0, the verdict is never "no difference".
    tuned_at : float
        See `confidence_sequence`; it must be the same at every look.

    Returns
    -------
    list of StoppingDecision
        Decisions in the order of ``found.pairs``.

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
    ...     decision = stopping_decisions(compare_log(ClickLog(path)), 0.95)[0]
    >>> decision.verdict, decision.winner
    ('stop', 'new')
    """
    errors.require_between("the margin", margin, 0, 1)
    seen, mean, n = look_data(found)
    now = seen.sequence(confidence, found.tests, tuned_at)
    won, lost = now.low > 0, now.high < 0
    same = ~(won | lost) & (-margin < now.low) & (now.high < margin)

    def further(asked: NDArray[np.bool_], margin: float) -> FloatVector:
        """Return the number of further impressions that each marked pair needs; 0 for the others."""
        rows, more = np.flatnonzero(asked), np.zeros(len(n))
        more[rows] = (seen.of(rows).further(confidence, found.tests, margin, tuned_at) - 1) * max(found.impressions, 1)
        return more

    more = further(~(won | lost | same), margin)
    to_win = further(~(won | lost), 0.0) if margin > 0 else more
    first, second = (np.array(found.names, dtype=object)[one] for one in found.pairs.T)
    verdict = np.select([won | lost, same], ["stop", "no difference"], "go on")
    winner = np.where(won, first, np.where(lost, second, ""))
    e_value = np.exp(np.minimum(now.log_e, 700.0))
    means = mean, now.low, now.high
    columns = [first, second, verdict, winner, n.astype(np.int64), *means, e_value, more, to_win]
    columns.append(seen.means.freedom + 1 if isinstance(seen, Clustered) else n)
    if isinstance(seen, Clustered) and isinstance(found, LogComparison) and found.cluster == "user":
        users = Observed(found.sequences).sequence(confidence, found.tests, tuned_at)
        columns += [found.sequences.mean, users.low, users.high]
    return list(map(StoppingDecision, *(column.tolist() for column in columns)))


def look_data(found: LogComparison | RunningComparison) -> tuple[Clustered | Observed, FloatVector, FloatVector]:
    """Return the data of a look, with means and numbers of observations."""
    if isinstance(found, LogComparison) and outcomes_go_together(found):
        counts = found.counts.astype(np.float64)
        return Clustered(found.cautious, found.p, counts), found.means.mean, counts
    return Observed(found.sequences), found.sequences.mean, found.sequences.n


def outcomes_go_together(found: LogComparison) -> bool:
    """Return whether the clustered test of all impressions applies: some user (or query) has several outcomes.

    False if a policy chose rankers by earlier outcomes: then only the sequence of users' first impressions is valid.
    """
    if found.cluster == "impression" or "policies" in found.provenance:
        return False
    return found.adjusted or not np.allclose(found.means.freedom + 1, found.counts)


def impressions_to_go(names: Sequence[str], decisions: Sequence[StoppingDecision]) -> tuple[float, str]:
    """Return the number of further impressions until the experiment may stop if means persist, and the winner then.

    The experiment may stop once a ranker wins against all others, or every pair is decided. The number is infinite if
    the experiment would never stop, or if there are too few observations for a projection.
    """
    further, winner = projected(names, decisions)
    return (np.inf if further and too_few(winner, decisions) else further), winner


def projected(names: Sequence[str], decisions: Sequence[StoppingDecision]) -> tuple[float, str]:
    """Return the result of `impressions_to_go` without the minimum number of observations."""
    met_all = len(decisions) == len(names) * (len(names) - 1) // 2  # no projection for pairs without impressions
    ways = [(max((one.more for one in decisions), default=np.inf) if met_all else np.inf, "")]
    for name in names:
        met = [one for one in decisions if name in (one.first, one.second)]
        leads = all((one.first if one.mean > 0 else one.second) == name and one.mean != 0 for one in met)
        if len(met) == len(names) - 1 and leads:
            ways.append((max(one.more_to_win for one in met), name))
    return min(ways, key=lambda way: (way[0], not way[1]))


def too_few(winner: str, decisions: Sequence[StoppingDecision]) -> bool:
    """Return whether an open pair on which the decision depends has too few observations for a projection."""
    needed = [one for one in decisions if one.verdict == "go on" and (not winner or winner in one[:2])]
    return any(one.independent < FEWEST for one in needed)


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
    """Return the number of days that a decision must wait until the week is complete; 0 if it need not wait."""
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
                f"go on: too few {who} so far, or too large a share of the log from a few of them,"
                f" to project for how long{more}."
            )
        return f"go on: too few {what} so far to project for how long."
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
    """Return a clause on rivals against which the winner's mean drifted, according to the warnings; "" without any."""
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
    """Return a rival, and the winner's mean over users against it, with its interval."""
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
