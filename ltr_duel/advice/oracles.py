"""Simulated users of a world (`world`), and their loss with the lists they see, for three kinds of candidates.

The loss of a list is the NDCG of the best ranker's list for the same query, minus the NDCG of the list. A comparison
with the best ranker's mean NDCG over all queries would have the same mean, but much more noise from the choice of
queries.

Pairs: the outcomes of a pair are independent of everything else, so they can be simulated before they are requested. A
tape contains the next outcomes of each pair, and is refilled every few steps. The loop of a policy thus depends on
tapes only, and is compiled once rather than for each method. The results are the same as if users saw the lists one by
one.

Sets: each list is interleaved in the step in which the policy requests it.

Apart: the plain A/B test. Each user sees the list of one random ranker. The ranker with the highest mean of a click
metric is named; the metric is the reciprocal rank of the first click, or 0 if there is no click.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.bandits import duel, multiduel
from ltr_duel.core import (
    FloatMatrix,
    FloatVector,
    IntMatrix,
    IntVector,
    SignMatrix,
    Streams,
    coin,
    implement,
    kernel,
    random_below,
    uniform,
    vector,
)
from ltr_duel.interleaving import Comparison, click_list, compare_pair, compare_slate


class Yardstick(NamedTuple):
    """The data for computing the NDCG of a list, and of the best ranker's list."""

    worth: FloatVector  # (n_docs,) contribution of a document to the NDCG of its query if it is at the top
    discount: FloatVector  # (10 or fewer,) share of this contribution at each position
    best: FloatVector  # (n_queries,) NDCG of the best ranker's list


@kernel
def judge(c: Comparison, yardstick: Yardstick, query: int) -> float:
    """Return the NDCG of the best ranker's list, minus the NDCG of the list that is shown."""
    start = c.lists.query_ptr[query]
    length = min(c.lists.query_ptr[query + 1] - start, min(c.page.shown.shape[0], yardstick.discount.shape[0]))
    lost = yardstick.best[query]
    for k in range(length):
        lost -= yardstick.worth[start + c.page.shown[k]] * yardstick.discount[k]
    return lost


class Tape(NamedTuple):
    """The next outcomes of each pair, and the sum of users' loss over the outcomes that were used."""

    number: IntMatrix  # (K, K) number of the pair
    first: IntVector  # (pairs,) first < second
    second: IntVector  # (pairs,)
    outcome: SignMatrix  # (pairs, length) +1: the first won
    cost: FloatMatrix  # (pairs, length) the user's loss with the list shown
    played: IntVector  # (pairs,) number of outcomes simulated so far
    used: IntVector  # (pairs,) number of outcomes used so far
    lost: FloatVector  # (1,) sum of users' loss with the lists of the used outcomes
    met: FloatVector  # (K,) exposure of each ranker in these lists


def new_tape(n_arms: int, length: int) -> Tape:
    """Return an empty tape."""
    first, second = (part.astype(np.int64) for part in np.triu_indices(n_arms, 1))
    number: NDArray[np.int64] = np.zeros((n_arms, n_arms), np.int64)
    number[first, second] = number[second, first] = np.arange(len(first))
    room = (len(first), length)
    return Tape(
        number,
        first,
        second,
        np.zeros(room, np.int8),
        np.zeros(room),
        np.zeros(len(first), np.int64),
        np.zeros(len(first), np.int64),
        np.zeros(1),
        np.zeros(n_arms),
    )


@kernel
def fill_tape(tape: Tape, c: Comparison, yardstick: Yardstick, turned: FloatMatrix, streams: Streams) -> None:
    """Simulate outcomes until the number of unused outcomes of each pair equals the length of the tape."""
    n_queries, length = c.lists.query_ptr.shape[0] - 1, tape.outcome.shape[1]
    for pair in range(tape.first.shape[0]):
        first, second = tape.first[pair], tape.second[pair]
        share = turned[first, second]
        while tape.played[pair] < tape.used[pair] + length:
            query = random_below(n_queries, streams.queries)
            outcome = vector.sign(compare_pair(c, query, first, second, streams.lists, streams.clicks), 0.0)
            if outcome == 0:
                outcome = coin(streams.feedback)
            elif share > 0.0 and uniform(streams.feedback) < share:
                outcome = -outcome
            place = tape.played[pair] % length
            tape.outcome[pair, place] = outcome
            tape.cost[pair, place] = judge(c, yardstick, query)
            tape.played[pair] += 1


def _duel(oracle: Tape, first: int, second: int, streams: Streams) -> int:
    pair = oracle.number[first, second]
    place = oracle.used[pair] % oracle.outcome.shape[1]
    oracle.used[pair] += 1
    oracle.lost[0] += oracle.cost[pair, place]
    oracle.met[first] += 0.5
    oracle.met[second] += 0.5
    outcome = oracle.outcome[pair, place]
    return outcome if first < second else -outcome


implement(duel, Tape, _duel)


class SetOracle(NamedTuple):
    """Users, and their loss with lists of several rankers; the loss with a single ranker follows from the pulls."""

    comparison: Comparison
    yardstick: Yardstick
    turned: FloatMatrix  # (K, K) for each pair, the share of decided outcomes that are reversed
    lost: FloatVector  # (1,) sum of users' loss with the lists shown
    met: FloatVector  # (K,) exposure of each ranker in these lists


def _multiduel(oracle: SetOracle, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    c = oracle.comparison
    query = random_below(c.lists.query_ptr.shape[0] - 1, streams.queries)
    compare_slate(c, query, slate, size, won, streams.lists, streams.clicks)
    oracle.lost[0] += judge(c, oracle.yardstick, query)
    for a in range(size):
        oracle.met[slate[a]] += 1.0 / size
        for b in range(a + 1, size):
            turned = oracle.turned[slate[a], slate[b]]
            if won[a, b] == 0:
                won[a, b] = coin(streams.feedback)
            elif turned > 0.0 and uniform(streams.feedback) < turned:
                won[a, b] = -won[a, b]


implement(multiduel, SetOracle, _multiduel)


@kernel
def show_apart(c: Comparison, users: int, score: FloatVector, shown: IntVector, streams: Streams) -> None:
    """For each user, show one ranker; add the click metric to its ``score`` (K,), and 1 to its ``shown`` (K,)."""
    n_queries, n_arms, top = c.lists.query_ptr.shape[0] - 1, score.shape[0], c.page.shown.shape[0]
    for _ in range(users):
        query, arm = random_below(n_queries, streams.queries), random_below(n_arms, streams.policy)
        start = c.lists.query_ptr[query]
        length = min(c.lists.query_ptr[query + 1] - start, top)
        for k in range(length):
            c.page.shown[k] = c.lists.order[arm, start + k]
        shown[arm] += 1
        if click_list(c, query, length, streams.clicks) > 0:
            score[arm] += 1.0 / (1.0 + c.page.clicks[0])


@kernel
def best_apart(score: FloatVector, shown: IntVector) -> int:
    """Return the ranker with the highest mean; ties are broken by the order, which callers choose at random."""
    best, most = 0, -1.0
    for k in range(score.shape[0]):
        mean = score[k] / max(shown[k], 1)
        if mean > most:
            best, most = k, mean
    return best
