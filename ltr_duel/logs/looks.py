"""How a comparison developed over time, and a test of whether the mean outcome changed.

Means may change, for example when novelty wears off, when heavy users come first, or when rankers are retrained. The
test compares the first half of a pair's impressions with the second half.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, statistics
from ltr_duel.logs.clusters import Means, naive_means
from ltr_duel.logs.sums import Course, PairSums, Sequences

_STEPS = (1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 28 * 86400, 364 * 86400)  # seconds
_MOST = 64  # maximum number of looks
CHANGED = "users or rankers changed"
_LEVEL = 0.05
_FEWEST = 20.0  # minimum effective number of clusters


class Look(NamedTuple):
    """The state of a comparison at one time. Arrays have one entry per pair."""

    time: float
    impressions: int
    outcomes: FloatVector  # number of outcomes of each pair
    mean: FloatVector
    cautious: Means  # means and errors for intervals
    sequences: Sequences


def step_of(first: float, last: float) -> float:
    """Return the shortest time between looks, in seconds, that gives at most 64 looks."""
    return next((step for step in _STEPS if (last - first) / step < _MOST), max(last - first, 1.0) / (_MOST - 1))


def looks_of(engine: Any, times: Any, sums: PairSums, courses: Sequence[Course], step: float) -> list[Look]:
    """Return the state of a comparison at the end of each period of ``step`` seconds (UTC).

    times: a relation with the ``time`` of each impression.
    sums, courses: results of `pair_sums`.
    """
    period = f"CAST(floor(time / {step!r}) AS BIGINT)"
    sql = f"SELECT {period} AS period, count(*) AS n, max(time) AS last FROM shown GROUP BY {period} ORDER BY 1"
    shown = engine.query(sql, shown=times).to_pydict()
    periods, pairs, (course, first) = np.array(shown["period"], np.int64), len(sums.wins), courses
    n, total, square = (course.until(name, periods, pairs) for name in ("n", "total", "square"))
    plain, end = naive_means(n + 2, total, square + 2), sums.cautious()
    with np.errstate(invalid="ignore", divide="ignore"):
        # the factor by which clusters increase the error at the end; for earlier looks, it may be too large
        error = plain.error * np.maximum(end.error / plain.error[-1], 1.0)
        freedom = np.maximum((end.freedom + 1) * n / n[-1] - 1, 0.0)
        mean = np.where(n > 0, total / n, np.nan)
    sequences, impressions = first.sequences(periods, pairs), np.cumsum(shown["n"]).tolist()
    return [
        Look(last, impressions[k], n[k], mean[k], Means(plain.mean[k], error[k], freedom[k]), sequences.of(k))
        for k, last in enumerate(shown["last"])
    ]


def drift_notes(looks: Sequence[Look], names: Sequence[tuple[str, str]]) -> list[str]:
    """Return a sentence for each pair whose mean differs between the first and the second half of its impressions."""
    if not looks:
        return []
    last = looks[-1]
    p, sentences = np.full(len(names), np.nan), [""] * len(names)
    for k, (first, second) in enumerate(names):
        earlier = [look for look in looks[:-1] if len(look.mean) > k and look.outcomes[k] > 0]
        half = min(earlier, key=lambda look: abs(look.outcomes[k] - last.outcomes[k] / 2), default=last)
        n, later = half.outcomes[k], last.outcomes[k] - half.outcomes[k]
        if later <= 0 or half.cautious.freedom[k] < _FEWEST:
            continue
        sums = half.mean[k] * n, last.mean[k] * last.outcomes[k] - half.mean[k] * n
        variances = (half.cautious.error[k] * n) ** 2, (last.cautious.error[k] * last.outcomes[k]) ** 2
        rest = max(variances[1] - variances[0], 0.0)
        means = sums[0] / n, sums[1] / later
        error = np.sqrt(variances[0] / n**2 + rest / later**2)
        p[k] = statistics.student_p(means[0] - means[1], error, half.cautious.freedom[k])
        sign = 1 if last.mean[k] >= 0 else -1  # the leading ranker comes first, as in the table
        ahead, behind = (first, second)[::sign]
        sentences[k] = (
            f"{ahead} against {behind}: the mean outcome of the first {n / last.outcomes[k]:.0%} of the impressions,"
            f" {sign * means[0]:+z.4f}, differs from the mean of the rest, {sign * means[1]:+z.4f}"
        )
    corrected = statistics.holm(p)
    return [f"{sentences[k]} (p = {corrected[k]:.2g}): {CHANGED}" for k in np.flatnonzero(corrected < _LEVEL)]
