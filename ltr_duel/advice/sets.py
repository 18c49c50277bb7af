"""Oracle of policies that compare sets: users who see lists interleaved from sets of rankers."""

from __future__ import annotations

from typing import NamedTuple

from ltr_duel.advice.judging import Yardstick, judge
from ltr_duel.bandits import multiduel
from ltr_duel.core import (
    FloatMatrix,
    FloatVector,
    IntVector,
    SignMatrix,
    Streams,
    coin,
    implement,
    random_below,
    uniform,
)
from ltr_duel.interleaving import Comparison, compare_slate


class SetOracle(NamedTuple):
    """Users, and their loss by lists of several rankers; the loss by a single ranker follows from the pulls."""

    comparison: Comparison
    yardstick: Yardstick
    turned: FloatMatrix  # (K, K)
    lost: FloatVector  # (1,) sum of users' loss by the lists shown
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
