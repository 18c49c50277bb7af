"""Valid means and intervals for logs whose rankers were chosen by a policy that reacts to earlier outcomes.

An adaptive policy shows losing rankers less often. How many outcomes a pair has therefore depends on these outcomes, so
their mean is biased (Nie, Tian, Taylor, Zou, AISTATS 2018). Two methods remain valid:

- The confidence sequence. The policy chooses pairs by past outcomes only. The expectation of a new user's outcome is
  therefore the pair's mean, so a bet that this mean is higher or lower has no expected gain (`ltr_duel.logs.bets`). The
  interval is valid at any time, including the end of the log.
- The mean with weights 1 / sqrt(e), if the log has the propensity e (the probability) of each choice. The weighted sum
  of deviations is a martingale whose steps have the same conditional variance. The distribution of the sum is therefore
  normal in the limit if e has a lower bound (Hadad, Hirshberg, Zhan, Wager, Athey, PNAS 2021). Weights are used for all
  pairs of a log or for none. A separate choice for each pair would depend on the pair's number of impressions,
  and therefore on its outcomes, so it would bias the pair's mean.

Both methods assume that each impression has a new user. The results hold only for the queries of the log.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from ltr_duel.bandits import POLICIES
from ltr_duel.core import FloatMatrix, FloatVector, InputError, statistics
from ltr_duel.logs.clusters import Means, cautious_means, clustered_means, interval_ends
from ltr_duel.logs.hashing import hash_users
from ltr_duel.logs.outcomes import UNIT
from ltr_duel.logs.sequential import confidence_sequence
from ltr_duel.logs.sums import Sequences

if TYPE_CHECKING:
    from ltr_duel.logs.comparison import LogComparison

_GROUPS = 1024  # number of clusters of users
_ROWS = 1 << 16
_FEWEST = 30  # minimum number of clusters with impressions for the normal limit
_FLOOR = 100.0  # minimum expected impressions of a pair at the lowest propensity
_WEIGH = "weigh impressions"
_FARTHEST = 3.0  # how far the sum of 1 / e may fall below the number of impressions, in standard errors


class Weighed(NamedTuple):
    """Sums of a log with the weights 1 / sqrt(propensity)."""

    weight: FloatMatrix  # sums of the weights, shape (pairs, clusters)
    total: FloatMatrix  # sums of the weighted outcomes, same shape
    square: FloatVector  # sum of the weighted squared outcomes of each pair
    inverse: FloatVector  # sum of 1 / propensity for each pair; its expectation is ``impressions``
    impressions: float  # number of impressions of the log, T
    least: float  # see `least_of`

    def doubt(self) -> str:
        """Return the reason why the weights cannot be used, or "" if they can; the result does not depend on outcomes.

        If a pair's propensity is never below ``least``, its sum of 1 / e has mean T and a variance of at most
        T / ``least``. A sum far below T shows that the true propensity was sometimes below ``least``.
        """
        expected = self.least * self.impressions
        if expected < _FLOOR:
            return (
                f"some pairs had propensities of {self.least:.2g} or less, too low for"
                f" {self.impressions:,.0f} impressions"
            )
        if (self.weight.sum(axis=0) > 0).sum() < _FEWEST:
            return f"there are too few users: {_FEWEST} are needed"
        if (self.inverse < self.impressions * (1 - _FARTHEST / expected**0.5)).any():
            return "a pair was sometimes shown with a lower propensity than its rows report"
        return ""


class Choices(NamedTuple):
    """The adaptive policies that chose rankers of a log, and sums of outcomes with weights by propensities."""

    policies: list[str]  # policies that react to outcomes
    sums: Weighed | None  # None unless each row has a policy and a propensity


def choices_of(engine: Any, rows: Any, outcomes: Any, pairs: int) -> Choices:
    """Return the policies that react to outcomes, and the weighted sums of outcomes if the rows have propensities."""
    named, policies = policies_of(engine, rows)
    if not policies or None in named or "propensity" not in rows.columns:
        return Choices(policies, None)
    if engine.value(rows.propensity.isnull().sum()):
        return Choices(policies, None)
    count, total = np.zeros((2, pairs, _GROUPS))
    square, inverse = np.zeros((2, pairs))
    each = outcomes.select("line", "user", "pair", "y").join(rows.select("line", "propensity"), "line")
    for batch in engine.stream(each.order_by("line", "pair"), _ROWS):  # sums of floats depend on the order
        users = hash_users(batch, batch.column("line").to_numpy().astype(np.uint64))
        at = batch.column("pair").to_numpy(), (users & np.uint64(_GROUPS - 1)).astype(np.int64)
        weight = batch.column("propensity").to_numpy() ** -0.5
        np.add.at(count, at, weight)
        y = batch.column("y").to_numpy() / UNIT
        np.add.at(total, at, weight * y)
        np.add.at(square, at[0], weight * y**2)
        np.add.at(inverse, at[0], weight**2)
    e = rows.propensity
    low, high, n = (
        engine.run(rows.aggregate(low=e.min(), high=(e if pairs > 1 else e.nullif(1.0)).max(), n=rows.count()))
        .to_pylist()[0]
        .values()
    )
    return Choices(policies, Weighed(count, total, square, inverse, float(n), least_of(low, high or 0.0, pairs)))


def least_of(low: float, high: float, pairs: int) -> float:
    """Return the smaller of the lowest propensity and (1 - the highest propensity) / (number of other pairs)."""
    return min(low, (1 - high) / max(pairs - 1, 1))


def policies_of(engine: Any, rows: Any) -> tuple[list[str | None], list[str]]:
    """Return the policies in the rows (None for rows without a policy), and the policies that react to outcomes."""
    if "policy" not in rows.columns:
        return [], []
    named = engine.run(rows.group_by("policy").agg(first=rows.line.min()).order_by("first"))["policy"].to_pylist()
    return named, [name for name in named if name is not None and _reacts(name)]


def adapted(found: LogComparison, choices: Choices) -> LogComparison:
    """Return the comparison; for an adaptive log, replace means and intervals by valid ones, and add a note."""
    if not choices.policies:
        return found
    means, low, high, p, _ = adaptive_means(found.sequences, choices.sums, found.confidence)
    return dataclasses.replace(
        found,
        means=means,
        cautious=means,
        low=low,
        high=high,
        p=p,
        p_corrected=statistics.holm(p),
        provenance=found.provenance | {"policies": choices.policies},
        warnings=[_note(choices.policies, _how(choices, found.cluster), found.cluster), *found.warnings],
    )


def note_at_any_time(found: LogComparison) -> str:
    """Return the note on an adaptive log that stands above a table of confidence sequences (without weights)."""
    of = "users' first impressions" if first_impressions(found) else "impressions"
    how = f"the table has a confidence sequence of {of}, without weights"
    return _note(found.provenance["policies"], how, found.cluster)


def weighs(found: LogComparison) -> bool:
    """Whether the means of an adaptive log are weighted by propensities."""
    return any(_WEIGH in one for one in found.warnings)


def first_impressions(found: LogComparison) -> bool:
    """Whether the log is adaptive and its confidence sequences use users' first impressions."""
    return found.adaptive and found.cluster != "impression"


