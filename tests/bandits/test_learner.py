"""A learner takes the path of the loop, learns late outcomes by the same law, and resumes from a snapshot."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.bandits import POLICIES, Learner, PolicyError, Run
from ltr_duel.core import InputError, stream

RUCB = POLICIES["rucb"]
P = np.clip(0.5 + np.subtract.outer(np.linspace(0.3, 0, 4), np.linspace(0.3, 0, 4)), 0.1, 0.9)


def learner(name, horizon=1000, seed=4, order=(0, 1, 2, 3)):
    return Learner(name, 4, horizon=horizon, rng=stream(seed, "policy"), others=stream(seed, "others"), order=order)


def outcome(arms, coins):
    if len(arms) == 2 and arms[0] == arms[1]:
        return ()
    return [1 if coins.random() < P[a, b] else -1 for k, a in enumerate(arms) for b in arms[k + 1 :]]


def play(mine, steps, coins, n=1):
    """Return the choices of some steps, n at a time."""
    path = []
    for _ in range(steps):
        chosen = mine.ask(n)
        mine.tell([(arms, outcome(arms, coins)) for arms in chosen])
        path += chosen
    return path


@pytest.mark.parametrize("name", POLICIES.names())
def test_a_learner_takes_the_path_of_the_loop(name):
    steps, mine = 200, learner(name, 200)
    path = play(mine, steps, stream(4, "coins"))
    if POLICIES[name].feedback == "slate":
        path = [np.bincount(arms, minlength=4).tolist() for arms in path]
    run = Run.on_matrix(POLICIES[name], P, seed=4, horizon=steps, keep=steps, plain=True)
    run.advance(steps, jump=False)
    assert [list(arms) for arms in path] == run.path.tolist()
    assert mine.recommend() == run.recommend() and mine.steps == steps


@pytest.mark.parametrize("name", ["rucb", "multi_self_sparring"])
def test_a_learner_chooses_alike_compiled_and_interpreted(name, monkeypatch):
    chosen = []
    for many in (10**9, 1):
        monkeypatch.setattr("ltr_duel.bandits.learner._MANY", many)
        chosen.append(play(learner(name, 2000), 4, stream(9, "coins"), 300))
    assert chosen[0] == chosen[1]


@pytest.mark.parametrize("name", ["double_thompson", "beat_the_mean"])
def test_the_choices_of_a_batch_have_the_law_of_the_next_one(name):
    """Compare 4,000 choices of a learner with the next choices of 1,500 equal learners, within 5 standard errors."""
    mine, singles, shares = learner(name), [], []
    play(mine, 60, stream(2, "coins"))
    snapshot = mine.snapshot()
    for seed in range(1500):
        again = Learner.restore(name, snapshot)
        again._rng.bit_generator.state = stream(seed, "policy").bit_generator.state
        singles += again.ask()
    for chosen in (mine.ask(4001)[1:], singles):
        shares.append(np.bincount([a * 4 + b for a, b in chosen], minlength=16) / len(chosen))
    many, one = shares
    assert (np.abs(many - one) <= 5 * np.sqrt(many * (1 - many) * (1 / 4000 + 1 / 1500)) + 3e-3).all()


@pytest.mark.parametrize(
    "name, n", [("rucb", 5), ("mdb", 1), ("merge_dts", 5), ("beat_the_mean", 1), ("monitored_rucb", 1)]
)
def test_a_learner_restored_from_its_snapshot_makes_the_same_choices(name, n):
    first, coins, file = Learner(name, 4, horizon=1000, seed=1), stream(1, "coins"), io.BytesIO()
    play(first, 30, coins, n)
    np.savez(file, **first.snapshot())
    file.seek(0)
    second, again = Learner.restore(name, np.load(file)), stream(1, "coins")
    again.bit_generator.state = coins.bit_generator.state
    assert second.steps == first.steps
    assert play(first, 30, coins, n) == play(second, 30, again, n)
    assert first.recommend() == second.recommend()


@pytest.mark.parametrize("name", ["rucb", "multi_self_sparring:size=3"])
def test_a_learner_with_an_order_takes_the_path_of_the_permuted_arms(name):
    order = [2, 0, 3, 1]
    plain, other = learner(name), learner(name, order=order)
    for _ in range(60):
        [asked], [same] = plain.ask(), other.ask()
        assert same == tuple(order[arm] for arm in asked)
        signs = outcome(asked, stream(1, "coins"))
        plain.tell([(asked, signs)])
        other.tell([(same, signs)])
    again = Learner.restore(name, other.snapshot())
    assert again.recommend() == other.recommend() == order[plain.recommend()]


def restored(policy, **changes):
    arrays = learner("rucb").snapshot() | changes
    return Learner.restore(policy, {part: array for part, array in arrays.items() if array is not None})


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (lambda: Learner("savage", 3), "^the horizon of savage must be at least 1"),
        (lambda: learner("rucb", order=[0, 1, 2, 2]), "the order of 4 arms must contain each of the integers 0 to 3"),
        (lambda: learner("rucb").tell([((0, 4), 1)]), r"^\(0, 4\) is not a comparison of policy 'rucb' among 4 arms$"),
        (lambda: learner("rucb").tell([((0, 1), 0.5)]), r"^the outcome of arms \(0, 1\) must be 1 sign, .*, not 0.5$"),
        (lambda: learner("rucb").tell([((1, 1), 1)]), r"^the outcome of arms \(1, 1\) must be 0 signs"),
        (lambda: learner("mdb").tell([((0, 1, 2), [1, -1])]), r"must be 3 signs, \+1 or -1, not \[1, -1\]$"),
        (lambda: learner("rucb").tell([(0, 1)]), "^outcomes must be a list of pairs of arms and signs, such as"),
        (lambda: restored("rucb", learner=None), "^this is not a snapshot of policy 'rucb' .*, but of nothing$"),
        (lambda: restored("rucb", **{"state.wins": np.zeros((2, 2))}), "'state.wins' is missing or has another shape"),
        (lambda: restored(replace(RUCB, version=2)), r"alpha=0.51.*version 2\), but of .*version 1\)$"),
    ],
)
def test_wrong_calls_of_a_learner_are_refused(use, sentence):
    with pytest.raises(InputError, match=sentence):
        use()


def test_an_arm_that_does_not_exist_is_reported():
    kind = type("State", (RUCB.state,), {})
    parts = {"select": lambda state, params, t, rng: (0, 9), "recommend": lambda state, params: 4}
    wrong = replace(RUCB, state=kind, init=lambda *args: kind(*RUCB.init(*args)), **parts)
    with pytest.raises(PolicyError, match=r"^policy 'rucb' chooses arms \(0, 9\) of 4 in step 1$"):
        learner(wrong).ask()
    with pytest.raises(PolicyError, match=r"^policy 'rucb' recommends arm 4 of 4 in step 1$"):
        learner(wrong).recommend()
