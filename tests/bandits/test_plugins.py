"""Policies from a file: found, checked, compiled without a stale cache, and rejected with clear errors."""

import os
import sys

import pytest

from ltr_duel.bandits.check import check_policy, play
from ltr_duel.bandits.policy import POLICIES
from ltr_duel.core.errors import InputError
from ltr_duel.core.plugins import load_plugin
from tests.bandits.matrices import bradley_terry

TEXT = """
from typing import NamedTuple
import numpy as np
from ltr_duel.bandits import register
from ltr_duel.core import random_below

class Params(NamedTuple):
    share: float = 0.5

class State(NamedTuple):
    wins: np.ndarray
    plays: np.ndarray

def init(n_arms, horizon, params):
    return State(np.ones(n_arms), np.full(n_arms, 2.0))

def select(state, params, t, rng):
    best = 0
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

register(__name__, assumes="nothing", regret="linear", cost="O(K)", where="my notes")
"""


@pytest.fixture
def load(tmp_path):
    """Return a function that writes a plug-in file and loads it; its policies are forgotten after the test."""
    loaded = []

    def write_and_load(text, name):
        file = tmp_path / f"{name}.py"
        file.write_text(text)
        loaded.append(load_plugin(file))
        return loaded[-1]

    yield write_and_load
    for kind, name in {one for plugin in loaded for one in plugin.components}:
        assert kind == "policy"
        if name in POLICIES:  # not replaced by a later version of its file
            POLICIES.remove(name)


def test_a_policy_in_a_file_keeps_the_contract(load):
    assert load(TEXT, "mine").components == (("policy", "mine"),)
    check_policy("mine:share=0.4")
    assert POLICIES.configure("mine: share=0.4").params.share == 0.4


def test_an_edit_of_the_same_second_and_length_is_seen(load, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for name in ("one", "two"):
        text = TEXT.replace("(__name__", f'(__name__, name="{name}"')
        assert load(text, "same").components == (("policy", name),)
        os.utime(tmp_path / "same.py", (10**9, 10**9))
    assert [path.name for path in tmp_path.iterdir()] == ["same.py"]


def test_an_edited_file_replaces_its_policy_and_is_compiled_anew(load):
    paths = []
    for text in (TEXT, TEXT.replace("return best, random_below", "return 0 * best, random_below")):
        load(text, "mine")
        paths.append(play(POLICIES.configure("mine"), bradley_terry(3), 50).path)
    assert paths[0][:, 0].any()
    assert not paths[1][:, 0].any()


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("x = 1", "registers no component"),
        ("import no_such_thing", "ModuleNotFoundError"),
        (TEXT.replace("def recommend", "def recomend"), r"policy 'wrong': there is no 'recommend' in .*wrong.py"),
        (TEXT.replace("t, rng):", "t):", 1), r"select takes \(state, params, t, rng\), not \(state, params, t\)"),
        (TEXT.replace("(__name__", "(__name__, name='rucb'"), "a policy named 'rucb' already exists"),
    ],
)
def test_a_file_without_a_policy_is_refused(tmp_path, text, sentence):
    file = tmp_path / "wrong.py"
    file.write_text(text)
    with pytest.raises(InputError, match=sentence):
        load_plugin(file)


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("rucb:alpha=nan", "alpha must be at least 0.01"),
        ("merge_rucb:batch=1", "batch must be at least 2"),
        ("rucbx", "no policy 'rucbx'; did you mean 'rucb'"),
        ("interleaved_filter:prune=maybe", "prune must be true or false"),
    ],
)
def test_wrong_parameters_are_refused(text, sentence):
    with pytest.raises(InputError, match=sentence):
        POLICIES.configure(text)
