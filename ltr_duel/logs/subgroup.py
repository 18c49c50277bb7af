"""Compare rankers in parts of a log, such as days or devices, and by secondary outcomes.

Such comparisons do not influence the decision. Intervals and p-values are corrected for the number of rows of a table
(Bonferroni). A test shows whether the mean of a pair of rankers differs between the parts of the log.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from ltr_duel.core import InputError
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.comparison import Comparison, compared
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.outcomes import credited_outcome
from ltr_duel.logs.sequential import Intervals
from ltr_duel.logs.sums import Grouping, pair_sums
from ltr_duel.logs.table import LOG_COLUMNS

DAY = 86_400
DATED = {"day": 1, "week": 7}
_MOST = 20  # maximum number of parts if a log is divided by a column; the last part contains all other values
_LEVEL = 0.05  # level of the test whether parts differ
_FEWEST = 5.0  # minimum degrees of freedom of a part in this test


class SubgroupTable(NamedTuple):
    """The means of the pairs of rankers, for each part of a log or for each secondary outcome."""

    by: str  # the first column: day, week, outcome, or a column of the log
    frame: pd.DataFrame  # a row for each pair and part; the leading ranker comes first
    notes: Sequence[str] = ()  # notes on the table
    differ: Sequence[str] = ()  # a line on whether the parts differ, for each pair; the clearest pair first
    unit: str = ""  # the unit of the means, such as "first impressions"; "" if all impressions count equally

    def shown(self, pairs: int) -> pd.DataFrame:
        """Return the rows of the first `pairs` pairs of rankers."""
        return self.frame[self.frame["pair"].isin(self.frame["pair"].unique()[:pairs])]

    def lines(self, pairs: int) -> list[str]:
        """Return the notes that are printed below the rows of the first `pairs` pairs."""
        frame, rows = self.shown(pairs), len(self.frame)
        rest = f"{len(frame):,} of {rows:,} rows are shown; intervals and p are corrected for all {rows:,}"
        named = tuple(f"{pair}: " for pair in frame["pair"].unique())
        return [*[rest] * (len(frame) < rows), *self.notes, *(line for line in self.differ if line.startswith(named))]


def subgroups(
    log: ClickLog, comparison: Comparison, by: str, *, stop_at: float | None = None, rankers: Collection[str] = ()
) -> SubgroupTable | None:
    """Compare the rankers in each part of a log, by the primary outcome.

    Parameters
    ----------
    log : ClickLog
        The log.
    comparison : Comparison
        The comparison of the whole log.
    by : str
        The name of the column that divides the log, or ``day`` or ``week`` (UTC). If the column is not in
        `LOG_COLUMNS`, name it also in the argument ``context`` of `ClickLog`.
    stop_at : float, optional
        Set this confidence (above 0 and below 1) if you look at a growing log more than once. The intervals are then
        valid at every look. By default, and always for days and weeks, intervals are valid for one look.
    rankers : collection of str
        The names of the rankers of the experiment, as in `compare_log`.

    Returns
    -------
    SubgroupTable or None
        None if the log has only one part.

    Raises
    ------
    InputError
        If the log has no column ``by``, or if this column is empty.

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
    outcomes, rows, _, facts = credited_outcome(log, comparison.outcome, rankers)
    part, labels, relations = _parts(log, rows, comparison, by)
    parts, pairs, engine = len(labels), len(comparison.pairs), log.engine
    if parts < 2:
        return None
    chosen = ", ".join(f'o."{name}"' for name in outcomes.columns if name != "pair")
    sql = f"SELECT {chosen}, CAST(o.pair * {parts} + {part} AS BIGINT) AS pair FROM outcomes o"
    sql += " JOIN part_of_line l ON o.line = l.line" * bool(relations)
    grouping = Grouping(pairs * parts, comparison.cluster, facts["named"] == facts["n"])
    confidence, dated = comparison.confidence if stop_at is None else stop_at, by in DATED
    split = compared(
        pair_sums(engine, engine.view(sql, outcomes=outcomes, **relations), grouping)[0], comparison.names,
        np.repeat(comparison.pairs, parts, axis=0), confidence=confidence, impressions=comparison.impressions,
        provenance=comparison.provenance,
    )  # fmt: skip
    shown, signs = split.counts > 0, np.repeat(comparison.signs, parts)
    now = split.intervals(confidence, float(shown.sum()), every_look=stop_at is not None and not dated)
    order = [row for k in comparison.clearest for row in range(k * parts, (k + 1) * parts) if shown[row]]
    frame = _frame(split, {by: labels * pairs}, now.facing(signs), comparison).iloc[order].reset_index(drop=True)
    if comparison.adaptive:
        return SubgroupTable(by, frame, unit="first impressions" * comparison.first_impressions)
    p = np.array([interaction_p(split.cautious.of(slice(k * parts, (k + 1) * parts))) for k in comparison.clearest])
    corrected = np.minimum((~np.isnan(p)).sum() * p, 1.0)
    what = f"{by}s" if dated else f"parts by {by}"
    differ = [
        f"{' > '.join(comparison.named_pairs[k][:: comparison.signs[k]])}: {what}"
        f" {'differ' if q < _LEVEL else 'are not shown to differ'} (one look, p = {q:.2g})"
        for k, q in zip(comparison.clearest, corrected, strict=True)
        if not np.isnan(q)
    ]
    once = f"intervals and p of {what} hold for one look only, even with --stop-at"
    return SubgroupTable(by, frame, [once] * (dated and stop_at is not None), differ)


