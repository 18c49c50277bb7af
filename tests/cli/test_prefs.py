"""``ltr-duel prefs``: estimate, show, compare."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.preferences import PreferenceMatrix, load_preferences, save_preferences
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry


@pytest.fixture
def estimate(succeed, corpus, tmp_path):
    """Return a function that estimates a matrix of the small corpus, and returns the output and the matrix."""

    def run(*words, name="m.parquet"):
        out = succeed("prefs", "estimate", corpus, "--out", tmp_path / name, *words)
        return out, load_preferences(tmp_path / name)

    return run


def stored(tmp_path, p, error):
    """Store a matrix of estimated preferences with equal errors."""
    errors = error * (1 - np.eye(len(p)))
    return save_preferences(PreferenceMatrix(np.array(p), tuple("abcdefg"[: len(p)]), errors), tmp_path / "m.parquet")


def test_an_estimate_prints_the_winner_its_probability_and_what_was_compared(estimate, succeed, tmp_path):
    out, matrix = estimate("--clicks", "perfect", "--comparisons", 400, "--outcome", "sampled", "--top", 5)
    winner, probability, note = out.splitlines()
    assert winner.startswith("Condorcet winner: 1. It beats its strongest rival, ")
    assert re.fullmatch(r"P\(it is the winner\) [=>] 0[.]\d+ for these 6 queries[.]", probability)
    assert note.endswith("m.parquet: 3 rankers, 400 comparisons for each pair, outcome rule sampled")
    assert matrix.names == ("1", "2", "3") and matrix.provenance["top"] == 5
    assert succeed("prefs", "show", tmp_path / "m.parquet").splitlines()[:2] == [winner, probability]


def test_one_row_leaves_the_other_pairs_uncompared(estimate, succeed, tmp_path):
    out, matrix = estimate("--keep-constant", "--against", "2", "--comparisons", 200)
    assert "No ranker is shown to beat all others; 3 pairs were not compared." in out
    assert matrix.standard_error[0, 2] == np.inf and 0 < matrix.standard_error[0, 1] < 0.5
    assert "need all pairs" in succeed("prefs", "show", tmp_path / "m.parquet", "--explain")


def test_a_target_error_is_reached(estimate):
    _, matrix = estimate("--comparisons", 200, "--target-error", 0.01, "--variance-reduction", "none")
    assert matrix.standard_error.max() <= 0.01


def test_a_method_for_sets_has_its_own_rule(estimate):
    assert "100 comparisons for each pair, outcome rule credit" in estimate("--method", "sosm", "--comparisons", 100)[0]
    sized, _ = estimate("--method", "probabilistic", "--size", 2, name="sized.parquet")
    assert sized.endswith("outcome rule sampled\n")


def test_explain_prints_the_properties_and_the_settings(succeed, tmp_path):
    path = stored(tmp_path, bradley_terry(4).p, 0.05)
    short, long = (succeed("prefs", "show", path, "--rows", 2, *more) for more in ([], ["--explain"]))
    assert set(short.splitlines()) < set(long.splitlines()) and "\nc " not in short
    assert "2 more rankers; --rows 4 lists them" in short
    assert "Order: a total order" in long and "; gamma_btm 1" in long
    assert "Asymptotic lower bound on the average regret of pairwise policies" in long
    assert "Yue and Joachims, ICML 2011, Table 1" in succeed("prefs", "show", "arxiv", "--explain")
    shown = succeed("prefs", "show", save_preferences(ROCK_PAPER_SCISSORS, tmp_path / "circle.parquet"), "--explain")
    assert shown.startswith("No Condorcet winner: no ranker beats all others.") and ", 1 cycle of three" in shown


def test_an_undecided_log_says_what_to_report(succeed, tmp_path):
    """P(a wins) is that of one normal test, 0.977; the log's test may be corrected for other pairs."""
    about = {"source": "click log", "rankers": 2, "undecided": "Not decided by the log"}
    matrix = PreferenceMatrix(
        np.array([[0.5, 0.52], [0.48, 0.5]]), ("a", "b"), np.array([[0, 0.01], [0.01, 0]]), provenance=about
    )
    answer, certainty, *_ = succeed("prefs", "show", save_preferences(matrix, tmp_path / "m.parquet")).splitlines()
    assert answer.startswith("Not decided by the log.") and "= 0.977" in certainty
    assert certainty.endswith(
        "Report 'not decided by the log': the test of the log is corrected for all pairs, P is not."
    )


def test_compare_says_first_whether_the_winners_agree(estimate, succeed, tmp_path):
    for seed, method in (("1", "probabilistic:tau=3"), ("2", "sosm")):
        estimate("--comparisons", 500, "--method", method, "--tie-seed", seed, name=f"{seed}.parquet")
    first, second, note = succeed("prefs", "compare", tmp_path / "1.parquet", tmp_path / "2.parquet").splitlines()
    assert first.startswith("The same Condorcet winner: 1 (P ") and "3 rankers in common" in second
    assert "with different settings: method: probabilistic and sosm; " in note and "; size: not set and 3; " in note
    same = succeed("prefs", "compare", tmp_path / "1.parquet", tmp_path / "1.parquet")
    assert "root mean square 0.0000, 0.0% of pairs" in same
    scissors = save_preferences(ROCK_PAPER_SCISSORS, tmp_path / "scissors.csv")
    other = save_preferences(replace(bradley_terry(3), names=ROCK_PAPER_SCISSORS.names), tmp_path / "order.csv")
    answer = succeed("prefs", "compare", other, scissors)
    assert answer.startswith(f"Different Condorcet winners: {ROCK_PAPER_SCISSORS.names[0]} and none (P ")


def test_show_draws_a_picture(succeed, refuse, tmp_path):
    assert succeed("prefs", "show", "arxiv", "--plot", tmp_path / "m.svg").endswith(f"{tmp_path / 'm.svg'}\n")
    assert (tmp_path / "m.svg").stat().st_size > 5000
    refuse("bmp", "prefs", "show", "arxiv", "--plot", tmp_path / "m.bmp")


def test_ratings_are_listed_and_a_circle_contradicts_their_model(succeed, tmp_path):
    path = stored(tmp_path, [[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]], 0.03)
    shown = succeed("prefs", "show", path, "--ratings", "--plot", tmp_path / "ratings.png")
    assert "95% interval" in shown and "note: These preferences contradict the model" in shown
    assert (tmp_path / "ratings.png").exists()


def test_all_public_matrices_are_shown(succeed, real_data):
    for path in sorted((real_data / "preference_matrices").iterdir()):
        if path.suffix != ".md":
            assert succeed("prefs", "show", path).startswith("Condorcet winner: "), path.name
