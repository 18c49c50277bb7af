"""The suite for ranking policies, its measures, and the command."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ltr_duel.advice.ranking import plot_standings, standings_page
from ltr_duel.advice.standing import LIVE, MATRIX, Cell, Costs, measure, standings
from ltr_duel.advice.suite import suite
from ltr_duel.bandits import POLICIES, suited
from ltr_duel.core import InputError, digest_of, stream

BY_NAME = {one.name: one for one in suite()}


def silent(line):
    pass


def test_the_suite_has_forty_problems_and_halves_of_each_family():
    problems = suite()
    assert len(problems) >= 40 and len({(one.family, one.name) for one in problems}) == len(problems)
    assert sum(one.is_live for one in problems) >= 12
    for family in {one.family for one in problems}:
        halves = Counter(one.half for one in problems if one.family == family)
        assert abs(halves["tune"] - halves["judge"]) <= 3, family


def test_the_halves_are_those_that_were_drawn_before_any_tuning():
    halves = sorted([one.family, one.name, one.half] for one in suite())
    assert digest_of(halves)[:16] == "4a95a19d0906fae4"


def test_each_matrix_of_the_suite_has_an_arm_that_is_worse_than_another():
    """Otherwise the regret of every policy would be zero, and ratios would be undefined."""
    for one in suite():
        if not one.is_live:
            scores = one.make().copeland_scores
            assert scores.min() < scores.max(), one.name


def costs_of(problem, **regret):
    return [Costs(Cell(problem, name, 100, False), np.array(of), np.array([0.0, 1.0])) for name, of in regret.items()]


def test_a_score_is_the_geometric_mean_of_multiples_of_the_best():
    costs = costs_of(BY_NAME["arxiv"], a=[2.0, 2.0], b=[8.0, 8.0])  # multiples of the best: 1 and 4
    costs += costs_of(BY_NAME["arith201"], a=[9.0, 9.0], b=[1.0, 1.0])  # multiples of the best: 9 and 1
    frame = standings(costs).set_index("policy")
    assert frame.loc["a", "times the best"] == pytest.approx(3.0)  # sqrt(1 * 9)
    assert frame.loc["b", "times the best"] == pytest.approx(2.0)  # sqrt(4 * 1)
    assert (frame.loc["a", "worst"], frame.loc["a", "worst on"]) == (pytest.approx(9.0), "arith201")
    assert frame.loc["b", "published"] == pytest.approx(4.0) and frame.loc["b", "wrong"] == 0.5
    assert np.isnan(frame.loc["b", "low"]), "of two runs"


def test_noise_alone_makes_no_policy_worse_than_the_best_and_intervals_hold():
    """33 problems, 11 equal policies, 10 runs: the smallest of the noisy means would be a quarter below the others."""
    held, scores = 0, []
    for seed in range(20):
        rng = stream(seed, "alike")
        costs = [
            Costs(Cell(problem, f"p{k}", 100, False), 100 * rng.gamma(2, 0.5, 10), np.zeros(10))
            for problem in [one for one in suite() if not one.is_live][:33]
            for k in range(11)
        ]
        frame = standings(costs)
        scores += frame["times the best"].tolist()
        held += int(((frame["low"] <= 1) & (frame["high"] >= 1)).sum())
    assert np.mean(scores) == pytest.approx(1.0, abs=0.03)
    assert held >= 0.9 * 220, held


def test_a_policy_that_was_lucky_and_paid_nothing_does_not_make_others_infinitely_bad():
    frame = standings(costs_of(BY_NAME["arxiv"], a=[0.0, 0.0], b=[5.0, 5.0])).set_index("policy")
    assert frame.loc["b", "times the best"] == pytest.approx(10.0)


def test_cells_are_measured_once_and_have_the_same_runs_on_any_number_of_threads(tmp_path):
    cells = [Cell(BY_NAME["arxiv"], name, 200, late) for name in ("rucb", "auto") for late in (False, True)]
    first = measure(cells, tmp_path / "cells.jsonl", runs=3, jobs=1, said=silent)
    said = []
    again = measure(cells, tmp_path / "cells.jsonl", runs=3, jobs=1, said=said.append)
    assert said == [] and len((tmp_path / "cells.jsonl").read_text().splitlines()) == 4
    fresh = measure(cells, None, runs=3, jobs=2, said=silent)
    for one, other, third in zip(first, again, fresh, strict=True):
        assert one.regret.tolist() == other.regret.tolist() == third.regret.tolist() and len(one.regret) == 3
    assert first[0].regret.tolist() != first[1].regret.tolist(), "batches are other runs"


def test_a_cell_whose_line_was_cut_by_a_kill_is_measured_again(tmp_path):
    cells = [Cell(BY_NAME["arxiv"], name, 100, False) for name in ("rucb", "auto")]
    path = tmp_path / "cells.jsonl"
    measure(cells, path, runs=2, jobs=1, said=silent)
    whole, said = path.read_bytes(), []
    path.write_bytes(whole[:-20])
    measure(cells, path, runs=2, jobs=1, said=said.append)
    assert len(said) == 1 and path.read_bytes() == whole


def test_what_is_measured_of_another_file_is_measured_anew(tmp_path):
    cells, said = [Cell(BY_NAME["arxiv"], "rucb", 100, False)], []
    measure(cells, tmp_path / "cells.jsonl", runs=2, jobs=1, said=said.append, sources={"rucb": "one"})
    measure(cells, tmp_path / "cells.jsonl", runs=2, jobs=1, said=said.append, sources={"rucb": "other"})
    assert len(said) == 2


def test_auto_compares_sets_where_users_can_be_asked_about_sets():
    auto = POLICIES.configure("auto")
    assert suited(auto, to_sets=True).component.name == "auto_sets" and suited(auto, to_sets=True).label == "auto"
    assert suited(auto, to_sets=False) == auto
    assert "auto" in MATRIX and "auto/sosm" in LIVE


def test_the_page_and_the_picture_have_both_halves_and_each_policy():
    halves = {"tune": standings(costs_of(BY_NAME["arith201"], a=[1.0, 2.0], b=[2.0, 2.0]))}
    halves["judge"] = standings(costs_of(BY_NAME["arxiv"], a=[1.0, 2.0], b=[2.0, 2.0]))
    text = standings_page(halves)
    assert text.index("## Tune half: matrices, 100 steps") < text.index("## Judge half: matrices, 100 steps")
    assert [one.get_text() for one in plot_standings(halves).get_yticklabels()] == ["b", "a"]


def test_no_error_of_a_problem_is_hidden():
    with pytest.raises(InputError, match="not every policy was measured on every problem"):
        standings(costs_of(BY_NAME["arxiv"], a=[1.0, 2.0]) + costs_of(BY_NAME["arith201"], b=[1.0, 2.0]))
