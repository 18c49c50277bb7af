"""May the experiment stop? For each pair, and for all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, IntMatrix, errors
from ltr_duel.logs.clustered_sequence import Clustered
from ltr_duel.logs.comparison import LogComparison
from ltr_duel.logs.sequential import Observed
from ltr_duel.logs.sums import Sequences

FEWEST = 20.0  # impressions, or clusters of equal weight, from which on what is to come is projected


class RunningComparison(NamedTuple):
    """What a decision rests on, of an experiment that has no log yet: the fields are those of `LogComparison`."""

    names: tuple[str, ...]
    pairs: IntMatrix
    sequences: Sequences
    impressions: int
    tests: int


class StoppingDecision(NamedTuple):
    """What may be decided on a pair, whenever one looks."""

    first: str
    second: str
    verdict: str  # "stop", "no difference" or "go on"
    winner: str  # where the verdict is "stop"
    observations: int  # impressions, or users where each counts once
    mean: float  # mean outcome of the observations so far
    low: float  # confidence sequence of it
    high: float
    e_value: float  # of "there is no difference"
    more: float  # expected further impressions of the log until it can be decided, if the mean stays; inf for never
    more_to_win: float = np.inf  # as `more`, until the ranker with the higher mean wins
    independent: float = np.inf  # observations, or clusters of equal weight, that the mean rests on
    per_user: float = np.nan  # mean outcome of users' first impressions so far, where ``mean`` is over impressions
    per_user_low: float = np.nan  # confidence sequence of it
    per_user_high: float = np.nan


def stopping_decisions(
    found: LogComparison | RunningComparison,
    confidence: float = 0.95,
    *,
    margin: float = 0.0,
    tuned_at: float = 1000.0,
) -> list[StoppingDecision]:
    r"""Say of each pair whether to stop: the error holds however often it is asked while the log grows.

    Parameters
    ----------
    found : LogComparison or RunningComparison
        Of a log that is clustered by users or queries (or by both), every impression counts, with the error of the
        clusters (see `Clustered`); by users alone, the mean of their first impressions is stated beside. Of a log
        that is clustered by impressions, or whose clusters have one outcome each, every impression counts as
        independent. Of a running comparison, the observations of its sequences count.
    confidence : float
        Above 0 and below 1: the chance that all intervals hold at all times, so that no decision on any pair is ever
        wrong, nor a winner against all others, which wins each of its pairs.
    margin : float
        A mean outcome that would not matter: "no difference" is said once the mean is surely within it. 0 for never.
    tuned_at : float
        See `confidence_sequence`; the same at every look.

    Returns
    -------
    list of StoppingDecision
        In the order of ``found.pairs``.

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
    seen, mean, n = _seen(found)
    now = seen.sequence(confidence, found.tests, tuned_at)
    won, lost = now.low > 0, now.high < 0
    same = ~(won | lost) & (-margin < now.low) & (now.high < margin)

    def further(asked: NDArray[np.bool_], margin: float) -> FloatVector:
        """Return how many impressions more the pairs that are asked for need; 0 for the others."""
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


def _seen(found: LogComparison | RunningComparison) -> tuple[Clustered | Observed, FloatVector, FloatVector]:
    """Return what a look sees, with means and numbers of observations."""
    if isinstance(found, LogComparison) and outcomes_go_together(found):
        counts = found.counts.astype(np.float64)
        return Clustered(found.cautious, found.p, counts), found.means.mean, counts
    return Observed(found.sequences), found.sequences.mean, found.sequences.n


def outcomes_go_together(found: LogComparison) -> bool:
    """Whether the test is that of all impressions: if some user (or query) has several outcomes of a pair.

    Of logs whose rankers were chosen by earlier outcomes, users' first impressions count only: of these a sequence
    holds whatever chose the pairs.
    """
    if found.cluster == "impression" or "policies" in found.provenance:
        return False
    return found.adjusted or not np.allclose(found.means.freedom + 1, found.counts)


def impressions_to_go(names: Sequence[str], decisions: Sequence[StoppingDecision]) -> tuple[float, str]:
    """Return the further impressions until the experiment may stop, and the ranker that will have won then.

    It may stop once a ranker wins against each other one, or once every pair is decided, whichever comes first. Pairs
    that the winner does not need do not count.

    decisions: From `stopping_decisions`.

    The impressions hold if the means stay as they are: 0 if it may stop now, infinity for never, or where too few were
    seen to say. The ranker is empty if none will have won against all others.

    Examples
    --------
    >>> won = StoppingDecision("a", "b", "stop", "a", 900, 0.3, 0.2, 0.4, 1e9, 0.0, 0.0)
    >>> soon = StoppingDecision("a", "c", "go on", "", 900, 0.1, -0.1, 0.2, 3.0, 300.0, 300.0)
    >>> never = StoppingDecision("b", "c", "go on", "", 900, 0.0, -0.1, 0.1, 1.0, float("inf"))
    >>> impressions_to_go(["a", "b", "c"], [won, soon, never])
    (300.0, 'a')
    """
    further, winner = projected(names, decisions)
    return (np.inf if further and too_few(winner, decisions) else further), winner


def projected(names: Sequence[str], decisions: Sequence[StoppingDecision]) -> tuple[float, str]:
    """Return the same, however few were seen."""
    met_all = len(decisions) == len(names) * (len(names) - 1) // 2  # of a pair never shown nothing can be said
    ways = [(max((one.more for one in decisions), default=np.inf) if met_all else np.inf, "")]
    for name in names:
        met = [one for one in decisions if name in (one.first, one.second)]
        leads = all((one.first if one.mean > 0 else one.second) == name and one.mean != 0 for one in met)
        if len(met) == len(names) - 1 and leads:
            ways.append((max(one.more_to_win for one in met), name))
    return min(ways, key=lambda way: (way[0], not way[1]))


def too_few(winner: str, decisions: Sequence[StoppingDecision]) -> bool:
    """Return whether a pair that is still needed was seen too seldom for a projection."""
    needed = [one for one in decisions if one.verdict == "go on" and (not winner or winner in one[:2])]
    return any(one.independent < FEWEST for one in needed)
