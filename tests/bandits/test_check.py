"""Every registered policy satisfies the contract and simulates, and policies that break the contract are detected."""

import random
import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from ltr_duel.bandits.check import check_policy
from ltr_duel.bandits.policy import POLICIES, Policy, PolicyError
from ltr_duel.core import compiler, interpreted, kernel
from ltr_duel.core.errors import InputError
from ltr_duel.core.random import random_below
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.simulation.oracle import FromMatrix
from ltr_duel.simulation.run import simulate
from tests.bandits.matrices import bradley_terry


@pytest.mark.parametrize("name", POLICIES.names())
def test_policy_keeps_the_contract(name):
    check_policy(name)
    assert_simulates(name)


def assert_simulates(policy):
    """Simulate 200 steps of a policy that passed the check, and count them."""
    source = FromMatrix(PreferenceMatrix(bradley_terry(4)), sets="independent_coins")
    (run,) = simulate(source, policy, horizon=200, repetitions=1, jobs=1).runs
    assert run.exposure[-1].sum() == pytest.approx(200)
    assert ((run.recommended >= 0) & (run.recommended < 4)).all()


class Params(NamedTuple):
    pass


def broken(**changes):
    """Make a policy that plays random pairs and recommends the arm with most wins, with the given changes."""

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
        "params": Params,
        "state": State,
        "init": init,
        "select": select,
        "update": update,
        "recommend": recommend,
        "assumes": "nothing",
        "regret": "linear",
        "cost": "O(1)",
        "where": "here",
        "compiled": False,
    }
    parts.update(changes)
    if "init" in changes:  # a separate state
        parts["state"] = type(changes["init"](2, 0, Params()))
    return Policy(**parts)


def test_a_policy_from_elsewhere_passes_interpreted_and_compiled():
    for policy in (broken(), broken(compiled=True)):
        check_policy(policy)
        assert_simulates(policy)


class ListState(NamedTuple):
    wins: list


class OneArray(NamedTuple):
    wins: np.ndarray


def fond_of_the_first(state, params, t, rng):
    if rng.random() < 0.15:
        return 0, 0
    n_arms = state.wins.shape[0]
    return int(rng.random() * n_arms), int(rng.random() * n_arms)


def sure_of_the_first_two(state, params, t, rng):
    """The pulls of the first 40 steps are not random."""
    n_arms = state.wins.shape[0]
    if t > 40:
        return int(rng.random() * n_arms), int(rng.random() * n_arms)
    return (0, min(1, n_arms - 1)) if rng.random() < 0.5 else (min(1, n_arms - 1), 0)


