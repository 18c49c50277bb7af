"""Logs of a policy that chose the rankers by earlier outcomes: what their means and intervals are worth.

A pair that loses is shown less, and one that won by luck is shown until the luck is over. So the number of outcomes of
a pair depends on the outcomes, its mean is biased (Nie, Tian, Taylor, Zou, AISTATS 2018), and an interval for a fixed
number of outcomes does not hold. Two things do:

- The confidence sequence. A pair is chosen by the past, so the next outcome of a new user has the mean of the pair, and
  bets on it cannot win in the mean, whatever the policy does. The interval holds at any time, so at this one.
- Where the log has the probability e of each choice: the mean with weights w = 1 / sqrt(e). The sum of w (y - mean)
  over the pair's outcomes is a martingale, and as the pair is chosen with probability e, each step has the same
  conditional variance. So the studentised sum is normal in the limit (Hadad, Hirshberg, Zhan, Wager, Athey, PNAS 2021).
  Their estimator also uses the steps in which the pair is not shown; the log does not hold its probability there.

Both take users for new: a policy that reacts to a user's outcomes chooses what this user sees next.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ltr_duel.bandits import POLICIES
from ltr_duel.core import FloatMatrix, FloatVector, InputError, statistics
from ltr_duel.logs.clusters import Means, cautious_means, clustered_means, interval_ends
from ltr_duel.logs.hashing import hash_texts
from ltr_duel.logs.outcomes import UNIT
from ltr_duel.logs.sequential import confidence_sequence
from ltr_duel.logs.sums import Sequences

if TYPE_CHECKING:
    from ltr_duel.logs.compare import LogComparison

COLUMNS = ("policy", "propensity")
_GROUPS = 1024  # clusters of users
_ROWS = 1 << 16
_FEWEST = 30  # clusters of equal size from which the limit is believed


class Choices(NamedTuple):
    """How the rankers of a log's rows were chosen."""

    policies: list[str]  # those that react to outcomes
    sums: (
        tuple[FloatMatrix, FloatMatrix, FloatVector] | None
    )  # as of `adaptive_means`, where all probabilities are known


def choices_of(engine: Any, rows: Any, outcomes: Any, pairs: int) -> Choices:
    """Read who chose the rankers of a log's rows, and sum its outcomes by the probabilities of the choices.

    Parameters
    ----------
    engine : Engine
    rows, outcomes : ibis Table
        See `ltr_duel.logs.outcomes.Credited`; the rows with `COLUMNS`, if the log has them.
    pairs : int
    """
    named, policies = policies_of(engine, rows)
    if not policies or None in named or "propensity" not in rows.columns:
        return Choices(policies, None)
    if engine.value(rows.propensity.isnull().sum()):
        return Choices(policies, None)
    count, total = np.zeros((2, pairs, _GROUPS))
    square = np.zeros(pairs)
    each = outcomes.select("line", "user", "pair", "y").join(rows.select("line", "propensity"), "line")
    for batch in engine.stream(each.order_by("line", "pair"), _ROWS):  # sums of floating-point numbers have an order
        known = batch.column("user").is_valid().to_numpy(zero_copy_only=False)
        own = batch.column("line").to_numpy().astype(np.uint64)
        users = np.where(known, hash_texts(batch.column("user")), own)
        at = batch.column("pair").to_numpy(), (users & np.uint64(_GROUPS - 1)).astype(np.int64)
        weight = batch.column("propensity").to_numpy() ** -0.5
        np.add.at(count, at, weight)
        y = batch.column("y").to_numpy() / UNIT
        np.add.at(total, at, weight * y)
        np.add.at(square, at[0], weight * y**2)
    return Choices(policies, (count, total, square))


def policies_of(engine: Any, rows: Any) -> tuple[list[str | None], list[str]]:
    """Return the policies that rows name, None where one names none, and those that react to outcomes."""
    if "policy" not in rows.columns:
        return [], []
    named = engine.run(rows.group_by("policy").agg(first=rows.line.min()).order_by("first"))["policy"].to_pylist()
    return named, [name for name in named if name is not None and _reacts(name)]


def adapted(found: LogComparison, choices: Choices) -> LogComparison:
    """Return the comparison with what holds for an adaptive log, and a note; another one as it is."""
    if not choices.policies:
        return found
    means, low, high, p, weighted = adaptive_means(found.sequences, choices.sums, found.confidence)
    once = found.cluster in ("user", "both")
    return dataclasses.replace(
        found,
        means=means,
        cautious=means,
        low=low,
        high=high,
        p=p,
        p_corrected=statistics.holm(p),
        bootstrap=np.full_like(found.bootstrap, np.nan),
        provenance=found.provenance | {"policies": choices.policies},
        warnings=[_note(choices.policies, weighted, once), *found.warnings],
    )


class AdaptiveMeans(NamedTuple):
    """What holds for the pairs of an adaptive log; each field has one entry a pair."""

    means: Means
    low: FloatVector
    high: FloatVector
    p: FloatVector
    weighted: NDArray[np.bool_]  # whether by weights, or by the confidence sequence


def adaptive_means(
    sequences: Sequences, sums: tuple[FloatMatrix, FloatMatrix, FloatVector] | None, confidence: float
) -> AdaptiveMeans:
    """Return means, intervals and p-values of pairs, each right alone.

    Parameters
    ----------
    sequences : Sequences
    sums : tuple of ndarray of float64, optional
        Weights of each cluster, 1 / sqrt(propensity), and weighted outcomes, both of shape (pairs, clusters); weighted
        squares of each pair. Pairs with fewer than some thirty clusters have the interval of the confidence sequence
        all the same.
    confidence : float
    """
    always = confidence_sequence(*sequences, confidence=confidence)
    mean, low, high = sequences.mean, always.low, always.high
    p: FloatVector = np.minimum(np.exp(-always.log_e), 1.0)
    weighted = np.zeros(len(p), np.bool_)
    if sums is not None:
        means, cautious = clustered_means(*sums[:2]), cautious_means(*sums)
        weighted = means.freedom >= _FEWEST - 1
        ends = interval_ends(cautious, confidence)
        signs = np.array([statistics.sign_flip_p(total) for total in sums[1]])
        mean = np.where(weighted, means.mean, mean)
        low, high = np.where(weighted, ends[0], low), np.where(weighted, ends[1], high)
        p = np.where(weighted, np.maximum(statistics.student_p(*cautious), signs), p)
    error = (high - low) / 2 / float(special.ndtri((1 + confidence) / 2))
    return AdaptiveMeans(Means(mean, error, sequences.n - 1), low, high, p, weighted)


def _reacts(name: str) -> bool:
    """Whether a policy's choices depend on outcomes; one that is not known here may be of any kind."""
    try:
        return POLICIES.configure(name).component.adaptive
    except InputError:
        return True


def _note(policies: list[str], weighted: NDArray[np.bool_], once: bool) -> str:
    names = " and ".join(f"'{name}'" for name in policies)
    how = "means, intervals and p are those of the confidence sequence" + ", over users' first impressions" * once
    if weighted.all():
        how = "means, intervals and p weigh impressions by the propensity"
    elif weighted.any():
        how = f"of {weighted.sum():,} pairs means, intervals and p weigh impressions by the propensity; other {how}"
    return (
        f"{names} chose the rankers by earlier outcomes, so the plain mean of a pair that was left early is biased;"
        f" {how}; where users return they hold approximately"
    )