class AdaptiveMeans(NamedTuple):
    """Valid means and intervals for the pairs of an adaptive log; each field has one entry per pair."""

    means: Means
    low: FloatVector
    high: FloatVector
    p: FloatVector
    weighted: bool  # whether propensity weights were used, rather than the confidence sequence


def adaptive_means(sequences: Sequences, sums: Weighed | None, confidence: float) -> AdaptiveMeans:
    """Return means, intervals and p-values, which are weighted if ``sums`` are given and `Weighed.doubt` returns ""."""
    mean, low, high, log_e = sequences.mean, *confidence_sequence(*sequences, confidence=confidence)
    p: FloatVector = np.minimum(np.exp(-log_e), 1.0)
    weighted = sums is not None and not sums.doubt()
    if sums is not None and weighted:
        cautious = cautious_means(sums.weight, sums.total, sums.square)
        mean = clustered_means(sums.weight, sums.total).mean
        low, high = interval_ends(cautious, confidence)
        p = np.maximum(statistics.student_p(*cautious), [statistics.sign_flip_p(total) for total in sums.total])
    error = (high - low) / 2 / float(special.ndtri((1 + confidence) / 2))
    return AdaptiveMeans(Means(mean, error, sequences.n - 1), low, high, p, weighted)


def _reacts(name: str) -> bool:
    """Whether a policy's choices depend on outcomes; unregistered policies are assumed to be adaptive."""
    try:
        return POLICIES.configure(name).component.adaptive
    except InputError:
        return True


def _how(choices: Choices, cluster: str) -> str:
    """Return a clause on how the means were computed and, if propensity weights could not be used, the reason."""
    how = "means, intervals and p are those of the confidence sequence"
    how += ", over users' first impressions" if cluster == "user" else ""
    if choices.sums is None:
        return how
    doubt = choices.sums.doubt()
    return f"{how}, without weights, because {doubt}" if doubt else f"means, intervals and p {_WEIGH} by the propensity"


def _note(policies: list[str], how: str, cluster: str) -> str:
    names = " and ".join(f"'{name}'" for name in policies)
    holds = "if users return, the results are approximate"
    if cluster == "impression":
        holds = "the results assume that impressions are independent of each other"
    return (
        f"{names} chose the rankers by earlier outcomes, so the plain mean of a pair that was dropped early is biased;"
        f" {how}; {holds}"
    )
