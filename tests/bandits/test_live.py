"""A live policy makes the choices of the simulated policy, and continues unchanged from a snapshot."""

import io
from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.bandits.live_policy import LivePolicy
from ltr_duel.bandits.policy import POLICIES
from ltr_duel.core.errors import InputError
from ltr_duel.core.random import stream
from tests.bandits.matrices import bradley_terry

P = bradley_terry(4, spread=3)


def live_on(policy, steps, coins, slates=False):
    """Run a live policy on P; return its choices."""
    path = []
    for _ in range(steps):
        arms = policy.ask()
        path.append(arms)
        if slates and len(arms) > 1:
            policy.tell(np.where(coins.random((len(arms), len(arms))) < P[np.ix_(arms, arms)], 1, -1))
        elif len(set(arms)) == 1:
            policy.tell()
        else:
            policy.tell(1 if coins.random() < P[arms] else -1)
    return path


def test_live_rucb_makes_the_choices_of_the_algorithm():
    _, policy, params = POLICIES.configure("rucb")
    live, coins, again = LivePolicy("rucb", 4, seed=3), stream(3, "coins"), stream(3, "coins")
    rng, state = stream(3, "live", "rucb"), policy.init(4, 0, params)
    for t, asked in enumerate(live_on(live, 400, coins), start=1):
        assert policy.select(state, params, t, rng) == asked
        outcome = 0 if asked[0] == asked[1] else 1 if again.random() < P[asked] else -1
        policy.update(state, params, t, *asked, outcome, rng)
    assert live.recommend() == 0


@pytest.mark.parametrize("name", ["rucb", "mdb", "rmed2", "merge_dts", "beat_the_mean", "multi_self_sparring:size=3"])
def test_a_restored_policy_goes_on_as_if_nothing_had_happened(name):
    first, coins = LivePolicy(name, 4, horizon=1000, seed=1), stream(1, "coins")
    slates = POLICIES.configure(name).component.feedback == "slate"
    live_on(first, 150, coins, slates)
    first.ask()
    file = io.BytesIO()
    np.savez(file, **first.snapshot())
    file.seek(0)
    second, again = LivePolicy.restore(name, np.load(file)), stream(1, "coins")
    again.bit_generator.state = coins.bit_generator.state
    assert second.steps == first.steps == 150
    assert live_on(first, 150, coins, slates) == live_on(second, 150, again, slates)


def test_asking_twice_gives_the_same_arms():
    live = LivePolicy("random", 10)
    assert live.ask() == live.ask()


@pytest.mark.parametrize(
    "use, sentence",
    [
        (lambda: LivePolicy("savage", 3), "horizon of savage must be at least 1"),
        (lambda: LivePolicy("rucb", 0), "number of arms must be between 1 and"),
        (lambda: LivePolicy("rucb", 3).tell(1), "call ask"),
        (lambda: LivePolicy.restore("rucb", {"t": np.array([1])}), "not a snapshot of policy 'rucb'"),
    ],
)
def test_wrong_use_is_refused(use, sentence):
    with pytest.raises(InputError, match=sentence):
        use()


def test_an_outcome_that_is_none_is_refused():
    live = LivePolicy("random", 3)
    live.ask()
    with pytest.raises(InputError, match="must be one of"):
        live.tell(0)
    slate = LivePolicy("mdb", 3)
    slate.ask()
    with pytest.raises(InputError, match="array of shape"):
        slate.tell(np.zeros((3, 3)))


def test_a_snapshot_names_its_policy_and_its_numbers():
    arrays = LivePolicy("rucb", 4).snapshot()
    assert (arrays["policy"].tolist(), arrays["numbers"].tolist()) == (["rucb"], [1])
    with pytest.raises(InputError, match="this is a snapshot of policy 'rucb', not of 'multisbm'"):
        LivePolicy.restore("multisbm", arrays)
    later = replace(POLICIES["rucb"], numbers=2)
    with pytest.raises(InputError, match="policy 'rucb' has numbers version 1, not 2"):
        LivePolicy.restore(later, arrays)
    assert LivePolicy.restore(later, arrays, accept_new_code=True).steps == 0
    for name in ("policy", "numbers"):
        with pytest.raises(InputError, match=f"not a snapshot of policy 'rucb': it lacks {name}"):
            LivePolicy.restore(later, {key: value for key, value in arrays.items() if key != name})


def test_with_an_order_the_policy_takes_the_same_path_under_other_numbers():
    order = [2, 0, 3, 1]
    for name in ("rucb", "multi_self_sparring:size=3"):
        plain, other = LivePolicy(name, 4, seed=1), LivePolicy(name, 4, seed=1, order=order)
        for _ in range(60):
            asked = plain.ask()
            assert other.ask() == tuple(order[arm] for arm in asked)
            signs = np.where(np.less.outer(asked, asked), 1, -1)
            told = signs if name != "rucb" else 0 if asked[0] == asked[1] else int(signs[0, 1])
            for one in (plain, other):
                one.tell(told)
        assert other.recommend() == order[plain.recommend()]
        again = LivePolicy.restore(name, other.snapshot())
        assert (again.ask(), again.recommend()) == (other.ask(), other.recommend())


@pytest.mark.parametrize("order", [[0, 1, 2, 2], [0, 1, 2], [1, 2, 3, 4], 3, [0.0, 1.0, 2.0, 3.0]])
def test_an_order_names_each_arm_once(order):
    with pytest.raises(InputError, match="the order of 4 arms must contain each of the integers 0 to 3 once"):
        LivePolicy("rucb", 4, order=order)
    with pytest.raises(InputError, match="not a snapshot of policy 'rucb' for 4 arms; invalid: order"):
        LivePolicy.restore("rucb", LivePolicy("rucb", 4).snapshot() | {"order": np.array(order)})
