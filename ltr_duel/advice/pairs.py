"""Oracle of policies that compare pairs: outcomes of interleaved lists, recorded in advance on a tape.

The outcomes of a pair are independent of everything else, so they can be simulated before they are requested. A tape
holds the next outcomes of each pair, and is refilled every few steps. So the loop of a policy depends on tapes only,
and is compiled once rather than for each method; the outcomes are those of users who see the lists one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ltr_duel.advice.judging import Yardstick, judge
from ltr_duel.bandits import duel
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
from ltr_duel.interleaving import Comparison, compare_pair


class Tape(NamedTuple):
    """The next outcomes of each pair, and users' loss by the outcomes that were used."""

    number: IntMatrix  # (K, K) number of the pair
    first: IntVector  # (pairs,) first < second
    second: IntVector  # (pairs,)
    outcome: SignMatrix  # (pairs, length) +1: the first won
    cost: FloatMatrix  # (pairs, length) user's loss by the list shown
    played: IntVector  # (pairs,) number of outcomes simulated so far
    used: IntVector  # (pairs,) number of outcomes used so far
    lost: FloatVector  # (1,) sum of users' loss by the lists of the used outcomes
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
    """Simulate outcomes until each pair has as many unused ones as the tape is long."""
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
