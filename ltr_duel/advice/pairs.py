"""Users who are shown lists made of two rankers, on tape: the oracle of policies that compare pairs.

The outcomes of a pair are independent of everything else, so they can be played before they are asked for. A tape
holds the next outcomes of each pair, and is filled up every few steps. So a policy's loop knows tapes alone, and is
compiled once and not once for each method; the outcomes are those of users who see the lists one by one.
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
    """The next outcomes of each pair, and what users lost by those that were asked for."""

    number: IntMatrix  # (K, K) of the pair
    first: IntVector  # (pairs,) first < second
    second: IntVector  # (pairs,)
    outcome: SignMatrix  # (pairs, length) +1: the first won
    cost: FloatMatrix  # (pairs, length) what the user lost by the list shown
    played: IntVector  # (pairs,) how many outcomes were put on the tape so far
    used: IntVector  # (pairs,) how many of them were asked for
    lost: FloatVector  # (1,) the sum of what users lost by the lists of those
    met: FloatVector  # (K,) exposure of each ranker in those lists


def new_tape(n_arms: int, length: int) -> Tape:
    """Make a tape with nothing on it."""
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
    """Play until each pair has as many outcomes ahead as the tape is long."""
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
