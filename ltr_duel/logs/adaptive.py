"""Valid means and intervals for logs whose rankers were chosen by a policy that reacts to earlier outcomes.

An adaptive policy shows losing rankers less often. How many outcomes a pair has therefore depends on these outcomes, so
their mean is biased (Nie, Tian, Taylor, Zou, AISTATS 2018). The confidence sequence remains valid: the policy chooses
pairs by past outcomes only, so the expectation of a new user's outcome is the pair's mean, and a bet that this mean is
higher or lower has no expected gain (`ltr_duel.logs.sequential`). The interval is valid at any time, including the end
of the log. It assumes that each impression has a new user, and holds only for the queries of the log.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ltr_duel.bandits import POLICIES
from ltr_duel.core import FloatVector, InputError
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.sequential import confidence_sequence
from ltr_duel.logs.sums import Sequences


def policies_of(engine: Any, rows: Any) -> list[str]:
    """Return the policies of the log that react to outcomes."""
    if "policy" not in rows.columns:
        return []
    sql = "SELECT policy, min(line) AS first FROM t GROUP BY policy ORDER BY first"
    named = [row["policy"] for row in engine.rows(sql, t=rows)]
    return [name for name in named if name is not None and _reacts(name)]


class AdaptiveMeans(NamedTuple):
    """Valid means and intervals for the pairs of an adaptive log; each field has one entry per pair."""

    means: Means
    low: FloatVector
    high: FloatVector
    p: FloatVector


def adaptive_means(sequences: Sequences, confidence: float, tests: float = 1.0) -> AdaptiveMeans:
    """Return means, intervals (simultaneous for ``tests`` pairs) and uncorrected p-values of the confidence sequences.

    The standard error is the one of a normal interval of the same width.
    """
    low, high, log_e = confidence_sequence(*sequences, confidence=confidence, tests=tests)
    error = (high - low) / 2 / float(special.ndtri(1 - (1 - confidence) / tests / 2))
    means = Means(sequences.mean, error, sequences.n - 1)
    return AdaptiveMeans(means, low, high, np.minimum(np.exp(-log_e), 1.0))


def _reacts(name: str) -> bool:
    """Whether a policy's choices depend on outcomes; unregistered policies are assumed to be adaptive."""
    try:
        return POLICIES.configure(name).component.adaptive
    except InputError:
        return True


def adaptive_note(policies: list[str], cluster: str) -> str:
    """Return the note on a log whose rankers were chosen by policies."""
    names = " and ".join(f"'{name}'" for name in policies)
    of, holds = "users' first impressions", "if users return, the results are approximate"
    if cluster == "impression":
        of, holds = "impressions", "the results assume that impressions are independent of each other"
    return (
        f"{names} chose the rankers by earlier outcomes, so the plain mean of a pair that was dropped early is biased;"
        f" the table has a confidence sequence of {of}; {holds}"
    )
