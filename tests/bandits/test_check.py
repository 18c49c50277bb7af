"""Every registered policy keeps the contract, and policies that break it are found out."""

import random
from typing import NamedTuple

import numpy as np
import pytest

from ltr_duel.bandits.check import PolicyError, check_policy
from ltr_duel.bandits.policy import POLICIES, Policy


@pytest.mark.parametrize("name", POLICIES.names())
def test_policy_keeps_the_contract(name):
    check_policy(name)


class Params(NamedTuple):
    pass


def broken(**changes):
    """Make a policy that plays random pairs and recommends the arm with most wins, with something changed."""

    class State(NamedTuple):
        wins: np.ndarray

    def init(n_arms, horizon, params):
        return State(np.zeros(n_arms, np.int64))

    def select(state, params, t, rng):
        n_arms = state.wins.shape[0]
        return int(rng.random() * n_arms), int(rng.random() * n_arms)

    def update(state, params, t, first, second, outcome, rng):
        if outcome > 0:
            state.wins[first] += 1
        elif outcome < 0:
            state.wins[second] += 1

    def recommend(state, params):
        return np.argmax(state.wins)

    parts = {
        "name": "mine",
        "feedback": "duel",
        "params": Params,
        "state": State,
        "init": init,
        "select": select,
        "update": update,
        "recommend": recommend,
        "assumes": "nothing",
        "regret": "linear",
        "cost": "O(1)",
        "reference": "here",
        "bibtex": "",
        "compiled": False,
    }
    parts.update(changes)
    if "init" in changes:  # a state of its own
        parts["state"] = type(changes["init"](2, 0, Params()))
    return Policy(**parts)


def test_a_policy_from_elsewhere_passes_interpreted_and_compiled():
    check_policy(broken())
    check_policy(broken(compiled=True))


class ListState(NamedTuple):
    wins: list


def fond_of_the_first(state, params, t, rng):
    if rng.random() < 0.15:
        return 0, 0
    n_arms = state.wins.shape[0]
    return int(rng.random() * n_arms), int(rng.random() * n_arms)


BROKEN = {
    "not an array": {"init": lambda n_arms, horizon, params: ListState([0] * n_arms)},
    "uses an arm": {"select": lambda state, params, t, rng: (0, state.wins.shape[0])},
    "jumps too far": {
        "select": lambda state, params, t, rng: (
            t // 5 % state.wins.shape[0],
            int(rng.random() * 1.2 * (state.wins.shape[0] > 1)),
        ),
        "idle_until": lambda state, params, t: t + 10,
    },
    "same seed": {"select": lambda state, params, t, rng: (0, np.random.randint(state.wins.shape[0]))},  # noqa: NPY002
    "whatever the seed": {"select": lambda state, params, t, rng: (0, 0)},
    "finds the winner": {"recommend": lambda state, params: np.argmin(state.wins)},
    "by their number": {"select": fond_of_the_first},
    "nor where it comes from": {"reference": ""},
}


@pytest.mark.parametrize("complaint", BROKEN)
def test_a_broken_policy_is_found_out(complaint):
    with pytest.raises(PolicyError, match=complaint):
        check_policy(broken(**BROKEN[complaint]))


def test_a_policy_that_draws_from_global_randomness_is_found_out():
    def select(state, params, t, rng):
        random.random()
        n_arms = state.wins.shape[0]
        return int(rng.random() * n_arms), int(rng.random() * n_arms)

    with pytest.raises(PolicyError, match="global randomness"):
        check_policy(broken(select=select))
