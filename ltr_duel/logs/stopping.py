"""May the experiment stop? For each pair, and for all of them together."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from ltr_duel.core import IntMatrix, errors
from ltr_duel.logs.compare import LogComparison
from ltr_duel.logs.sequential import confidence_sequence, observations_needed
from ltr_duel.logs.sums import Sequences


class RunningComparison(NamedTuple):
    """What a decision rests on, of an experiment that has no log yet: the fields are those of `LogComparison`."""

    names: tuple[str, ...]
    pairs: IntMatrix
    sequences: Sequences
    impressions: int
    tests: int


class StoppingDecision(NamedTuple):
    """What may be decided on a pair, whenever one looks.

    Examples
    --------
    >>> "verdict" in StoppingDecision._fields
    True
    """

    first: str
    second: str
    verdict: str  # "stop", "no difference" or "go on"
    winner: str  # where the verdict is "stop"
    observations: int  # users, or impressions where each counts
    mean: float  # mean outcome of the observations
    low: float  # confidence sequence of it
    high: float
    e_value: float  # of "there is no difference"
    more: float  # expected further impressions of the log until it can be decided, if the mean stays; inf for never


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
        Clustered by users (or by both), each user counts once, by the first impression of the pair; clustered by
        queries or impressions, every impression counts.
    confidence : float
        Above 0 and below 1: the chance that none of the decisions on any pair, at any time, is wrong.
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
    sequences = found.sequences
    settings = {"confidence": confidence, "tests": found.tests, "tuned_at": tuned_at}
    now = confidence_sequence(*sequences, **settings)  # type: ignore[arg-type]  # values of their own types
    first, second = (np.array(found.names, dtype=object)[one] for one in found.pairs.T)
    won, lost = now.low > 0, now.high < 0
    same = ~(won | lost) & (-margin < now.low) & (now.high < margin)
    verdict = np.select([won | lost, same], ["stop", "no difference"], "go on")
    winner = np.where(won, first, np.where(lost, second, ""))
    n, open_ones, more = sequences.n, np.flatnonzero(~(won | lost | same)), np.zeros(len(found.pairs))
    each = Sequences(*(part[open_ones] / np.maximum(n[open_ones], 1) for part in sequences))
    needed = observations_needed(each, margin=margin, **settings)  # type: ignore[arg-type]
    left = np.maximum(needed - n[open_ones], 1.0)
    more[open_ones] = left * max(found.impressions, 1) / np.maximum(n[open_ones], 1)
    e_value = np.exp(np.minimum(now.log_e, 700.0))
    columns = (first, second, verdict, winner, n.astype(np.int64), sequences.mean, now.low, now.high, e_value, more)
    return list(map(StoppingDecision, *(column.tolist() for column in columns)))


def stopping_sentence(
    found: LogComparison | RunningComparison, decisions: list[StoppingDecision], margin: float = 0.0
) -> str:
    """Say in one sentence whether to stop.

    Parameters
    ----------
    found : LogComparison or RunningComparison
    decisions : list of StoppingDecision
        From `stopping_decisions`.
    margin : float
        As given there.

    Returns
    -------
    str

    Examples
    --------
    >>> decision = StoppingDecision("old", "new", "stop", "new", 900, -0.3, -0.4, -0.2, 1e9, 0.0)
    >>> from types import SimpleNamespace
    >>> stopping_sentence(SimpleNamespace(names=("old", "new"), impressions=900), [decision])
    'stop: new wins.'
    """
    others = len(found.names) - 1
    for name, wins in Counter(one.winner for one in decisions if one.winner).items():
        if wins == others:
            beaten = "" if others == 1 else f" against each of the {others} others"
            return f"stop: {name} wins{beaten}."
    if all(one.verdict != "go on" for one in decisions):
        same = [one for one in decisions if one.verdict == "no difference"]
        if len(same) == len(decisions):
            return f"no difference: the mean outcome of every pair is within {margin:g} of a tie."
        return "stop: every pair is decided, and nobody wins against all others."
    open_ones = [one for one in decisions if one.verdict == "go on"]
    longest = max(one.more for one in open_ones)
    if np.isinf(longest) or longest > 1000 * found.impressions:
        more = "more than a thousand times as many impressions as there are"
    else:
        more = f"about {longest:,.0f} further impressions, if the means stay as they are"
    named = f" ({len(open_ones)} of {len(decisions)} pairs are open)" if len(decisions) > 1 else ""
    return f"go on: {more}{named}."
