"""The benchmark that ranks policies: its suite, its ratios, and the command."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from benchmarks.rank_policies.__main__ import main
from benchmarks.rank_policies.league import Cell, Costs, compared, league, measure, per_impression
from benchmarks.rank_policies.suite import Problem, digest_of, suite
from ltr_duel.bandits import POLICIES
from ltr_duel.core import stream

BY_NAME = {one.name: one for one in suite()}
MINE = """
from ltr_duel.bandits import register
from ltr_duel.bandits.policies.rucb import Params, State, init, recommend, select, update

class MyState(State):
    pass

def my_init(n_arms, horizon, params):
    return MyState(*init(n_arms, horizon, params))

register(__name__, name="mine", prefix="my", assumes="a winner", where="nowhere")
"""


def test_the_halves_are_those_that_were_drawn_before_any_tuning():
    problems = suite()
    assert digest_of(sorted([one.family, one.name, one.half] for one in problems))[:16] == "4a95a19d0906fae4"
    for family in {one.family for one in problems}:
        halves = Counter(one.half for one in problems if one.family == family)
        assert abs(halves["tune"] - halves["judge"]) <= 3, family


def costs(problem, **regret):
    return [Costs(Cell(problem, name, 100, len(of)), np.array(of), np.array([0.0, 1.0])) for name, of in regret.items()]


def test_a_mean_is_geometric_over_the_columns_of_problems():
    rows = costs(BY_NAME["arxiv"], a=[2.0, 2.0], b=[8.0, 8.0])  # multiples of the best: 1 and 4
    rows += costs(BY_NAME["arith51"], a=[3.0, 3.0], b=[3.0, 3.0])  # both 1, in the same column: 1 and 2 on average
    rows += costs(BY_NAME["arith201"], a=[9.0, 9.0], b=[1.0, 1.0])  # multiples of the best: 9 and 1, in another column
    table = league(rows).set_index("policy")
    assert table.loc["a", "times the best"] == pytest.approx(3.0)  # sqrt(1 * 9)
    assert table.loc["b", "times the best"] == pytest.approx(2**0.5)  # sqrt(2 * 1)
    assert (table.loc["a", "worst"], table.loc["a", "worst on"]) == (pytest.approx(9.0), "arith201")
    assert table.loc["b", "published"] == pytest.approx(2.0) and table.loc["b", "wrong"] == 0.5
    assert np.isnan(table.loc["b", "low"]), "of two runs"
    by_problem = compared(rows).set_index(["problem", "policy"])["times the best"]
    assert by_problem["arxiv", "b"] == pytest.approx(4) and by_problem["arith201", "a"] == pytest.approx(9)


def test_a_policy_has_no_number_where_it_did_not_run_on_all_problems_of_a_column():
    rows = costs(BY_NAME["arxiv"], a=[2.0, 2.0], b=[8.0, 8.0]) + costs(BY_NAME["arith51"], a=[1.0, 1.0])
    rows += costs(BY_NAME["arith201"], a=[2.0, 2.0], b=[2.0, 2.0])
    table = league(rows).set_index("policy")
    assert table.loc["b", ["published", "times the best"]].isna().all() and table.loc["b", "transitive"] == 1


@pytest.mark.parametrize("studies", [2, pytest.param(20, marks=pytest.mark.long)])
def test_noise_alone_makes_no_policy_worse_than_the_best_and_intervals_hold(studies):
    """30 problems, 11 equal policies, 10 runs: the smallest of the noisy means would be a quarter below the others."""
    held, scores = 0, []
    for seed in range(studies):
        rng = stream(seed, "alike")
        rows = [
            Costs(Cell(problem, f"p{k}", 100, 10), 100 * rng.gamma(2, 0.5, 10), np.zeros(10))
            for problem in [one for one in suite() if one.panel == "winner"][:30]
            for k in range(11)
        ]
        table = league(rows)
        scores += table["times the best"].tolist()
        held += int(((table["low"] <= 1) & (table["high"] >= 1)).sum())
    assert np.mean(scores) == pytest.approx(1.0, abs=0.03)
    assert held >= 0.9 * 11 * studies, held


def test_two_policies_are_compared_for_each_impression_on_real_corpora():
    corpus = Problem("real corpora", "MQ2008", lambda: None, "navigational")
    (row,) = per_impression(costs(corpus, rmed1=[6.0, 6.0], mdb=[1.0, 2.0], rucb=[9.0, 9.0])).to_dict("records")
    assert (row["ratio"], row["mdb wrong"]) == (4.0, 0.5)
    assert per_impression(costs(BY_NAME["arxiv"], rmed1=[6.0, 6.0], mdb=[1.0, 2.0])).empty


def test_a_cell_is_measured_once_unless_its_line_was_cut_or_its_source_changed(tmp_path):
    cells, path, said = [Cell(BY_NAME["arxiv"], name, 200, 2) for name in ("rucb", "rcs")], tmp_path / "c.jsonl", []
    options = {"jobs": 1, "say": said.append}
    first, again = measure(cells, path, **options), measure(cells, path, **options)
    assert len(said) == 2 and first[0].regret.tolist() == again[0].regret.tolist() != first[1].regret.tolist()
    path.write_bytes(path.read_bytes()[:-20])
    measure(cells, path, **options)
    assert len(said) == 3
    measure(cells, path, **options, sources={"rucb": "another file"})
    assert len(said) == 4


def test_the_command_ranks_a_policy_of_the_users(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(MINE)
    words = f"--plugin {tmp_path}/mine.py --policy mine --problems arxiv --steps 200 --runs 2 --jobs 1"
    try:
        main([*words.split(), "--out", str(tmp_path / "out")])
    finally:
        POLICIES.remove("mine")
    printed = capsys.readouterr().out
    assert "## Matrices with a Condorcet winner: average regret, 200 steps" in printed
    assert "\n| mine |" in printed and "\n| auto † |" in printed and "| ecw_rmed |" in printed
    assert {one.name for one in (tmp_path / "out").iterdir()} == {"cells.jsonl", "league.csv", "league.png"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--problems nothing", "there is no problem nothing; there are published"),
        ("--runs 1", "--runs must be at least 2"),
        ("--steps 3", "--steps at least 100"),
        ("--policy rubc", "did you mean 'rucb'"),
    ],
)
def test_what_cannot_be_ranked_is_refused_in_a_sentence(capsys, words, said):
    with pytest.raises(SystemExit, match="2"):
        main(["--problems", "arxiv", *words.split()])
    assert said in capsys.readouterr().err
