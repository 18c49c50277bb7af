"""``ltr-duel prefs``: estimate, show, compare."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.preferences.io import load_preferences, save_preferences
from ltr_duel.preferences.matrix import PreferenceMatrix
from tests.conftest import ROCK_PAPER_SCISSORS, bradley_terry


def estimate(ltr_duel, corpus, out, *words):
    answer = ltr_duel("prefs", "estimate", corpus, "--out", out, *words)
    assert answer.code == 0, answer.err
    return answer


def test_one_row_is_cheap_and_says_what_it_does_not_know(ltr_duel, corpus, tmp_path):
    out = tmp_path / "m.parquet"
    estimate(ltr_duel, corpus, out, "--comparisons", "400", "--against", "1")
    error = load_preferences(out).standard_error
    assert error[1, 2] == np.inf and 0 < error[0, 1] < 0.5
    assert "not compared" in ltr_duel("prefs", "show", out).out or load_preferences(out).condorcet_winner == "1"


def test_a_goal_is_reached(ltr_duel, corpus, tmp_path):
    out = tmp_path / "m.parquet"
    estimate(ltr_duel, corpus, out, "--comparisons", "200", "--target-error", ".01",
             "--variance-reduction", "none")  # fmt: skip
    assert load_preferences(out).standard_error.max() <= 0.01


def test_show_says_what_kind_of_preferences_these_are(ltr_duel, tmp_path):
    matrix = bradley_terry(4)
    error = np.full((4, 4), 0.05)
    np.fill_diagonal(error, 0)
    path = save_preferences(PreferenceMatrix(matrix.p, ("a", "b", "c", "d"), error), tmp_path / "m.parquet")
    shown = ltr_duel("prefs", "show", path, "--rows", "2").out
    assert "Condorcet winner: a, P = " in shown and "a total order" in shown and "; gamma_btm 1" in shown
    assert "Asymptotic lower bound on the average regret of pairwise policies" in shown and "\nc " not in shown
    noise = ltr_duel("prefs", "show", path, "--noise").out
    assert "p_value\ncyclic_triples" in noise.replace(" ", ""), noise


def test_what_divides_by_a_gap_within_its_error_is_not_determined(ltr_duel, tmp_path):
    matrix, words = bradley_terry(4), ("gamma_btm", "gamma_rucb", "pairwise policies:")
    for error, unsure in ((2.0, True), (0.5, False)):
        gap = np.sort(matrix.p[0])[1] - 0.5
        errors = error * gap * ~np.eye(4, dtype=bool)
        save_preferences(PreferenceMatrix(matrix.p, matrix.names, errors), tmp_path / "m.parquet")
        shown = ltr_duel("prefs", "show", tmp_path / "m.parquet").out
        assert [f"{word} not determined" in shown for word in words] == [unsure] * 3
        assert "= >" not in shown and "= <" not in shown


def test_an_only_ranker_leaves_nothing_undetermined(ltr_duel, tmp_path):
    save_preferences(PreferenceMatrix(np.array([[0.5]]), ("only",)), tmp_path / "m.parquet")
    assert "not determined" not in ltr_duel("prefs", "show", tmp_path / "m.parquet").out


def test_one_cycle_is_one(ltr_duel, tmp_path):
    save_preferences(ROCK_PAPER_SCISSORS, tmp_path / "m.parquet")
    assert ", 1 cycle of three" in ltr_duel("prefs", "show", tmp_path / "m.parquet").out


def test_the_outcome_rule_and_whether_it_is_the_default_are_named(ltr_duel, corpus, tmp_path):
    out, last = tmp_path / "m.parquet", "outcome rule: marginal_bernoulli (the default)\n"
    assert estimate(ltr_duel, corpus, out, "--comparisons", "100").out.endswith(last)
    assert ltr_duel("prefs", "show", out).out.endswith(last)
    named = ("--comparisons", "100", "--outcome", "marginal_sign")
    refused = ltr_duel("prefs", "estimate", corpus, "--out", out, *named)
    assert refused.code == 2 and f"{out}: already exists" in refused.err, "another matrix is not replaced"
    assert load_preferences(out).provenance["outcome"] == "marginal_bernoulli"
    assert estimate(ltr_duel, corpus, out, "--overwrite", *named).out.endswith("outcome rule: marginal_sign\n")


def test_a_method_for_sets_estimates_a_matrix(ltr_duel, corpus, tmp_path):
    said = estimate(ltr_duel, corpus, tmp_path / "m.parquet", "--method", "sosm", "--comparisons", "100").out
    assert "3 rankers, 100 comparisons for each pair" in said and said.endswith("outcome rule: credit (the default)\n")
    few = estimate(ltr_duel, corpus, tmp_path / "few.parquet", "--method", "probabilistic", "--size", "2").out
    assert few.endswith("outcome rule: sampled (the default)\n"), "the rule of sets"


def test_a_probability_names_the_queries_and_users_that_it_is_about(ltr_duel, corpus, tmp_path):
    said = estimate(ltr_duel, corpus, tmp_path / "m.parquet", "--comparisons", "100").out
    shown = ltr_duel("prefs", "show", tmp_path / "m.parquet").out
    queries = load_preferences(tmp_path / "m.parquet").provenance["queries"]
    assert f"P is for these {queries} queries" in shown
    assert "and the simulated users of this estimate, not for new queries." in shown
    headline = rf"P\([^)]*\) [<=>] [0-9.]+ for these {queries} queries\."
    assert re.search(headline, said), "the sentence holds for these queries alone"
    assert "new queries" not in ltr_duel("prefs", "show", "arxiv").out


def test_named_matrices_need_no_file(ltr_duel):
    assert "Yue and Joachims, ICML 2011, Table 1" in ltr_duel("prefs", "show", "arxiv").out
    assert "51 rankers" in ltr_duel("prefs", "show", "arith51").out
    answer = ltr_duel("prefs", "show", "arith7")
    assert answer.code == 2 and "no such file" in answer.err


def test_all_public_files_are_shown(ltr_duel, real_data):
    for path in sorted((real_data / "preference_matrices").iterdir()):
        if path.suffix != ".md":
            answer = ltr_duel("prefs", "show", path)
            assert answer.code == 0 and "Condorcet winner: " in answer.out, path.name


def test_compare_says_whether_two_matrices_agree(ltr_duel, corpus, tmp_path):
    for seed in ("1", "2"):
        estimate(
            ltr_duel, corpus, tmp_path / f"{seed}.parquet", "--comparisons", "500", "--seed", seed, "--tie-seed", seed
        )
    answer = ltr_duel("prefs", "compare", tmp_path / "1.parquet", tmp_path / "2.parquet", "--rows", "1")
    assert "3 rankers in common" in answer.out and "the largest z is" in answer.out
    assert "The matrices were estimated with different settings: tie_seed: 1 and 2" in answer.out
    same = ltr_duel("prefs", "compare", tmp_path / "1.parquet", tmp_path / "1.parquet").out
    assert same.startswith("The same Condorcet winner: 1 (P ")
    scissors = save_preferences(ROCK_PAPER_SCISSORS, tmp_path / "scissors.csv")
    other = save_preferences(replace(bradley_terry(3), names=ROCK_PAPER_SCISSORS.names), tmp_path / "order.csv")
    first = ltr_duel("prefs", "compare", other, scissors).out.splitlines()[0]
    assert first == f"Different Condorcet winners: {ROCK_PAPER_SCISSORS.names[0]} (P > 0.999) and none (P > 0.999)"
    assert "at most 0.0000" in same and "do not estimate" not in same


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_show_draws_a_picture(ltr_duel, tmp_path, ending):
    out = tmp_path / f"picture{ending}"
    assert ltr_duel("prefs", "show", "arxiv", "--plot", out).out.endswith(f"{out}\n")
    assert out.stat().st_size > 5000
    answer = ltr_duel("prefs", "show", "arxiv", "--plot", tmp_path / "picture.bmp")
    assert answer.code == 2 and "must end in .png, .pdf or .svg" in answer.err


def test_options_that_do_not_fit_are_refused(ltr_duel, corpus, tmp_path):
    answer = ltr_duel("prefs", "estimate", corpus, "--out", tmp_path / "x.csv", "--target-error", "2")
    assert answer.code == 2 and "standard error must be between" in answer.err and not (tmp_path / "x.csv").exists()


def test_rows_and_names_of_a_csv_must_agree(tmp_path):
    (tmp_path / "m.csv").write_text(",a,b\na,0.5,0.6\nc,0.4,0.5\n")
    with pytest.raises(InputError, match="the first column must repeat the names"):
        load_preferences(tmp_path / "m.csv")


def test_of_pairs_that_were_never_compared_nothing_is_printed(ltr_duel, corpus, tmp_path):
    out = tmp_path / "against.parquet"
    answer = ltr_duel("prefs", "estimate", corpus, "--keep-constant", "--against", "2", "--comparisons", "200",
                      "--out", out)  # fmt: skip
    assert "No ranker is shown to beat all others; 3 pairs were not compared." in answer.out
    shown = ltr_duel("prefs", "show", out).out
    assert "3 pairs were not compared" in shown and "need all pairs" in shown
    assert not any(word in shown for word in ("Borda:", "even pairs"))
    rows = [line.split() for line in shown.splitlines() if line[:2] in ("1 ", "3 ", "4 ")]
    assert len(rows) == 3 and all(row[3] == "1" and row[4] == row[5] for row in rows), (
        "of one pair, the mean is that pair"
    )


def test_ratings_are_listed_and_a_circle_contradicts_their_model(ltr_duel, tmp_path):
    p, error = np.array([[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]]), 0.03 * (1 - np.eye(3))
    path = save_preferences(PreferenceMatrix(p, ("a", "b", "c"), error), tmp_path / "circle.parquet")
    shown = ltr_duel("prefs", "show", path, "--ratings", "--plot", tmp_path / "ratings.png")
    assert "95% interval" in shown.out and "These preferences contradict the model" in shown.out
    assert (tmp_path / "ratings.png").exists()
