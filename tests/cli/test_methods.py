"""``ltr-duel list methods`` and ``sensitivity``."""

from __future__ import annotations

import pandas as pd

from ltr_duel.interleaving.method import METHODS


def test_methods_lists_every_method_with_its_parameters_rules_and_reference(ltr_duel):
    answer = ltr_duel("list", "methods", "--long")
    assert answer.code == 0 and answer.err == ""
    lines = answer.out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        *METHODS.names(),
        "",
        f"{len(METHODS.names())} in all.",
    ]
    for word in ("compares", "parameters", "outcome rules", "needs", "costs", "source"):
        assert sum(line.startswith(f"  {word} ") for line in lines) == len(METHODS.names())
    assert max(map(len, lines)) <= 120
    one = ltr_duel("list", "methods", "probabilistic").out
    for word in ("pairs and sets", "tau=3.0", "marginal_sign, sampled", "CIKM 2011"):
        assert word in one
    refused = ltr_duel("list", "methods", "probabilistc")
    assert refused.code == 2 and "did you mean 'probabilistic'?" in refused.err


def test_sensitivity_prints_its_table_and_leaves_two_files(ltr_duel, corpus, tmp_path):
    answer = ltr_duel(
        "sensitivity", corpus, "--clicks", "perfect", "--method", "probabilistic", "--method", "sosm", "--pairs", "2",
        "--impressions", "200", "--repetitions", "5", "--out", tmp_path,
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert "impressions to 95%" in answer.out and "right after 200" in answer.out
    assert [line.split()[0] for line in answer.out.splitlines()[3:5]] == ["probabilistic", "sosm"]
    frame = pd.read_parquet(tmp_path / "sensitivity.parquet")
    assert set(frame["method"]) == {"probabilistic", "sosm"} and frame["impressions"].max() == 200
    assert (tmp_path / "sensitivity.png").stat().st_size > 5000
