"""Policies from a file: found, checked, run compiled without a stale cache, and named errors where they are not."""

import pytest

from ltr_duel.bandits.check import check_policy
from ltr_duel.bandits.parameters import configure
from ltr_duel.bandits.plugins import load_policy_file
from ltr_duel.bandits.trial import play
from ltr_duel.core.errors import InputError
from tests.bandits.matrices import bradley_terry

TEXT = """
from typing import NamedTuple
import numpy as np
from ltr_duel.bandits.policy import Policy
from ltr_duel.core.random import random_below

class Params(NamedTuple):
    share: float = 0.5

class State(NamedTuple):
    wins: np.ndarray
    plays: np.ndarray

def init(n_arms, horizon, params):
    return State(np.ones(n_arms), np.full(n_arms, 2.0))

def select(state, params, t, rng):
    best = np.argmax(state.wins / state.plays) if False else 0
    for k in range(state.wins.shape[0]):
        if state.wins[k] / state.plays[k] > state.wins[best] / state.plays[best]:
            best = k
    if rng.random() < params.share:
        best = random_below(state.wins.shape[0], rng)
    return best, random_below(state.wins.shape[0], rng)

def update(state, params, t, first, second, outcome, rng):
    if outcome == 0:
        return
    state.wins[first if outcome > 0 else second] += 1.0
    state.plays[first] += 1.0
    state.plays[second] += 1.0

def recommend(state, params):
    best = 0
    for k in range(state.wins.shape[0]):
        if state.wins[k] / state.plays[k] > state.wins[best] / state.plays[best]:
            best = k
    return best

mine = Policy(
    name="mine", feedback="duel", params=Params, state=State, init=init, select=select, update=update,
    recommend=recommend, assumes="nothing", regret="linear", cost="O(K)", reference="home", bibtex="",
)
""".replace("np.argmax(state.wins / state.plays) if False else 0", "0")


def test_a_policy_in_a_file_keeps_the_contract(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(TEXT)
    (policy,) = load_policy_file(file)
    check_policy(policy)
    assert configure(policy).label == "mine"


def test_an_edited_file_is_compiled_anew(tmp_path):
    file = tmp_path / "mine.py"
    paths = []
    for text in (TEXT, TEXT.replace("return best, random_below", "return 0 * best, random_below")):
        file.write_text(text)
        (policy,) = load_policy_file(file)
        paths.append(play(policy, policy.params(), bradley_terry(3), 50).path)
    assert paths[0][:, 0].any()
    assert not paths[1][:, 0].any()


@pytest.mark.parametrize(
    "text, sentence",
    [("x = 1", "defines no policy"), ("import no_such_thing", "ModuleNotFoundError"), ("def (", "SyntaxError")],
)
def test_a_file_without_a_policy_is_refused(tmp_path, text, sentence):
    file = tmp_path / "wrong.py"
    file.write_text(text)
    with pytest.raises(InputError, match=sentence):
        load_policy_file(file)
    with pytest.raises(InputError, match="no such file"):
        load_policy_file(tmp_path / "absent.py")


def test_parameters_out_of_range_are_refused():
    for text, sentence in {
        "rucb:alpha=0.4": "alpha must be at least 0.5",
        "mdb:beta=0.9": "beta must be at least 1",
        "beat_the_mean:gamma=0.5": "gamma must be at least 1",
        "rucb:alpha=nan": "alpha must be at least 0.5",
        "merge_rucb:batch=1": "batch must be at least 2",
        "rucbx": "no policy 'rucbx'; did you mean 'rucb'",
        "interleaved_filter:prune=maybe": "prune must be true or false",
    }.items():
        with pytest.raises(InputError, match=sentence):
            configure(text)
