"""Supplementary means, on which no decision is based: the primary outcome in parts of a log, and secondary outcomes.

Each part of each pair is summed as a separate pair, so that means, errors and sequences are computed as for the whole
log. The intervals and p-values of a table hold simultaneously (Bonferroni over its rows). For each pair, one test shows
whether the means of the parts differ.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from ltr_duel.core import FloatVector, InputError, IntVector, errors, several
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.comparison import Comparison, Limits, compared
from ltr_duel.logs.decision import Decision
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.ratio import credited_outcome, outcome_sums
from ltr_duel.logs.sums import Grouping
from ltr_duel.logs.table import LOG_COLUMNS

DAY = 86_400
DATED = ("day", "week")
_MOST = 20  # maximum number of parts if a log is divided by a column; the last part contains all rare values
_LEVEL = 0.05  # level of the test of interaction
_FEWEST = 5.0  # minimum degrees of freedom of a part in this test
_WHAT = {"day": "days", "week": "weeks", "new": "users' first 24 hours and later times"}
_VISITS = ["first 24 hours", "later"]


class SubgroupTable(NamedTuple):
    """A table of supplementary means: the primary outcome in parts of the log, or secondary outcomes."""

    by: str  # the first column: day, week, new, outcome, or a column of the log
    frame: pd.DataFrame  # a row for each pair and part; the ranker that leads in the whole log comes first
    notes: list[str]  # notes on the table
    differ: Sequence[str] = ()  # a line on whether the parts differ, for each pair; the clearest pair first
    unit: str = ""  # the unit of the means, such as "first impressions"; "" if all impressions count equally

    def shown(self, pairs: int) -> pd.DataFrame:
        """Return the rows of the first `pairs` pairs of rankers, with a column ``pair``."""
        frame = self.frame.assign(pair=self.frame["first"] + " > " + self.frame["second"])
        return frame[frame["pair"].isin(frame["pair"].drop_duplicates()[:pairs])]

    def lines(self, pairs: int) -> list[str]:
        """Return the lines below a table of `pairs` pairs: notes on the table, and on each pair in it."""
        frame, rows = self.shown(pairs), len(self.frame)
        rest = f"{len(frame):,} of {rows:,} rows are shown; intervals and p are corrected for all {rows:,}"
        named = tuple(f"{pair}: " for pair in frame["pair"].unique())
        differ = [line for line in self.differ if line.startswith(named)]
        return [*[rest] * (len(frame) < rows), *self.notes, *differ]


def subgroups(
    log: ClickLog, comparison: Comparison, by: str, *, stop_at: float | None = None, rankers: Collection[str] = ()
) -> SubgroupTable | None:
    """Compare the rankers in each part of a log, by the outcome that decides.

    Parameters
    ----------
    log : ClickLog
    comparison : Comparison
        The comparison of the whole log.
    by : str
        A column of the log (for a file of one's own columns, named in the log's ``context``); or, if the log has no
        column of this name, ``day`` or ``week`` (UTC), or ``new``: the first 24 hours of each user, and later times.
    stop_at : float, optional
        As in `decide`. Intervals of days and weeks are always for one look, because a past day does not change.
    rankers : collection of str
        As in `compare_log`.

    Returns
    -------
    SubgroupTable or None
        None if the log has only one part.

    Raises
    ------
    InputError
        If there is no column of this name.

    Examples
    --------
    >>> import pandas as pd
    >>> from ltr_duel.logs import ClickLog, compare_log
    >>> row = {"query": "q", "shown": ["x", "y"], "clicks": [2], "rankers": ["old", "new"], "owners": [0, 1]}
    >>> log = ClickLog(pd.DataFrame([row | {"impression": k, "user": k, "time": 1000 * k} for k in range(1000)]))
    >>> table = subgroups(log, compare_log(log), "week")
    >>> table.frame[["week", "impressions"]].values.tolist()
    [['1970-01-01 to 01-07', 605], ['1970-01-08 to 01-12', 395]]
    """
    outcomes, rows, _, whole, facts = credited_outcome(log, comparison.outcome, rankers)
    part, labels, relations = _parts(log, rows, comparison, by)
    if len(labels) < 2:
        return None
    parts, pairs = len(labels), len(comparison.pairs)
    chosen = ", ".join(name if name == "pair" else f'o."{name}"' for name in outcomes.columns if name != "pair")
    sql = f"SELECT {chosen}, CAST(o.pair * {parts} + {part} AS BIGINT) AS pair FROM outcomes o"
    sql += " JOIN part_of_line l ON o.line = l.line" * bool(relations)
    cells = log.engine.keep(sql, outcomes=outcomes, **relations)
    grouping = Grouping(pairs * parts, comparison.cluster, whole, facts["named"] == facts["n"])
    sums, _ = outcome_sums(log.engine, cells, grouping)
    if comparison.unit == "user":
        sums = sums.per_user()
    confidence = comparison.confidence if stop_at is None else stop_at
    split = compared(
        sums, comparison.names, np.repeat(comparison.pairs, parts, axis=0), confidence=confidence,
        impressions=comparison.impressions, provenance=comparison.provenance,
    )  # fmt: skip
    shown = split.counts > 0
    signs = np.repeat(comparison.leading(every_look=stop_at is not None), parts)
    every_look = stop_at is not None and by not in DATED  # a past day does not change
    limits = split.limits(confidence, float(shown.sum()), every_look=every_look).turned(signs)
    order = [k * parts + n for k in np.argsort(comparison.p, kind="stable") for n in range(parts)]
    frame = _frame(split, {by: labels * pairs}, signs, limits).iloc[[k for k in order if shown[k]]]
    frame = frame.reset_index(drop=True)
    if comparison.adaptive:
        return SubgroupTable(by, frame, [], unit="first impressions" * comparison.first_impressions)
    once = f"intervals and p of {_WHAT[by]} hold for one look only, even with --stop-at" if by in DATED else ""
    p = np.array([interaction_p(split.cautious.of(slice(k * parts, (k + 1) * parts))) for k in range(pairs)])
    notes = [once] * (stop_at is not None and bool(once))
    return SubgroupTable(by, frame, notes, _differences(p, comparison, signs[::parts], by))


def secondary_outcomes(comparison: Comparison, *, stop_at: float | None = None) -> SubgroupTable:
    """Return a table of the secondary outcomes; their tests are corrected together."""
    every_look, confidence = stop_at is not None, comparison.confidence if stop_at is None else stop_at
    signs = comparison.leading(every_look=every_look)
    tests, frames = float(len(comparison.secondary) * len(signs)), []
    for name, other in comparison.secondary.items():
        limits = other.limits(confidence, tests, every_look=every_look).turned(signs)
        frames.append(_frame(other, {"outcome": [name] * len(signs)}, signs, limits))
    unit = "first impressions" * comparison.first_impressions
    return SubgroupTable("outcome", pd.concat(frames, ignore_index=True), [], unit=unit)


def with_opposite_parts(decision: Decision, parts: Sequence[SubgroupTable]) -> Decision:
    """Return the decision; its sentence names the clearest part of the log in which another ranker beats the winner."""
    if not decision.winner or decision.verdict == "no decision":
        return decision
    opposite = list[tuple[float, str, str, str, float]]()
    for part in (part for part in parts if part.by != "outcome"):
        rows = part.frame[(part.frame["mean"] < 0) & (part.frame["p_corrected"] < 1 - decision.confidence)]
        rows = rows[rows["first"] == decision.winner]
        ends = zip(*(rows[name].tolist() for name in ("p_corrected", part.by, "second", "mean")), strict=True)
        opposite += [(p, part.by, label, ranker, -mean) for p, label, ranker, mean in ends]
    if not opposite:
        return decision
    p, by, label, ranker, mean = min(opposite)
    more = f" (and in {several(len(opposite) - 1, 'more part')})" * (len(opposite) > 1)
    where = errors.in_one_line(f"{by} '{label}'{more}")
    certainty = f"mean {mean:+.4f}, p {'< 1e-12' if p < 1e-12 else f'= {p:.2g}'}"
    return decision._replace(
        sentence=f"{decision.sentence} But in {where}, {ranker} beats {decision.winner} ({certainty})."
    )


def _frame(comparison: Comparison, labels: dict[str, Any], signs: IntVector, limits: Limits) -> pd.DataFrame:
    """Return the table; the ranker that leads by the primary outcome comes first."""
    both = [pair[::sign] for pair, sign in zip(comparison.named_pairs, signs, strict=True)]
    rankers = dict(zip(("first", "second"), map(list, zip(*both, strict=True)), strict=True))
    means = {"mean": limits.mean, "low": limits.low, "high": limits.high, "p_corrected": limits.p}
    return pd.DataFrame({**labels, **rankers, "impressions": comparison.counts, **means})


def _differences(p: FloatVector, comparison: Comparison, signs: IntVector, by: str) -> list[str]:
    """Return for each pair a line on whether its parts differ (at one look, corrected for the pairs)."""
    tests, pairs = int((~np.isnan(p)).sum()), comparison.named_pairs
    corrected = np.minimum(tests * p, 1.0)
    return [
        f"{' > '.join(pairs[k][:: signs[k]])}: {_WHAT.get(by, f'parts by {by}')}"
        f" {'differ' if corrected[k] < _LEVEL else 'are not shown to differ'} (one look, p = {corrected[k]:.2g})"
        for k in np.argsort(comparison.p, kind="stable")
        if not np.isnan(p[k])
    ]


def _parts(log: ClickLog, rows: Any, comparison: Comparison, by: str) -> tuple[str, list[str], dict[str, Any]]:
    """Return the SQL of an outcome's part (``o``: outcomes, ``l``: a relation), the parts' names, and the relation."""
    engine, own = log.engine, by in rows.columns and by in (*LOG_COLUMNS, *log.context)
    count = f'SELECT count("{by}") AS n FROM impressions'
    if own and engine.query(count, impressions=rows)["n"][0].as_py():  # an own column may be empty
        value = f"""coalesce(CAST("{by}" AS VARCHAR), '(none)')"""
        each = f"SELECT {value} AS value, count(*) AS n FROM impressions GROUP BY {value}"
        ranked = f"SELECT value, row_number() OVER (ORDER BY n DESC, value) - 1 AS rank FROM ({each}) AS e"
        labels = engine.query(f"{ranked} ORDER BY 2", impressions=rows)["value"].to_pylist()
        if len(labels) > _MOST:
            labels = [*labels[: _MOST - 1], f"(others: {len(labels) - _MOST + 1:,})"]
        part = f"least(r.rank, {_MOST - 1}) AS part FROM impressions JOIN ({ranked}) AS r ON {value} = r.value"
        return "l.part", labels, {"part_of_line": engine.keep(f"SELECT line, {part}", impressions=rows)}
    if by in DATED:
        days = 7 if by == "week" else 1
        first, last = (int(comparison.provenance[name] // DAY) for name in ("first", "last"))
        labels = [_dates(day, min(day + days - 1, last)) for day in range(first, last + 1, days)]
        return f"floor((floor(o.time / {DAY}) - {first}) / {days})", labels, {}
    if by != "new":
        raise InputError(
            f"{log.path}: there is no column '{by}' to slice by, or it is empty (or give day, week or new)"
        )
    if "user" not in rows.columns:
        return "", [], {}
    later = f'time >= min(time) OVER (PARTITION BY "user") + {DAY} AND "user" IS NOT NULL'
    lines = engine.keep(f"SELECT line, CASE WHEN {later} THEN 1 ELSE 0 END AS part FROM impressions", impressions=rows)
    different = engine.query("SELECT count(DISTINCT part) AS n FROM lines", lines=lines)["n"][0].as_py()
    return "l.part", _VISITS if different > 1 else [], {"part_of_line": lines}


def _dates(first: int, last: int) -> str:
    begin, end = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day) for day in (first, last))
    return f"{begin:%Y-%m-%d}" + (f" to {end:%m-%d}" if last > first else "")


def interaction_p(means: Means) -> float:
    """Return the p-value of "all parts of a pair have the same mean": Welch's test (Biometrika 1951).

    If clusters are in several parts, and their outcomes are positively correlated, the means of the parts differ less
    than assumed, so the test is conservative. Parts with fewer than five degrees of freedom are omitted; the result is
    NaN if fewer than two remain.
    """
    good = (means.freedom >= _FEWEST) & np.isfinite(means.error) & (means.error > 0)
    mean, error, freedom = (part[good] for part in means)
    k = len(mean)
    if k < 2:
        return float("nan")
    weight = error**-2.0
    spread = weight @ (mean - weight @ mean / weight.sum()) ** 2 / (k - 1)
    surplus = float(((1 - weight / weight.sum()) ** 2 / freedom).sum())
    statistic = spread / (1 + 2 * (k - 2) / (k**2 - 1) * surplus)
    return float(special.fdtrc(k - 1, (k**2 - 1) / (3 * surplus), statistic))
