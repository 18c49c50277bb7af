"""Every registered policy satisfies the contract, and policies that break the contract are detected."""

import random
import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from ltr_duel.bandits.check import check_policy
from ltr_duel.bandits.policy import POLICIES, Policy, PolicyError
from ltr_duel.core import InputError, compiler, interpreted, kernel
from ltr_duel.core.random import random_below
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.simulation import FromMatrix, simulate
from tests.bandits.matrices import bradley_terry

MATRIX = PreferenceMatrix(bradley_terry(4))


@pytest.mark.parametrize("name", POLICIES.names())
def test_policy_keeps_the_contract(name):
    check_policy(name)


class Params(NamedTuple):
    pass


def random_pair(state, params, t, rng):
    n_arms = state.wins.shape[0]
    return int(rng.random() * n_arms), int(rng.random() * n_arms)


def broken(**changes):
    """Make a policy that plays random pairs and recommends the arm with most wins, with the given changes."""

    class State(NamedTuple):
        wins: np.ndarray

    def init(n_arms, horizon, params):
        return State(np.zeros(n_arms, np.int64))

    def update(state, params, t, first, second, outcome, rng):
        if outcome > 0:
            state.wins[first] += 1
        elif outcome < 0:
            state.wins[second] += 1

    def recommend(state, params):
        return np.argmax(state.wins)

    parts = {"state": State, "init": init, "select": random_pair, "update": update, "recommend": recommend}
    about = {"name": "mine", "params": Params, "assumes": "nothing", "where": "here", "compiled": False}
    if "init" in changes:  # a separate state
        parts["state"] = type(changes["init"](2, 0, Params()))
    return Policy(**(parts | about | changes))


class ListState(NamedTuple):
    wins: list


class OneArray(NamedTuple):
    wins: np.ndarray


def fond_of_the_first(state, params, t, rng):
    return (0, 0) if rng.random() < 0.15 else random_pair(state, params, t, rng)


def drawing_elsewhere(state, params, t, rng):
    random.random()
    return random_pair(state, params, t, rng)


def without_the_field(state, params):
    return state.losses.argmax()


