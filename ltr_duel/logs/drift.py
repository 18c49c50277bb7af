"""A test of drift: whether the mean outcome changed while the log grew.

The first half of the impressions of a pair is compared with the second. Novelty wears off, heavy users come first,
rankers are retrained: then no mean is the one that a decision will meet. The variance of the second half's sum is taken
to be what the whole has more than the first. If outcomes of a user in both halves go together, that is too much, and so
is the variance of the difference: the test errs on the quiet side. (The p-values are corrected for the pairs by Holm.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ltr_duel.core import statistics
from ltr_duel.logs.looks import Look

CHANGED = "users or rankers changed"
_LEVEL = 0.05
_FEWEST = 20.0  # effective clusters


def drift_notes(looks: Sequence[Look], names: Sequence[tuple[str, str]]) -> list[str]:
    """Return a sentence for each pair whose mean of the first half differs from that of the second."""
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
        sign = 1 if last.mean[k] >= 0 else -1  # as in the table the ranker that is ahead comes first
        ahead, behind = (first, second)[::sign]
        said[k] = (
            f"{ahead} against {behind}: the mean outcome of the first {n / last.outcomes[k]:.0%} of the impressions,"
            f" {sign * means[0]:+.4f}, and that of the rest, {sign * means[1]:+.4f}, differ"
        )
    corrected = statistics.holm(p)
    return [f"{said[k]} (p = {corrected[k]:.2g}): {CHANGED}" for k in np.flatnonzero(corrected < _LEVEL)]
