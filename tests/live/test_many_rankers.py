"""The state of a hundred rankers must not take minutes."""

import time

import numpy as np

from tests.live.shop import opened, settings


def test_the_state_of_a_hundred_rankers_takes_no_minutes(tmp_path):
    names = tuple(f"ranker {k}" for k in range(100))
    with opened(tmp_path, settings(rankers=names)) as experiment:
        memory, rng = experiment._ready().memory, np.random.default_rng(0)
        memory.tally.score[...] = memory.tally.fresh[...] = rng.integers(1, 60, (3, 4950))
        state = experiment.state()
        began = time.process_time()
        experiment.state()
        assert time.process_time() - began < 5.0  # 0.2 s on an idle machine
    assert {one.verdict for one in state.decisions} == {"go on", "stop"}
