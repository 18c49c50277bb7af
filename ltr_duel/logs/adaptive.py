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
  The limit needs a smallest probability: at e a pair is shown in e T of T impressions, and these carry weights of
  1 / sqrt(e). So weights are used for all pairs of a log or for none, and never by how often a pair was shown, which
  depends on its outcomes: who was dropped because he lost would else be judged by what he lost.

Both take users for new: a policy that reacts to a user's outcomes chooses what this user sees next. Neither knows of
queries: the answer is for the queries of the log, and where no user is known, impressions are taken for independent.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from ltr_duel.bandits import POLICIES
from ltr_duel.core import FloatMatrix, FloatVector, InputError, statistics
from ltr_duel.logs.clusters import Means, cautious_means, clustered_means, interval_ends
from ltr_duel.logs.hashing import hash_texts
from ltr_duel.logs.outcomes import UNIT
from ltr_duel.logs.sequential import confidence_sequence
from ltr_duel.logs.sums import Sequences

if TYPE_CHECKING:
    from ltr_duel.logs.comparison import LogComparison

COLUMNS = ("policy", "propensity")
_GROUPS = 1024  # clusters of users
_ROWS = 1 << 16
_FEWEST = 30  # groups of users from which the limit is believed
_FLOOR = 100.0  # impressions that the smallest propensity in the log would give a pair
_WEIGH = "weigh impressions"
_FARTHEST = 3.0  # errors by which the sum of 1 / e may be less than the impressions


class Weighed(NamedTuple):
    """Sums of a log by the weights 1 / sqrt(propensity)."""

    weight: FloatMatrix  # weights of each cluster, (pairs, clusters)
    total: FloatMatrix  # weighted outcomes
    square: FloatVector  # weighted squares of each pair
    inverse: FloatVector  # of each pair, the sum of 1 / propensity: about the impressions of the log
    impressions: float  # of the log, that is T
    least: float  # the smallest propensity that the log shows some pair to have had, seen or by what others left

    def doubt(self) -> str:
        """Return why the limit is not to be believed, by T and the propensities alone; empty if it is.

        A pair that was never as unlikely as ``least`` has a sum of 1 / e with mean T and a variance of at most
        T / ``least``. If it has less, it was less likely than any impression tells.
        """
        expected = self.least * self.impressions
        if expected < _FLOOR:
            return (
                f"some pairs had propensities of {self.least:.2g} or less, too little for"
                f" {self.impressions:,.0f} impressions"
            )
        if (self.weight.sum(axis=0) > 0).sum() < _FEWEST:
            return f"users are few: {_FEWEST} are needed"
        if (self.inverse < self.impressions * (1 - _FARTHEST / expected**0.5)).any():
            return "some pair was at times less likely than its rows say"
        return ""


class Choices(NamedTuple):
    """How the rankers of a log's rows were chosen."""

    policies: list[str]  # those that react to outcomes
    sums: Weighed | None  # where all probabilities are known


def choices_of(engine: Any, rows: Any, outcomes: Any, pairs: int) -> Choices:
    """Read who chose the rankers of a log's rows, and sum its outcomes by the probabilities of the choices.

    rows, outcomes: See `ltr_duel.logs.outcomes.Credited`; the rows with `COLUMNS`, if the log has them.
    """
    named, policies = policies_of(engine, rows)
    if not policies or None in named or "propensity" not in rows.columns:
        return Choices(policies, None)
    if engine.value(rows.propensity.isnull().sum()):
        return Choices(policies, None)
    count, total = np.zeros((2, pairs, _GROUPS))
    square, inverse = np.zeros((2, pairs))
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
        np.add.at(inverse, at[0], weight**2)
    e = rows.propensity
    low, high, n = (
        engine.run(rows.aggregate(low=e.min(), high=(e if pairs > 1 else e.nullif(1.0)).max(), n=rows.count()))
        .to_pylist()[0]
        .values()
    )
    return Choices(policies, Weighed(count, total, square, inverse, float(n), least_of(low, high or 0.0, pairs)))


def least_of(low: float, high: float, pairs: int) -> float:
    """Return the smallest propensity that some pair had, of those seen and those that the likeliest left to others."""
    return min(low, (1 - high) / max(pairs - 1, 1))


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
    means, low, high, p, _ = adaptive_means(found.sequences, choices.sums, found.confidence)
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
        warnings=[_note(choices.policies, _how(choices, found.cluster), found.cluster), *found.warnings],
    )


def note_at_any_time(found: LogComparison) -> str:
    """Return the note of an adaptive log above a table of confidence sequences, which weigh nothing."""
    of = "users' first impressions" if first_impressions(found) else "impressions"
    how = f"the table has {of}, unweighted, by a confidence sequence"
    return _note(found.provenance["policies"], how, found.cluster)


def weighs(found: LogComparison) -> bool:
    """Whether the means of an adaptive log are weighted by propensities."""
    return any(_WEIGH in one for one in found.warnings)


def first_impressions(found: LogComparison) -> bool:
    """Whether sequences of an adaptive log are of users' first impressions."""
    return found.adaptive and found.cluster != "impression"


class AdaptiveMeans(NamedTuple):
    """What holds for the pairs of an adaptive log; each field has one entry a pair."""

    means: Means
    low: FloatVector
    high: FloatVector
    p: FloatVector
    weighted: bool  # whether by weights, or by the confidence sequence


def adaptive_means(sequences: Sequences, sums: Weighed | None, confidence: float) -> AdaptiveMeans:
    """Return means, intervals and p-values of pairs, each right alone.

    sums: Used if there is no `doubt`.
    """
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
    """Whether a policy's choices depend on outcomes; one that is not known here may be of any kind."""
    try:
        return POLICIES.configure(name).component.adaptive
    except InputError:
        return True


def _how(choices: Choices, cluster: str) -> str:
    """Say whether means have weights, and why not."""
    how = "means, intervals and p are those of the confidence sequence"
    how += ", over users' first impressions" if cluster == "user" else ""
    if choices.sums is None:
        return how
    doubt = choices.sums.doubt()
    return f"{how} and without weights, as {doubt}" if doubt else f"means, intervals and p {_WEIGH} by the propensity"


def _note(policies: list[str], how: str, cluster: str) -> str:
    names = " and ".join(f"'{name}'" for name in policies)
    holds = "where users return they hold approximately"
    if cluster == "impression":
        holds = "they hold as if impressions were independent of each other"
    return (
        f"{names} chose the rankers by earlier outcomes, so the plain mean of a pair that was left early is biased;"
        f" {how}; {holds}"
    )
