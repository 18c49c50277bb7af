"""The course of a comparison: its state at the end of each time step, and a test of drift.

If novelty wears off, heavy users come first, or rankers are retrained, the mean of the log differs from the mean after
the decision. The test therefore compares the first half of a pair's impressions with the second half. The variance of
the second half's sum is estimated by the variance of the whole sum minus the variance of the first half's sum. If a
user's outcomes in the two halves are positively correlated, this estimate and the variance of the difference are too
large, so the test is conservative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatVector, statistics
from ltr_duel.logs.clusters import Means, cautious_of_moments, naive_means, two_way
from ltr_duel.logs.sums import Grouping, Growth, Sequences

_STEPS = (1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 28 * 86400, 364 * 86400)  # seconds
_MOST = 64  # maximum number of looks
CHANGED = "users or rankers changed"
_LEVEL = 0.05
_FEWEST = 20.0  # minimum effective number of clusters


class Look(NamedTuple):
    """The state of the comparison at a time; arrays have one entry for each pair of the log."""

    time: float
    impressions: int
    outcomes: FloatVector  # number of outcomes of each pair
    mean: FloatVector
    cautious: Means  # means and errors for intervals
    sequences: Sequences


def step_of(first: float, last: float) -> float:
    """Return the shortest step, in seconds, that gives at most 64 looks."""
    return next((step for step in _STEPS if (last - first) / step < _MOST), max(last - first, 1.0) / (_MOST - 1))


def days_to_a_whole_week(days: float) -> float:
    """Return the days until the week is complete; 0 in the first two weeks, and within a day of the end of a week."""
    over = days % 7
    return 7 - over if days >= 14 and 1 < over < 6 else 0.0


def looks_of(engine: Any, times: Any, parts: Sequence[Growth], by: Grouping, step: float) -> list[Look]:
    """Return the state of a comparison at the end of each period of ``step`` seconds (UTC).

    times: a relation with the ``time`` of each impression; parts: the growth of the sums, see `pair_sums`.
    """
    block = f"CAST(floor(time / {step!r}) AS BIGINT)"
    sql = f"SELECT {block} AS block, count(*) AS n, max(time) AS last FROM shown GROUP BY {block} ORDER BY 1"
    periods = engine.query(sql, shown=times).to_pydict()
    blocks, unit = np.array(periods["block"], np.int64), float(by.unit)

    def until(part: Growth, name: str, scale: float = 1.0) -> FloatVector:
        return np.asarray(part.until(name, blocks, by.pairs) / scale, np.float64)

    n, total, square = (until(parts[0], name, k) for name, k in (("n", 1.0), ("total", unit), ("square", unit)))
    if by.cluster == "impression":
        kinds = [naive_means(n + 2, total, square + 2)]
    else:
        scales = {"nn": 1.0, "nt": unit, "tt": unit**2}
        products = [[until(part, name, scale) for name, scale in scales.items()] for part in parts]
        kinds = [cautious_of_moments(n, total, square, *moments) for moments in products]
    mean = np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0)
    means, sequences = two_way(*kinds) if by.cluster == "both" else kinds[0], parts[0].sequences(by, blocks)
    impressions = np.cumsum(periods["n"]).tolist()
    return [
        Look(last, impressions[k], n[k], mean[k], means.of(k), sequences.of(k))
        for k, last in enumerate(periods["last"])
    ]


def drift_notes(looks: Sequence[Look], names: Sequence[tuple[str, str]]) -> list[str]:
    """Return a sentence for each pair whose mean differs between the first and the second half of its impressions."""
    if not looks:
        return []
    last = looks[-1]
    p, said = np.full(len(names), np.nan), [""] * len(names)
    for k, (first, second) in enumerate(names):
        earlier = [one for one in looks[:-1] if len(one.mean) > k and one.outcomes[k] > 0]
        half = min(earlier, key=lambda one: abs(one.outcomes[k] - last.outcomes[k] / 2), default=last)
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
        said[k] = (
            f"{ahead} against {behind}: the mean outcome of the first {n / last.outcomes[k]:.0%} of the impressions,"
            f" {sign * means[0]:+z.4f}, differs from the mean of the rest, {sign * means[1]:+z.4f}"
        )
    corrected = statistics.holm(p)
    return [f"{said[k]} (p = {corrected[k]:.2g}): {CHANGED}" for k in np.flatnonzero(corrected < _LEVEL)]
