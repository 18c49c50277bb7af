"""Means beside those that decide: the primary outcome in parts of the log, and secondary outcomes.

Each part of each pair is summed as a pair of its own, so that means, errors and sequences are those of the whole. The
intervals of a table hold together (Bonferroni over all its rows), p-values are corrected by Holm's rule.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.core import FloatVector, IntVector, statistics
from ltr_duel.logs.compare import LogComparison, compared
from ltr_duel.logs.interaction import interaction_tests
from ltr_duel.logs.limits import Limits, ahead, limits, places_in
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.outcomes import credited
from ltr_duel.logs.parts import divided
from ltr_duel.logs.sums import pair_sums

_DATED = ("day", "week")
_LEVEL = 0.05  # of the test of interaction
_WHAT = {
    "day": "days",
    "week": "weeks",
    "new": "the first 24 hours of users and later ones",
    "heavy": "users who come often and others",
}


class Beside(NamedTuple):
    """Means beside those that decide: parts of the primary outcome, or secondary outcomes.

    Examples
    --------
    >>> "by" in Beside._fields
    True
    """

    by: str  # the first column: day, week, new, heavy, outcome, or a column of the log
    frame: pd.DataFrame  # a row for each pair and part; outcomes are those of the ranker that is ahead in the whole log
    notes: list[str]


def sliced(
    log: ClickLog,
    found: LogComparison,
    by: str,
    *,
    rankers: Collection[str] = (),
    confidence: float = 0.95,
    any_time: bool = False,
) -> Beside | None:
    r"""Compare the rankers in each part of a log.

    Parameters
    ----------
    log : ClickLog
    found : LogComparison
        Of this log.
    by : str
        ``day`` or ``week`` (UTC; weeks count from the first day), ``new`` (the 24 hours from a user's first impression
        in the log against what comes later), ``heavy`` (the users who come most and have half of the impressions
        against all others), or a column that the log was opened with (``context``).
    rankers : collection of str
        As given to `compare_log`.
    confidence : float
        Of all intervals of the table together.
    any_time : bool
        Whether they hold at all looks together; those of days and weeks hold for one look, as what is over stays.

    Returns
    -------
    Beside or None
        None if the log has one part only.

    Raises
    ------
    InputError
        If there is no such column.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ltr_duel.logs import ClickLog, compare_log
    >>> row = '{"impression": %d, "time": %d, "query": "q", "user": %d, "shown": ["a", "b"], "clicks": [2],'
    >>> row += ' "rankers": ["old", "new"], "owners": ["old", "new"]}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.jsonl"
    ...     _ = path.write_text("\\n".join(row % (k, k * 3600, k) for k in range(48)))
    ...     log = ClickLog(path)
    ...     days = sliced(log, compare_log(log), "day")
    >>> days.frame[["day", "impressions", "mean"]].to_numpy().tolist()
    [['1970-01-01', 24, 1.0], ['1970-01-02', 24, 1.0]]
    """
    outcomes, rows, _, whole = credited(log, rankers)
    t, labels = divided(log, rows, outcomes, by)
    if len(labels) < 2:
        return None
    parts, pairs = len(labels), len(found.pairs)
    named = "user" in rows.columns and not log.engine.value(rows.user.isnull().sum())
    cells = t.mutate(pair=(t.pair * parts + t.part).cast("int64"))
    sums = pair_sums(log.engine, cells, pairs * parts, found.cluster, whole=whole, named=named)
    split = compared(
        sums,
        found.names,
        np.repeat(found.pairs, parts, axis=0),
        confidence=confidence,
        impressions=found.impressions,
        provenance=found.provenance,
    )
    met = split.counts > 0
    signs = np.repeat(ahead(limits(found, confidence, any_time=any_time).mean), parts)
    looks = any_time and by not in _DATED  # a day that is over does not change
    within = limits(split, confidence, float(met.sum()), any_time=looks).turned(signs)
    frame = _frame(split, {by: labels * pairs}, signs, within, _users(log, cells, parts, pairs) if by in _DATED else {})
    order = [
        k * parts + part for k in np.argsort(found.p, kind="stable") for part in range(parts)
    ]  # the clearest first
    frame = frame.iloc[[k for k in order if met[k]]].reset_index(drop=True)
    frame["p_corrected"] = statistics.holm(frame["p_corrected"].to_numpy())
    if found.adaptive:
        return Beside(by, frame, [])
    p = interaction_tests(log.engine, cells, split, parts, found.cautious.freedom)
    once = (
        [f"intervals and p of {_WHAT[by]} hold for one look only, also with --stop-at"]
        if any_time and not looks
        else []
    )
    return Beside(by, frame, [*once, *_notes(statistics.holm(p), found, signs[::parts], by)])


def secondary(
    found: LogComparison, others: dict[str, LogComparison], *, confidence: float = 0.95, any_time: bool = False
) -> Beside:
    """Put further outcomes beside the primary one; they share an error that the primary one does not.

    Parameters
    ----------
    found : LogComparison
        By the primary outcome.
    others : dict of str to LogComparison
        By further outcomes of the same log.
    confidence : float
        Of all intervals of the table together.
    any_time : bool
        Whether they hold at all looks together.

    Returns
    -------
    Beside

    Examples
    --------
    See `compare_log`, which makes what it takes.

    >>> callable(secondary)
    True
    """
    leads = ahead(limits(found, confidence, any_time=any_time).mean)
    tests = sum(len(other.pairs) for other in others.values())
    frames = []
    for name, other in others.items():
        places, signs = places_in(found, other)
        turn = np.ones(len(other.pairs), np.int64)
        turn[places[places >= 0]] = (leads * signs)[places >= 0]
        within = limits(other, confidence, float(tests), any_time=any_time).turned(turn)
        frames.append(_frame(other, {"outcome": [name] * len(turn)}, turn, within))
    table = pd.concat(frames, ignore_index=True)
    table["p_corrected"] = statistics.holm(table["p_corrected"].to_numpy())
    return Beside("outcome", table, [])


def _frame(
    found: LogComparison, labels: dict[str, Any], signs: IntVector, within: Limits, more: dict[str, Any] | None = None
) -> pd.DataFrame:
    """Return the table, p-values not yet corrected; the ranker that is ahead by the primary outcome comes first."""
    both = [_pair(found, k, sign) for k, sign in enumerate(signs)]
    rankers = {"first": [pair[0] for pair in both], "second": [pair[1] for pair in both]}
    means = {"mean": within.mean, "low": within.low, "high": within.high, "p_corrected": within.p}
    return pd.DataFrame({**labels, **rankers, "impressions": found.counts, **(more or {}), **means})


def _pair(found: LogComparison, k: int, sign: int) -> list[str]:
    """Return the two rankers of a pair, the one that is ahead by the primary outcome first."""
    return [found.names[one] for one in found.pairs[k][::sign]]


def _notes(p: FloatVector, found: LogComparison, signs: IntVector, by: str) -> list[str]:
    """Say of each pair whether its parts differ, the clearest pair first."""
    return [
        f"{' > '.join(_pair(found, k, signs[k]))}: {_WHAT.get(by, f'parts by {by}')}"
        f" {'differ' if p[k] < _LEVEL else 'are not shown to differ'} (one look, p = {p[k]:.2g})"
        for k in np.argsort(found.p, kind="stable")
        if not np.isnan(p[k])
    ]


def _users(log: ClickLog, cells: Any, parts: int, pairs: int) -> dict[str, Any]:
    """Return how many users each part of each pair has, and how many of them were in no earlier part."""
    t = cells.filter(cells.user.notnull())
    if not log.engine.value(t.count()):
        return {}
    each = t.group_by("user", "pair", whole=(t.pair / parts).floor()).agg(n=t.count())
    found = {}
    for name, table in (("users", each), ("first seen", each.group_by("user", "whole").agg(pair=each.pair.min()))):
        held = log.engine.run(table.group_by("pair").agg(n=table.count())).to_pydict()
        found[name] = np.zeros(parts * pairs, np.int64)
        found[name][held["pair"]] = held["n"]
    return found