def round_robin(state, params, t, rng):
    """Each arm against the next; one arm against itself."""
    n_arms = state.wins.shape[0]
    return t % n_arms, (t + t // n_arms % max(1, n_arms - 1) + 1) % n_arms


def jumping(state, params, t, rng):
    return t // 5 % state.wins.shape[0], int(rng.random() * 1.2 * (state.wins.shape[0] > 1))


BROKEN = {
    "init returns NoneType": {
        "init": lambda n_arms, horizon, params: OneArray(np.zeros(n_arms)) if n_arms > 1 else None
    },
    "not an array": {"init": lambda n_arms, horizon, params: ListState([0] * n_arms)},
    "uses an arm or an index": {
        "update": lambda state, params, t, first, second, outcome, rng: state.wins[state.wins.shape[0]]
    },
    "recommends arm -1 of 4 after step 1$": {"recommend": lambda state, params: -1},
    r"test_check.py: a function of policy 'mine' does not return an arm: ValueError: too many values": {
        "select": lambda state, params, t, rng: (0, 0, 0)
    },
    rf"test_check.py:{without_the_field.__code__.co_firstlineno + 1}: without_the_field of policy .* fails: Attr": {
        "recommend": without_the_field
    },
    "jumps too far": {"select": jumping, "idle_until": lambda state, params, t: t + 10},
    "same seed": {"select": lambda state, params, t, rng: (0, np.random.randint(state.wins.shape[0]))},  # noqa: NPY002
    "draws from global randomness": {"select": drawing_elsewhere},
    r"same choices whatever the seed; .* deterministic=True": {"select": round_robin},
    "finds the winner of an easy matrix in . of 9": {"recommend": lambda state, params: np.argmin(state.wins)},
    "by their number": {"select": fond_of_the_first},
    r"needs assumes= and a source, cite= or where=, in register\(\.\.\.\)$": {"where": ""},
}


@pytest.mark.parametrize("complaint", BROKEN)
def test_a_broken_policy_is_found_out(complaint):
    with pytest.raises(PolicyError, match=complaint):
        check_policy(broken(**BROKEN[complaint]))


def test_a_deterministic_policy_passes_if_it_says_that_it_is_one():
    check_policy(broken(select=round_robin, deterministic=True))


def test_a_compiled_policy_from_elsewhere_passes_and_may_call_kernels():
    @kernel
    def recommend(state, params):
        return np.argmax(state.wins)

    def select(state, params, t, rng):
        first = recommend(state, params) if rng.random() < 0.5 else random_below(state.wins.shape[0], rng)
        return first, random_below(state.wins.shape[0], rng)

    policy = broken(compiled=True, recommend=recommend, select=select)
    check_policy(policy)
    (run,) = simulate(MATRIX, policy, horizon=200, repetitions=1, jobs=1).runs
    assert run.exposure[-1].sum() == 200


def test_a_class_of_states_belongs_to_one_policy():
    policy = broken()
    POLICIES.configure(policy)
    with pytest.raises(PolicyError, match="policy 'mine' shares its State with another policy"):
        check_policy(replace(policy, select=round_robin))


def best_arm(state):
    return np.argmax(state.wins)


@kernel
def allocating(state):
    return np.argmax(state.wins / 2)


UNCOMPILED = {  # the wrong function, and the message
    "calls a plain function": (
        "recommend",
        lambda state, params: best_arm(state),
        r"{file}:{line}: it calls best_arm, which is plain Python; decorate that function with ltr_duel.core.kernel$",
    ),
    "allocates in a helper": (
        "recommend",
        lambda state, params: allocating(state),
        r"{file}:{helper}: it allocates memory",
    ),
    "returns a wrong thing": (
        "recommend",
        lambda state, params: None,
        r"it returns none, not a whole number$",
    ),
}


@pytest.mark.parametrize("mistake", UNCOMPILED)
def test_what_cannot_be_compiled_is_said_in_one_sentence(mistake):
    if "allocates" in mistake and "plain" in compiler():
        pytest.skip("the plain compiler counts references: kernels may allocate")
    part, function, reason = UNCOMPILED[mistake]
    line, helper = function.__code__.co_firstlineno, interpreted(allocating).__code__.co_firstlineno + 2
    reason = reason.format(file=re.escape(__file__), line=line, helper=helper)
    policy = broken(compiled=True, **{part: function})
    with pytest.raises(PolicyError, match=f"^{part} of policy 'mine' cannot be compiled: {reason}") as caught:
        simulate(MATRIX, policy, horizon=10, repetitions=1)
    assert isinstance(caught.value, InputError) and "\n" not in str(caught.value)


def choosing(wrong):
    """Make a `select` that chooses an arm that does not exist from step 301 on."""

    def select(state, params, t, rng):
        n_arms = state.wins.shape[0]
        return int(rng.random() * n_arms), wrong if t > 300 else int(rng.random() * n_arms)

    return select


@pytest.mark.parametrize("any_order, late", [(False, {}), (False, {"batch": 7}), (True, {"batch": 7})])
@pytest.mark.parametrize("wrong", [-1, 4])
def test_an_arm_that_does_not_exist_ends_a_run_in_the_step_in_which_it_is_chosen(any_order, late, wrong):
    """Interpreted here; `test_an_arm_that_does_not_exist_ends_a_compiled_run` runs the same source compiled."""

    def recommend(state, params):
        return wrong if state.wins.sum() > 300 else np.argmax(state.wins)

    given = {"horizon": 900, "repetitions": 1, "jobs": 1} | late
    with pytest.raises(PolicyError, match=rf"^policy 'mine' chooses arm {wrong} of 4 in step 3\d\d$"):
        simulate(MATRIX, broken(select=choosing(wrong), any_order=any_order), **given)
    with pytest.raises(PolicyError, match=rf"^policy 'mine' recommends arm {wrong} of 4 after step \d\d\d$"):
        simulate(MATRIX, broken(recommend=recommend, any_order=any_order), **given)


def test_an_arm_that_does_not_exist_ends_a_compiled_run():
    with pytest.raises(PolicyError, match=r"^policy 'mine' chooses arm 4 of 4 in step 301$"):
        simulate(MATRIX, broken(select=choosing(4), compiled=True), horizon=900, repetitions=1, jobs=1)


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize(
    "size, arm, sentence",
    [
        (2, -1, "arm -1 of 4"),
        (2, 4, "arm 4 of 4"),
        (0, 0, "a set of 0 among 4 arms"),
        (5, 0, "a set of 5 among 4 arms"),
    ],
)
def test_a_wrong_set_ends_a_run_in_the_step_in_which_it_is_chosen(batch, size, arm, sentence):
    def select(state, params, t, slate, rng):
        slate[0] = int(rng.random() * 3)
        slate[1] = arm if t > 300 else 3
        return size if t > 300 else 2

    def update(state, params, t, slate, size, won, rng):
        state.wins[slate[0]] += 1

    policy = broken(select=select, update=update, any_order=True)
    source = FromMatrix(MATRIX, sets="independent_coins")
    with pytest.raises(PolicyError, match=rf"^policy 'mine' chooses {sentence} in step 301$"):
        simulate(source, policy, horizon=900, repetitions=1, jobs=1, batch=batch)
