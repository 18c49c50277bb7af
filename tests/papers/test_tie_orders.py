"""The winner of each tie order is printed beside the reference."""

from __future__ import annotations

import tomli_w

from ltr_duel.experiment import make_schedule
from ltr_duel.papers.reference import tie_order_sentences


def study(tmp_path, **corpus):
    toy = {"name": "toy", "synthetic": {"queries": 6, "documents": 12, "features": 4, "grades": 3}}
    toy |= {"comparisons": 100, "clicks": "perfect", "answers": "live", **corpus}
    table = {"policies": ["rucb"], "horizon": 50, "repetitions": 1, "corpora": [toy]}
    (tmp_path / "study.toml").write_text(tomli_w.dumps(table), encoding="utf-8")
    return make_schedule(tmp_path / "study.toml", jobs=1), table


def test_each_order_of_ties_has_its_winner_and_probability(tmp_path):
    plan, table = study(tmp_path)
    assert plan.problems[0].matrix.provenance["tied_share"] > 0.01
    sentence = tie_order_sentences(plan, table, tmp_path, 1)["toy"]
    for words in ("fixed_random, tie seed 0, ", "; fixed_random, tie seed 1, ", "; fixed_random, tie seed 2, "):
        assert words in sentence
    assert "; resample, " in sentence and sentence.count("(P ") == 4
    assert set(table["corpora"][0]) & {"ties", "tie_seed"} == set(), "the study itself is as it was"


def test_where_nobody_sees_ties_nothing_is_said(tmp_path):
    assert tie_order_sentences(*study(tmp_path, answers="matrix"), tmp_path, 1) == {}
