"""What ECW-RMED keeps from step to step is what it would compute anew."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from ltr_duel.bandits.compiling import plain_text
from ltr_duel.bandits.policies.ecw_rmed import cheapest_plan, record
from ltr_duel.bandits.policy import POLICIES
from ltr_duel.bandits.state import arrays_in, with_arrays


def forgetful(state):
    """Return a copy of a state that keeps neither orders nor plan."""
    copy = with_arrays(state, dict(arrays_in(state)))
    copy.superiors.size[:] = 0
    copy.superiors.cost[:] = inf
    copy.superiors.stale[:] = 1
    copy.now[0].planned = -1
    return copy


@pytest.mark.parametrize("between", [1, 4])
def test_the_plan_that_is_kept_is_the_plan_made_anew(between):
    n_arms, rng, plans, winners = 9, np.random.default_rng(between), [], set()
    policy = POLICIES["ecw_rmed"]
    state = policy.init(n_arms, 0, policy.params())
    count, plan = plain_text(record), plain_text(cheapest_plan)
    for step in range(400 * between):
        count(state, *rng.choice(n_arms, 2, replace=False))
        if step >= 100 and step % between == 0:
            anew = forgetful(state)
            winner = plan(state)
            assert winner == plan(anew)
            np.testing.assert_array_equal(state.plan, anew.plan)
            np.testing.assert_array_equal(
                state.superiors.order[0, : state.losses[0]], anew.superiors.order[0, : state.losses[0]]
            )
            plans.append((state.plan > 0).sum())
            winners.add(winner)
    assert len(winners) > 3 and np.mean(plans) > n_arms
