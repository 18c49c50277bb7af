"""Valid means and intervals for logs whose rankers were chosen by a policy that reacts to earlier outcomes.

An adaptive policy shows losing rankers less often. How many outcomes a pair has therefore depends on these outcomes, so
their mean is biased (Nie, Tian, Taylor, Zou, AISTATS 2018). The confidence sequence remains valid: the policy chooses
pairs by past outcomes only, so the expectation of a new user's outcome is the pair's mean, and a bet that this mean is
higher or lower has no expected gain (`ltr_duel.logs.bets`). The interval is valid at any time, including the end of the
log. It assumes that each impression has a new user, and holds only for the queries of the log.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from ltr_duel.bandits import POLICIES
from ltr_duel.core import FloatVector, InputError, statistics
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.sequential import confidence_sequence
from ltr_duel.logs.sums import Sequences

if TYPE_CHECKING:
    from ltr_duel.logs.comparison import LogComparison


def policies_of(engine: Any, rows: Any) -> list[str]:
    """Return the policies of the log that react to outcomes."""
    if "policy" not in rows.columns:
        return []
    named = engine.run(rows.group_by("policy").agg(first=rows.line.min()).order_by("first"))["policy"].to_pylist()
    return [name for name in named if name is not None and _reacts(name)]


def adapted(found: LogComparison, policies: list[str]) -> LogComparison:
    """Return the comparison; for an adaptive log, replace means and intervals by valid ones, and add a note."""
    if not policies:
        return found
    means, low, high, p = adaptive_means(found.sequences, found.confidence)
    return dataclasses.replace(
        found,
        means=means,
        cautious=means,
        low=low,
        high=high,
        p=p,
        p_corrected=statistics.holm(p),
        provenance=found.provenance | {"policies": policies},
        warnings=[_note(policies, found.cluster), *found.warnings],
    )


def first_impressions(found: LogComparison) -> bool:
    """Whether the log is adaptive and its confidence sequences use users' first impressions."""
    return found.adaptive and found.cluster != "impression"


class AdaptiveMeans(NamedTuple):
    """Valid means and intervals for the pairs of an adaptive log; each field has one entry per pair."""

    means: Means
    low: FloatVector
    high: FloatVector
    p: FloatVector


def adaptive_means(sequences: Sequences, confidence: float) -> AdaptiveMeans:
    """Return means, intervals and p-values of the confidence sequences."""
    low, high, log_e = confidence_sequence(*sequences, confidence=confidence)
    error = (high - low) / 2 / float(special.ndtri((1 + confidence) / 2))
    means = Means(sequences.mean, error, sequences.n - 1)
    return AdaptiveMeans(means, low, high, np.minimum(np.exp(-log_e), 1.0))


def _reacts(name: str) -> bool:
    """Whether a policy's choices depend on outcomes; unregistered policies are assumed to be adaptive."""
    try:
        return POLICIES.configure(name).component.adaptive
    except InputError:
        return True


def _note(policies: list[str], cluster: str) -> str:
    names = " and ".join(f"'{name}'" for name in policies)
    of, holds = "users' first impressions", "if users return, the results are approximate"
    if cluster == "impression":
        of, holds = "impressions", "the results assume that impressions are independent of each other"
    return (
        f"{names} chose the rankers by earlier outcomes, so the plain mean of a pair that was dropped early is biased;"
        f" the table has a confidence sequence of {of}; {holds}"
    )
