"""``ltr-duel rank-policies``: a user's policy in the table, and rejected input."""

from __future__ import annotations

import json

import pytest

from ltr_duel.bandits import POLICIES

MINE = '''"""A plug-in."""
from ltr_duel.bandits import register
from ltr_duel.bandits.policies.rucb import Params, State, init, recommend, select, update

class MyState(State):
    """Of its own."""

def my_init(n_arms, horizon, params):
    return MyState(*init(n_arms, horizon, params))

register(__name__, name="mine", prefix="my", assumes="a winner", where="nowhere")
'''


@pytest.fixture
def mine(tmp_path):
    """Return a plug-in file, whose policy is unregistered afterwards."""
    (tmp_path / "mine.py").write_text(MINE)
    yield tmp_path / "mine.py"
    POLICIES.remove("mine")


def test_the_command_ranks_a_policy_of_the_users(ltr_duel, tmp_path, mine):
    made = ltr_duel(
        "rank-policies", "--plugin", mine, "--policy", "mine", "--problems", "arxiv", "--steps", "200",
        "--runs", "2", "--jobs", "1", "--no-batches", "--out", tmp_path / "out",
    )  # fmt: skip
    assert made.code == 0, made.err
    assert "judge half: matrices, 200 steps" in made.out and "\nmine " in made.out and "\nauto " in made.out
    assert {one.name for one in (tmp_path / "out").iterdir()} >= {"cells.jsonl", "standings.csv", "standings.png"}
    assert "| mine |" in (tmp_path / "out" / "standings.md").read_text()
    assert len(json.loads((tmp_path / "out" / "cells.jsonl").read_text().splitlines()[0])["regret"]) == 2


@pytest.mark.parametrize(
    "words, said",
    [
        (("--problems", "nothing"), "there is no problem nothing; there are published"),
        (("--problems", "nothing", "--problems", "arxiv"), "there is no problem nothing; there are published"),
        (("--runs", "1", "--problems", "arxiv"), "the number of runs"),
        (("--steps", "3", "--problems", "arxiv"), "the number of steps"),
        (("--policy", "rubc", "--problems", "arxiv"), "did you mean 'rucb'"),
        (
            ("--policy", "rucb/sosm", "--problems", "arxiv"),
            "method 'sosm' cannot compare the choices of policy 'rucb'",
        ),
    ],
)
def test_what_cannot_be_ranked_is_refused_in_a_sentence(ltr_duel, words, said):
    answer = ltr_duel("rank-policies", *words)
    assert answer.code == 2 and said in answer.err and len(answer.err.splitlines()) == 1