def secondary_outcomes(comparison: Comparison, *, stop_at: float | None = None) -> SubgroupTable:
    """Return a table that compares the rankers by each secondary outcome."""
    confidence, n = comparison.confidence if stop_at is None else stop_at, len(comparison.pairs)
    tests, frames = float(len(comparison.secondary) * n), []
    for name, other in comparison.secondary.items():
        now = other.intervals(confidence, tests, every_look=stop_at is not None).facing(comparison.signs)
        frames.append(_frame(other, {"outcome": [name] * n}, now, comparison))
    frame = pd.concat(frames, ignore_index=True)
    return SubgroupTable("outcome", frame, unit="first impressions" * comparison.first_impressions)


def _frame(split: Comparison, labels: dict[str, Any], now: Intervals, comparison: Comparison) -> pd.DataFrame:
    pairs = [" > ".join(pair[::sign]) for pair, sign in zip(comparison.named_pairs, comparison.signs, strict=True)]
    pairs = np.repeat(pairs, len(split.pairs) // len(pairs)).tolist()
    means = {"mean": now.mean, "low": now.low, "high": now.high, "p_corrected": now.p}
    return pd.DataFrame({**labels, "pair": pairs, "impressions": split.counts, **means})


def _parts(log: ClickLog, rows: Any, comparison: Comparison, by: str) -> tuple[str, list[str], dict[str, Any]]:
    # returns SQL for the number of an outcome's part, the names of all parts, and the relations that the SQL reads
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
    if days := DATED.get(by):
        first, last = (int(comparison.provenance[name] // DAY) for name in ("first", "last"))
        labels = [_dates(day, min(day + days - 1, last)) for day in range(first, last + 1, days)]
        return f"floor((floor(o.time / {DAY}) - {first}) / {days})", labels, {}
    raise InputError(f"{log.path}: there is no column '{by}' to slice by, or it is empty (or give day or week)")


def _dates(first: int, last: int) -> str:
    begin, end = (datetime.fromtimestamp(day * DAY, UTC) for day in (first, last))
    return f"{begin:%Y-%m-%d}" + (f" to {end:%m-%d}" if last > first else "")


def interaction_p(means: Means) -> float:
    """Return the p-value of the hypothesis that all parts of a log have the same mean (Welch, Biometrika 1951).

    Parts with fewer than five degrees of freedom are left out. The result is NaN if fewer than two parts remain.
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
