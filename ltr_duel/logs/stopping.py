"""Stopping decisions: for each pair, and for all pairs together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import FloatVector, IntMatrix, errors
from ltr_duel.logs.comparison import LogComparison
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
    observations: int  # impressions, or users if each user counts once
    mean: float  # mean outcome of the observations so far
    low: float  # confidence sequence of the mean
    high: float
    e_value: float  # e-value against the hypothesis of no difference
    more: float  # expected further impressions of the log until a decision, if the mean persists; inf: never
    more_to_win: float = np.inf  # like `more`, but until the ranker with the higher mean wins
    independent: float = np.inf  # observations in the mean, or effective number of clusters
    per_user: float = np.nan  # mean of users' first impressions; NaN unless all impressions count, clustered by user
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
        impressions, or if each cluster has one outcome, all impressions count as independent. In the log of an adaptive
        policy with clusters of users, only users' first impressions of a pair count. For a running comparison, the
        observations in ``sequences`` count.
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
    """Return whether the clustered test applies: some user (or query) has several outcomes.

    False if a policy chose rankers by earlier outcomes, because then only the sequence of users' first impressions is
    valid.
    """
    if found.cluster == "impression" or "policies" in found.provenance:
        return False
    return not np.allclose(found.means.freedom + 1, found.counts)


def impressions_to_go(names: Sequence[str], decisions: Sequence[StoppingDecision]) -> tuple[float, str]:
    """Return the number of further impressions until the experiment may stop, and its winner, if means persist.

    The experiment may stop once a ranker wins against all others, or every pair is decided. The number is infinite if
    the experiment would never stop, or if there are too few observations for a projection.
    """
    further, winner = projected(names, decisions)
    return (np.inf if further and too_few(winner, decisions) else further), winner


def projected(names: Sequence[str], decisions: Sequence[StoppingDecision]) -> tuple[float, str]:
    """Return the result of `impressions_to_go` without requiring a minimum number of observations."""
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
