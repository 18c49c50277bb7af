"""Supplementary means, on which no decision is based: the primary outcome in parts of the log, and secondary outcomes.

Each part of each pair is summed as a separate pair, so that means, errors and sequences are computed as for the whole
log. The intervals of a table hold simultaneously (Bonferroni over all its rows); p-values are corrected by Holm's rule.
For each pair, one test shows whether the means of the parts differ; it is valid even if users are in several parts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, statistics
from ltr_duel.logs.adaptive import first_impressions
from ltr_duel.logs.comparison import LogComparison, compared
from ltr_duel.logs.limits import Limits, ahead, limits, places_in
from ltr_duel.logs.log import ClickLog
from ltr_duel.logs.outcomes import UNIT, credited
from ltr_duel.logs.parts import divided
from ltr_duel.logs.sums import CLUSTER_KEYS, Grouping, pair_sums

DATED = ("day", "week")
_LEVEL = 0.05  # level of the test of interaction
_WHAT = {
    "day": "days",
    "week": "weeks",
    "new": "users' first 24 hours and later times",
    "heavy": "users who come often and others",
}


class Beside(NamedTuple):
    """A table of supplementary means: the primary outcome in parts of the log, or secondary outcomes."""

    by: str  # the first column: day, week, new, heavy, outcome, or a column of the log
    frame: pd.DataFrame  # a row for each pair and part; the ranker that leads in the whole log comes first
    notes: list[str]  # notes on the table
    differ: Sequence[str] = ()  # a line on whether the parts differ, for each pair; the clearest pair first
    of: str = ""  # the unit of the means, such as "first impressions"; "" if all impressions count equally

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


def sliced(
    log: ClickLog,
    found: LogComparison,
    by: str,
    *,
    rankers: Collection[str] = (),
    confidence: float = 0.95,
    any_time: bool = False,
) -> Beside | None:
    """Compare the rankers in each part of a log, by time, user or a column; None if the log has only one part."""
    outcomes, rows, _, whole = credited(log, rankers)
    t, labels = divided(log, rows, outcomes, by)
    if len(labels) < 2:
        return None
    parts, pairs = len(labels), len(found.pairs)
    named = "user" in rows.columns and not log.engine.value(rows.user.isnull().sum())
    cells = t.mutate(pair=(t.pair * parts + t.part).cast("int64"))
    sums = pair_sums(log.engine, cells, Grouping(pairs * parts, found.cluster, whole, named))
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
    looks = any_time and by not in DATED  # a past day does not change
    within = limits(split, confidence, float(met.sum()), any_time=looks).turned(signs)
    frame = _frame(split, {by: labels * pairs}, signs, within, _users(log, cells, parts, pairs) if by in DATED else {})
    order = [
        k * parts + part for k in np.argsort(found.p, kind="stable") for part in range(parts)
    ]  # the clearest pair first
    frame = frame.iloc[[k for k in order if met[k]]].reset_index(drop=True)
    frame["p_corrected"] = statistics.holm(frame["p_corrected"].to_numpy())
    of = "first impressions" if first_impressions(found) else ""
    if found.adaptive:
        return Beside(by, frame, [], of=of)
    p = interaction_tests(log.engine, cells, split, parts, found.cautious.freedom)
    once = (
        [f"intervals and p of {_WHAT[by]} hold for one look only, even with --stop-at"]
        if any_time and not looks
        else []
    )
    return Beside(by, frame, once, _notes(statistics.holm(p), found, signs[::parts], by))


def secondary(
    found: LogComparison, others: dict[str, LogComparison], *, confidence: float = 0.95, any_time: bool = False
) -> Beside:
    """Return a table of secondary outcomes (without the primary outcome); their tests are corrected together."""
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
    return Beside("outcome", table, [], of="first impressions" if first_impressions(found) else "")


def _frame(
    found: LogComparison, labels: dict[str, Any], signs: IntVector, within: Limits, more: dict[str, Any] | None = None
) -> pd.DataFrame:
    """Return the table, with uncorrected p-values; the ranker that leads by the primary outcome comes first."""
    both = [pair[::sign] for pair, sign in zip(found.named_pairs, signs, strict=True)]
    rankers = dict(zip(("first", "second"), map(list, zip(*both, strict=True)), strict=True))
    means = {"mean": within.mean, "low": within.low, "high": within.high, "p_corrected": within.p}
    return pd.DataFrame({**labels, **rankers, "impressions": found.counts, **(more or {}), **means})


def _notes(p: FloatVector, found: LogComparison, signs: IntVector, by: str) -> list[str]:
    """Return for each pair a line on whether its parts differ, the clearest pair first."""
    pairs = found.named_pairs
    return [
        f"{' > '.join(pairs[k][:: signs[k]])}: {_WHAT.get(by, f'parts by {by}')}"
        f" {'differ' if p[k] < _LEVEL else 'are not shown to differ'} (one look, p = {p[k]:.2g})"
        for k in np.argsort(found.p, kind="stable")
        if not np.isnan(p[k])
    ]


def _users(log: ClickLog, cells: Any, parts: int, pairs: int) -> dict[str, Any]:
    """Return the numbers of users in each part of each pair, and of users who were in no earlier part."""
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


def interaction_tests(engine: Any, cells: Any, split: LogComparison, parts: int, whole: FloatVector) -> FloatVector:
    """Return for each pair the p-value of "its parts have the same mean", or NaN (see `interaction_p`)."""
    products = _products(engine, cells, split.cluster, len(split.pairs), parts)
    p = np.full(len(split.pairs) // parts, np.nan)
    for k in range(len(p)):
        here = slice(k * parts, (k + 1) * parts)
        correlation = _correlation(split, products[:, here, here], here)
        mean, error, freedom = (values[here] for values in split.cautious)
        p[k] = interaction_p(mean, error, freedom, correlation, float(whole[k]))
    return p


def interaction_p(
    mean: FloatVector, error: FloatVector, freedom: FloatVector, correlation: FloatMatrix, whole: float
) -> float:
    """Return the p-value of "all these means are equal", for means with different errors that may be correlated.

    Two p-values follow from Wald's statistic with the full covariance, and the larger p-value is returned. Welch's
    p-value (Biometrika 1951) is valid if no cluster is in two parts; Hotelling's p-value (Annals of Mathematical
    Statistics 1931) is valid if each cluster is in all parts. Parts with fewer than five degrees of freedom are
    omitted. The result is NaN if fewer than two parts remain, or if the number of remaining parts exceeds ``whole``,
    the degrees of freedom in the whole log.
    """
    good = np.flatnonzero((freedom >= 5) & np.isfinite(error) & (error > 0))
    k = len(good)
    if k < 2 or whole < k:
        return float("nan")
    mean, error, freedom = mean[good], error[good], freedom[good]
    covariance = correlation[np.ix_(good, good)] * np.outer(error, error)
    contrasts = np.eye(k)[1:] - np.eye(k)[0]
    apart = contrasts @ mean
    wald = float(apart @ np.linalg.solve(contrasts @ covariance @ contrasts.T, apart))
    weight = error**-2 / (error**-2).sum()
    surplus = float(((1 - weight) ** 2 / freedom).sum())
    statistic = wald / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * surplus)
    welch = special.fdtrc(k - 1, (k**2 - 1) / (3 * surplus), statistic)
    rest = whole - k + 2
    return float(max(welch, special.fdtrc(k - 1, rest, wald / (k - 1) * rest / whole)))


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


def _correlation(split: LogComparison, products: FloatMatrix, here: slice) -> FloatMatrix:
    """Return the correlation of the means of a pair's parts, from the clusters that are in two parts."""
    mean, n = split.means.mean[here], split.counts[here]
    nn, ny, yn, yy = products
    together = yy - mean * yn - mean[:, None] * ny + np.outer(mean, mean) * nn
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = split.means.error[here] * n
        upper = np.nan_to_num(together / np.outer(errors, errors), nan=0.0, posinf=0.0, neginf=0.0)
    return np.eye(len(n)) + upper + upper.T
