"""Supplementary means, on which no decision is based: the primary outcome in parts of a log, and secondary outcomes.

Each part of each pair is summed as a separate pair, so that means, errors and sequences are computed as for the whole
log. The intervals and p-values of a table hold simultaneously (Bonferroni over its rows). For each pair, one test shows
whether the means of the parts differ, also if clusters (users) are in several parts: Wald's statistic with the
clustered covariance of the means.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from ltr_duel.core import FloatMatrix, FloatVector, InputError, IntVector
from ltr_duel.logs.comparison import Comparison, compared
from ltr_duel.logs.guardrail import Limits, indices_in, leading, limits
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.outcomes import UNIT, credited
from ltr_duel.logs.sums import CLUSTER_KEYS, Grouping, pair_sums

DAY = 86_400
DATED = ("day", "week")
_MOST = 20  # maximum number of parts if a log is divided by a column; the last part contains all rare values
_LEVEL = 0.05  # level of the test of interaction
_FEWEST = 5.0  # minimum degrees of freedom of a part in this test
_WHAT = {"day": "days", "week": "weeks", "new": "users' first 24 hours and later times"}
_VISITS = ["first 24 hours", "later"]


class SubgroupTable(NamedTuple):
    """A table of supplementary means: the primary outcome in parts of the log, or secondary outcomes.

    Examples
    --------
    >>> SubgroupTable("day", pd.DataFrame(), []).differ
    ()
    """

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
        return [*[rest] * (len(frame) < rows), *self.notes, *(one for one in self.differ if one.startswith(named))]


def subgroups(
    log: ClickLog, comparison: Comparison, by: str, *, stop_at: float | None = None, rankers: Collection[str] = ()
) -> SubgroupTable | None:
    r"""Compare the rankers in each part of a log.

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
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ltr_duel.logs import ClickLog, compare_log
    >>> row = '{"impression": %d, "time": %d, "query": "q", "user": %d, "shown": ["a", "b"], "clicks": [2],'
    >>> row += ' "rankers": ["old", "new"], "owners": ["old", "new"]}'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.jsonl"
    ...     _ = path.write_text("\n".join(row % (k, 1000 * k, k) for k in range(1000)))
    ...     log = ClickLog(path)
    ...     found = subgroups(log, compare_log(log), "week")
    >>> found.frame[["week", "impressions"]].values.tolist()
    [['1970-01-01 to 01-07', 605], ['1970-01-08 to 01-12', 395]]
    """
    outcomes, rows, _, whole = credited(log, rankers)
    t, labels = _divided(log, rows, outcomes, by)
    if len(labels) < 2:
        return None
    parts, pairs = len(labels), len(comparison.pairs)
    named = "user" in rows.columns and not log.engine.value(rows.user.isnull().sum())
    cells = t.mutate(pair=(t.pair * parts + t.part).cast("int64"))
    sums = pair_sums(log.engine, cells, Grouping(pairs * parts, comparison.cluster, whole, named))
    if comparison.unit == "user":
        sums = sums.per_user()
    confidence = comparison.confidence if stop_at is None else stop_at
    split = compared(
        sums,
        comparison.names,
        np.repeat(comparison.pairs, parts, axis=0),
        confidence=confidence,
        impressions=comparison.impressions,
        provenance=comparison.provenance,
    )
    shown = split.counts > 0
    signs = np.repeat(leading(comparison, every_look=stop_at is not None), parts)
    every_look = stop_at is not None and by not in DATED  # a past day does not change
    within = limits(split, confidence, float(shown.sum()), every_look=every_look).turned(signs)
    order = [k * parts + part for k in np.argsort(comparison.p, kind="stable") for part in range(parts)]
    frame = _frame(split, {by: labels * pairs}, signs, within).iloc[[k for k in order if shown[k]]]
    frame = frame.reset_index(drop=True)
    if comparison.adaptive:
        return SubgroupTable(by, frame, [], unit="first impressions" * comparison.first_impressions)
    once = f"intervals and p of {_WHAT[by]} hold for one look only, even with --stop-at" if by in DATED else ""
    p = interaction_tests(log.engine, cells, split, parts, comparison.cautious.freedom)
    notes = [once] * (stop_at is not None and bool(once))
    return SubgroupTable(by, frame, notes, _differences(p, comparison, signs[::parts], by))


def secondary(comparison: Comparison, others: dict[str, Comparison], *, stop_at: float | None = None) -> SubgroupTable:
    """Return a table of secondary outcomes (without the primary outcome); their tests are corrected together."""
    every_look, confidence = stop_at is not None, comparison.confidence if stop_at is None else stop_at
    leads = leading(comparison, every_look=every_look)
    tests = sum(len(other.pairs) for other in others.values())
    frames = []
    for name, other in others.items():
        indices, signs = indices_in(comparison, other)
        turn = np.ones(len(other.pairs), np.int64)
        turn[indices[indices >= 0]] = (leads * signs)[indices >= 0]
        within = limits(other, confidence, float(tests), every_look=every_look).turned(turn)
        frames.append(_frame(other, {"outcome": [name] * len(turn)}, turn, within))
    unit = "first impressions" * comparison.first_impressions
    return SubgroupTable("outcome", pd.concat(frames, ignore_index=True), [], unit=unit)


def _frame(found: Comparison, labels: dict[str, Any], signs: IntVector, within: Limits) -> pd.DataFrame:
    """Return the table; the ranker that leads by the primary outcome comes first."""
    both = [pair[::sign] for pair, sign in zip(found.named_pairs, signs, strict=True)]
    rankers = dict(zip(("first", "second"), map(list, zip(*both, strict=True)), strict=True))
    means = {"mean": within.mean, "low": within.low, "high": within.high, "p_corrected": within.p}
    return pd.DataFrame({**labels, **rankers, "impressions": found.counts, **means})


def _differences(p: FloatVector, found: Comparison, signs: IntVector, by: str) -> list[str]:
    """Return for each pair a line on whether its parts differ (at one look, corrected for the pairs)."""
    tests, pairs = int((~np.isnan(p)).sum()), found.named_pairs
    corrected = np.minimum(tests * p, 1.0)
    return [
        f"{' > '.join(pairs[k][:: signs[k]])}: {_WHAT.get(by, f'parts by {by}')}"
        f" {'differ' if corrected[k] < _LEVEL else 'are not shown to differ'} (one look, p = {corrected[k]:.2g})"
        for k in np.argsort(found.p, kind="stable")
        if not np.isnan(p[k])
    ]


def _divided(log: ClickLog, rows: Any, outcomes: Any, by: str) -> tuple[Any, list[str]]:
    """Return the outcomes with a column ``part``, and the name of each part."""
    if by in rows.columns and log.engine.value(rows[by].count()):  # own files: a column that is missing is empty
        return _by_column(log, rows, outcomes, by)
    if by in DATED:
        return _by_time(log, rows, outcomes, by)
    if by == "new":
        return _by_visit(log, rows, outcomes)
    raise InputError(f"{log.path}: there is no column '{by}' to slice by, or it is empty (or give day, week or new)")


def _by_time(log: ClickLog, rows: Any, outcomes: Any, by: str) -> tuple[Any, list[str]]:
    days = 7 if by == "week" else 1
    ends = log.engine.run(rows.aggregate(first=rows.time.min(), last=rows.time.max())).to_pylist()[0]
    first, last = int(ends["first"] // DAY), int(ends["last"] // DAY)
    part = (((outcomes.time / DAY).floor() - first) / days).floor().cast("int64")
    labels = [_dates(day, min(day + days - 1, last)) for day in range(first, last + 1, days)]
    return outcomes.mutate(part=part), labels


def _dates(first: int, last: int) -> str:
    begin, end = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day) for day in (first, last))
    return f"{begin:%Y-%m-%d}" + (f" to {end:%m-%d}" if last > first else "")


def _by_visit(log: ClickLog, rows: Any, outcomes: Any) -> tuple[Any, list[str]]:
    """Divide by the time since the user's first impression in the log."""
    if "user" not in rows.columns:
        return outcomes, []
    start = rows.filter(rows.user.notnull()).group_by("user").agg(start=lambda t: t.time.min())
    t = outcomes.left_join(start, "user").drop("user_right")
    t = t.mutate(part=(t.time >= t.start + DAY).fill_null(False).cast("int64"))
    return t, _VISITS if log.engine.value(t.part.nunique()) > 1 else []


