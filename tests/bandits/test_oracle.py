"""Oracles that loops call by their address: every kind of value arrives, and writes to arrays are seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES, Run, duel, new_recorder, separate
from ltr_duel.core import Streams, implement, stream


class Part(NamedTuple):
    least: float
    whole: bool


@separate
class Counting(NamedTuple):
    asked: np.ndarray
    part: Part
    factor: int
    table: np.ndarray


def _duel(oracle, first, second, streams):
    oracle.asked[first, second] += oracle.factor
    return 1 if oracle.part.whole and oracle.table[second, first] > oracle.part.least else -1


implement(duel, Counting, _duel)


@pytest.mark.parametrize(("whole", "least"), [(True, 0.25), (True, 0.75), (False, 0.25)])
def test_a_loop_that_calls_by_address_reads_every_kind_of_value(whole, least):
    table = np.repeat([[0.0, 0.1, 0.2], [0.5, 0.0, 0.1], [0.8, 0.5, 0.0]], 2, axis=1)[:, ::2]  # with gaps
    counts, rucb = [], POLICIES["rucb"]
    for compiled in (True, False):
        oracle = Counting(np.zeros((3, 3), np.int64), Part(least, whole), 7, table)
        streams = Streams(*(stream(1, name) for name in ("policy", "a", "b", "c", "d")))
        run = Run(rucb, rucb.params(), 3, oracle, streams, new_recorder(3), compiled=compiled)
        run.advance(400)
        counts.append(oracle.asked.tolist())
    assert counts[0] == counts[1]
    assert 0 < np.sum(counts[0]) <= 7 * 400
