"""``ltr-duel methods``, ``distortion`` and ``sensitivity``."""

from __future__ import annotations

import pandas as pd
import pytest

from ltr_duel.interleaving.method import METHODS

QUICK = ("--multileavings", "50", "--repetitions", "3", "--comparisons", "300", "--top", "5")


def test_methods_lists_every_method_with_its_parameters_rules_and_reference(ltr_duel):
    answer = ltr_duel("methods", "--long")
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
    one = ltr_duel("methods", "probabilistic").out
    for word in ("pairs and sets", "tau=3.0", "marginal_sign, sampled", "CIKM 2011"):
        assert word in one
    refused = ltr_duel("methods", "probabilistc")
    assert refused.code == 2 and "did you mean 'probabilistic'?" in refused.err


def test_distortion_prints_its_table_and_leaves_two_files(ltr_duel, corpus, tmp_path):
    answer = ltr_duel(
        "distortion", corpus, "--sizes", "2,3", "--clicks", "perfect, navigational", "--method", "sosm",
        "--out", tmp_path / "out", *QUICK,
    )  # fmt: skip
    assert answer.code == 0, answer.err
    lines = [line.split() for line in answer.out.splitlines()]
    table = [line for line in lines if line[:1] == ["sosm"]]
    assert [line[1:3] for line in table] == [
        ["perfect", "2"], ["perfect", "3"], ["navigational", "2"], ["navigational", "3"],
    ]  # fmt: skip
    frame = pd.read_parquet(tmp_path / "out" / "distortion.parquet")
    assert len(frame) == 4 * 3 and frame.attrs["multileavings"] == 50 and frame.attrs["corpus"] == "small"
    shown = frame.groupby(["clicks", "rankers"], sort=False)["percent"].mean()
    assert [float(line[3]) for line in table] == pytest.approx(shown.to_list(), abs=0.051)
    assert (tmp_path / "out" / "distortion.png").stat().st_size > 5000
    assert "3 rankers, 50 multileavings of each of 3 sets" in answer.out, "the constant column is no ranker"


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


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--sizes", "3,x"), "'x' is not a whole number"),
        (("--sizes", "100"), "the number of rankers in a set must be between 2 and 3, not 100"),
        (("--sizes", "3", "--clicks", "navigationl"), "did you mean 'navigational'?"),
        (("--sizes", "3", "--method", "balanced"), "'balanced' does not compare sets of rankers"),
    ],
)
def test_bad_choices_are_one_sentence_and_exit_2(ltr_duel, corpus, words, complaint):
    answer = ltr_duel("distortion", corpus, *words)
    assert answer.code == 2 and complaint in answer.err and "Traceback" not in answer.err
    assert answer.err.count("ltr-duel: ") == 1
