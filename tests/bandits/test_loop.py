"""The compiled loop takes the steps of the loop that `ltr_duel.bandits.hooks` shows in plain Python."""

import pytest

from ltr_duel.bandits import POLICIES, MatrixOracle, Run
from ltr_duel.bandits.hooks import plain_loop
from ltr_duel.core import Streams, stream
from tests.bandits.matrices import bradley_terry


@pytest.mark.parametrize("name", ["rucb", "interleaved_filter", "double_thompson"])
def test_the_fast_loop_equals_the_plain_one(name):
    policy, steps, coins = POLICIES[name], 400, stream(3, "coins")
    run = Run.on_matrix(policy, bradley_terry(5), seed=3, horizon=steps, keep=steps)
    run.advance(steps)
    state = policy.init(5, steps if policy.needs_horizon else 0, policy.params())
    streams = Streams(stream(3, "policy"), coins, coins, coins, coins)
    path, best = plain_loop(state, policy.params(), MatrixOracle(bradley_terry(5)), streams, steps)
    assert [tuple(map(int, pair)) for pair in path] == [tuple(pair) for pair in run.path.tolist()]
    assert best == run.recommend()