def _by_column(log: ClickLog, rows: Any, outcomes: Any, by: str) -> tuple[Any, list[str]]:
    value = rows[by].cast("string").coalesce("(none)")
    counts = log.engine.run(rows.group_by(value=value).agg(n=rows.count())).to_pylist()
    labels = [row["value"] for row in sorted(counts, key=lambda row: (-row["n"], row["value"]))]
    known = log.engine.small({"value": labels, "part": [min(k, _MOST - 1) for k in range(len(labels))]})
    part = rows.select("line", value=value).join(known, "value").select("line", "part")
    t = outcomes.join(part, "line")
    if len(labels) > _MOST:
        labels = [*labels[: _MOST - 1], f"(others: {len(labels) - _MOST + 1:,})"]
    return t, labels


def interaction_tests(engine: Any, cells: Any, split: Comparison, parts: int, whole: FloatVector) -> FloatVector:
    """Return for each pair the p-value of "its parts have the same mean", or NaN (see `interaction_p`)."""
    n, mean = split.counts.astype(np.float64), split.means.mean
    nn, ny, yn, yy = _products(engine, cells, split.cluster, len(n), parts)
    p = np.full(len(n) // parts, np.nan)
    for k in range(len(p)):
        here = slice(k * parts, (k + 1) * parts)
        m, at = mean[here], (here, here)
        with np.errstate(divide="ignore", invalid="ignore"):
            shared = yy[at] - m * yn[at] - m[:, None] * ny[at] + np.outer(m, m) * nn[at]
            upper = np.nan_to_num(shared / np.outer(n[here], n[here]))
        covariance = upper + upper.T + np.diag(split.cautious.error[here] ** 2)
        p[k] = interaction_p(split.cautious.mean[here], covariance, split.cautious.freedom[here], float(whole[k]))
    return p


def interaction_p(mean: FloatVector, covariance: FloatMatrix, freedom: FloatVector, whole: float) -> float:
    """Return the p-value of "all these means are equal", given their covariance.

    Of two p-values of Wald's statistic, the larger: Welch's (Biometrika 1951) is valid if no cluster is in two parts,
    Hotelling's (Annals of Mathematical Statistics 1931) if each cluster is in all parts. Parts with fewer than five
    degrees of freedom are omitted. The result is NaN if fewer than two parts remain, or if the number of remaining
    parts exceeds ``whole``, the degrees of freedom in the whole log.
    """
    good = np.flatnonzero((freedom >= _FEWEST) & np.isfinite(np.diag(covariance)) & (np.diag(covariance) > 0))
    k = len(good)
    if k < 2 or whole < k:
        return float("nan")
    contrasts = np.eye(k)[1:] - np.eye(k)[0]
    apart = contrasts @ mean[good]
    wald = float(apart @ np.linalg.solve(contrasts @ covariance[np.ix_(good, good)] @ contrasts.T, apart))
    weight = 1 / np.diag(covariance)[good]
    surplus = float(((1 - weight / weight.sum()) ** 2 / freedom[good]).sum())
    statistic = wald / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * surplus)
    welch = special.fdtrc(k - 1, (k**2 - 1) / (3 * surplus), max(statistic, 0.0))
    rest = whole - k + 2
    return float(max(welch, special.fdtrc(k - 1, rest, max(wald, 0.0) / (k - 1) * rest / whole)))


def _products(engine: Any, cells: Any, cluster: str, size: int, parts: int) -> FloatMatrix:
    """Return n n, n y, y n and y y of each cluster's counts n and sums y in two parts, summed over clusters.

    The clusters are users if ``cluster`` is "both".
    """
    out = np.zeros((4, size, size))
    if cluster == "impression":
        return out
    key = CLUSTER_KEYS[cluster][0][0]
    t = cells.filter(cells[key].notnull())
    each = t.group_by("pair", key, whole=(t.pair / parts).floor().cast("int64")).agg(
        n=t.count().cast("float64"), y=t.y.sum().cast("float64") / UNIT
    )
    other = each.rename(other_pair="pair", other_n="n", other_y="y")
    both = each.join(other, [key, "whole"]).filter(lambda one: one.pair < one.other_pair)
    sums = {"nn": both.n * both.other_n, "ny": both.n * both.other_y}
    sums |= {"yn": both.y * both.other_n, "yy": both.y * both.other_y}
    table = both.group_by("pair", "other_pair").agg(**{name: product.sum() for name, product in sums.items()})
    found = engine.run(table).to_pydict()
    for k, name in enumerate(sums):
        out[k, found["pair"], found["other_pair"]] = found[name]
    return out