BROKEN = {
    "init returns NoneType": {
        "init": lambda n_arms, horizon, params: OneArray(np.zeros(n_arms)) if n_arms > 1 else None
    },
    "not an array": {"init": lambda n_arms, horizon, params: ListState([0] * n_arms)},
    "chooses arm 5 of 5 in step 1$": {"select": lambda state, params, t, rng: (0, state.wins.shape[0])},
    "chooses arm -1 of 5 in step 7$": {"select": lambda state, params, t, rng: (0, 0 if t < 7 else -1)},
    "uses an arm or an index": {
        "update": lambda state, params, t, first, second, outcome, rng: state.wins[state.wins.shape[0]]
    },
    "recommends arm -1 of 4 after step 1$": {"recommend": lambda state, params: -1},
    r"test_check.py: a function of policy 'mine' does not return an arm: ValueError: too many values": {
        "select": lambda state, params, t, rng: (0, 0, 0)
    },
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
    r"needs assumes= and a source, cite= or where=, in register\(\.\.\.\)$": {"where": ""},
    "2000.0 standard errors": {"select": sure_of_the_first_two},
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


def test_a_kernel_among_the_functions_passes_and_simulates():
    @kernel
    def recommend(state, params):
        return np.argmax(state.wins)

    def select(state, params, t, rng):
        if rng.random() < 0.5:
            return recommend(state, params), random_below(state.wins.shape[0], rng)
        return random_below(state.wins.shape[0], rng), random_below(state.wins.shape[0], rng)

    policy = broken(compiled=True, recommend=recommend, select=select)
    check_policy(policy)
    assert_simulates(policy)


def round_robin(state, params, t, rng):
    """Each arm against the next; one arm against itself."""
    n_arms = state.wins.shape[0]
    return t % n_arms, (t + t // n_arms % max(1, n_arms - 1) + 1) % n_arms


@pytest.mark.parametrize("compiled", [True, False])
def test_a_deterministic_policy_passes_if_it_says_that_it_is_one(compiled):
    with pytest.raises(PolicyError, match=r"same choices whatever the seed; .* deterministic=True"):
        check_policy(broken(select=round_robin, compiled=compiled))
    policy = broken(select=round_robin, compiled=compiled, deterministic=True)
    check_policy(policy)
    assert_simulates(policy)


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
    "allocates": (
        "recommend",
        lambda state, params: np.argmax(state.wins / 2),
        r"{file}:{line}: it allocates memory",
    ),
    "allocates in a helper": (
        "recommend",
        lambda state, params: allocating(state),
        r"{file}:{helper}: it allocates memory",
    ),
    "reads what is not there": (
        "update",
        lambda state, params, t, first, second, outcome, rng: state.losses[first],
        r"{file}:{line}: Unknown attribute 'losses' of type State\(",
    ),
    "uses what numba does not know": (
        "select",
        lambda state, params, t, rng: (0, sorted(state.wins, key=str)[0]),
        r"{file}:{line}: there is no compiled form of sorted\(",
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
        simulate(PreferenceMatrix(bradley_terry(3)), policy, horizon=10, repetitions=1)
    assert isinstance(caught.value, InputError) and "\n" not in str(caught.value)


def test_errors_of_a_compiler_whose_texts_are_not_understood_are_one_sentence_too(monkeypatch):
    for pattern in ("_PLACE", "_NOISE", "_MODULES"):
        monkeypatch.setattr(f"ltr_duel.core.compile_errors.{pattern}", re.compile("(?!)"))
    monkeypatch.setattr("ltr_duel.core.compile_errors._CAUSES", {})
    part, function, _ = UNCOMPILED["uses what numba does not know"]
    line = function.__code__.co_firstlineno
    with pytest.raises(PolicyError, match=f"^select of policy 'mine' cannot be compiled: .*:{line}: [A-Z].*") as caught:
        simulate(PreferenceMatrix(bradley_terry(3)), broken(compiled=True, **{part: function}), horizon=10)
    assert "\n" not in str(caught.value)


def test_an_error_of_plain_python_names_the_line():
    def recommend(state, params):
        return state.losses.argmax()

    line = recommend.__code__.co_firstlineno + 1
    with pytest.raises(PolicyError, match=rf"test_check.py:{line}: recommend of policy 'mine' fails: AttributeError"):
        check_policy(broken(recommend=recommend))


def test_a_class_of_states_belongs_to_one_policy():
    policy = broken()
    check_policy(policy)
    with pytest.raises(PolicyError, match="policy 'mine' shares its State with another policy"):
        check_policy(replace(policy, select=round_robin))


LATE = {}, {"batch": 7}, {"delay": 5}, {"batch": 7, "any_order": True}


@pytest.mark.parametrize(
    "compiled, wrong, late",
    [
        (compiled, wrong, late)
        for compiled in (True, False)
        for k, late in enumerate(LATE)
        for wrong in ((-1, 4) if not compiled else (4,) if k % 2 else (-1,))  # each kind and each arm is compiled
    ],
)
def test_an_arm_that_does_not_exist_ends_a_run_in_the_step_in_which_it_is_chosen(compiled, wrong, late):
    def select(state, params, t, rng):
        n_arms = state.wins.shape[0]
        return int(rng.random() * n_arms), wrong if t > 300 else int(rng.random() * n_arms)

    def recommend(state, params):
        return wrong if state.wins.sum() > 300 else np.argmax(state.wins)

    given = {"horizon": 900, "repetitions": 1, "jobs": 1} | {k: v for k, v in late.items() if k != "any_order"}
    kind = {"compiled": compiled, "any_order": "any_order" in late}
    with pytest.raises(PolicyError, match=rf"^policy 'mine' chooses arm {wrong} of 4 in step 3\d\d$"):
        simulate(PreferenceMatrix(bradley_terry(4)), broken(select=select, **kind), **given)
    with pytest.raises(PolicyError, match=rf"^policy 'mine' recommends arm {wrong} of 4 after step \d\d\d$"):
        simulate(PreferenceMatrix(bradley_terry(4)), broken(recommend=recommend, **kind), **given)


def broken_slate(select, **changes):
    """Make a policy of sets, with its `select`."""

    def update(state, params, t, slate, size, won, rng):
        state.wins[slate[0]] += 1

    return broken(select=select, update=update, **changes)


WRONG = (2, -1, "arm -1 of 4"), (2, 4, "arm 4 of 4"), (0, 0, "a set of 0 among 4 arms"), (5, 0, "a set of 5 among 4")


@pytest.mark.parametrize(
    "compiled, late, size, arm, sentence",
    [
        (compiled, late, *wrong)
        for compiled in (True, False)
        for k, late in enumerate((LATE[0], LATE[3]))
        for wrong in (WRONG[k % 2 :: 2] if compiled else WRONG)  # each kind and each set is compiled
    ],
)
def test_a_wrong_set_ends_a_run_in_the_step_in_which_it_is_chosen(compiled, late, size, arm, sentence):
    def select(state, params, t, slate, rng):
        slate[0] = int(rng.random() * 3)
        slate[1] = arm if t > 300 else 3
        return size if t > 300 else 2

    policy = broken_slate(select, compiled=compiled, any_order="any_order" in late)
    source = FromMatrix(PreferenceMatrix(bradley_terry(4)), sets="independent_coins")
    with pytest.raises(PolicyError, match=rf"^policy 'mine' chooses {sentence}.* in step \d\d\d$"):
        simulate(source, policy, horizon=900, repetitions=1, jobs=1, batch=late.get("batch", 1))
