"""The order of tied documents: part of the rankers, the same for each seed, and printed beside P(winner)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.data import make_corpus, write_svmlight
from ltr_duel.preferences import PreferenceMatrix, compare_matrices, load_preferences, save_preferences
from ltr_duel.rankers import TIE_RULES
from tests.cli.test_prefs_commands import estimate

COMMANDS = (
    "advise", "demo", "power", "prefs estimate", "evaluate", "replay",
    "sensitivity", "simulate",
)  # fmt: skip


@pytest.fixture
def tied(tmp_path):
    """Write a corpus whose features have three values, and return its path."""
    corpus = make_corpus(queries=20, documents=12, features=4, seed=1, dead=0, constant=0, twins=0)
    coarse = np.asfortranarray(np.clip(np.round(corpus.features / corpus.features.std(axis=0)), -1, 1))
    path = tmp_path / "tied.txt"
    write_svmlight(replace(corpus, features=coarse), path)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_with_rankers_lists_the_tie_rules_and_has_a_tie_seed(ltr_duel, command):
    shown = " ".join(ltr_duel(*command.split(), "--help").out.split())
    assert all(rule in shown for rule in TIE_RULES) and "--tie-seed" in shown


def matrix_of(ltr_duel, corpus, out, *words):
    estimate(ltr_duel, corpus, out, "--comparisons", "4000", *words)
    return load_preferences(out)


def test_two_seeds_estimate_the_same_rankers_and_two_tie_seeds_do_not(ltr_duel, tied, tmp_path):
    first = matrix_of(ltr_duel, tied, tmp_path / "1.parquet", "--seed", "1")
    second = matrix_of(ltr_duel, tied, tmp_path / "2.parquet", "--seed", "2")
    assert first.provenance["tie_seed"] == second.provenance["tie_seed"] == 0
    assert compare_matrices(first, second).chance > 0.01
    other = matrix_of(ltr_duel, tied, tmp_path / "3.parquet", "--seed", "2", "--tie-seed", "2")
    assert compare_matrices(first, other).chance < 1e-6


def test_where_ties_are_ordered_again_the_tie_seed_does_not_matter(ltr_duel, tied, tmp_path):
    words = ("--ties", "resample", "--comparisons", "20000")
    first = matrix_of(ltr_duel, tied, tmp_path / "1.parquet", *words)
    second = matrix_of(ltr_duel, tied, tmp_path / "2.parquet", *words, "--tie-seed", "2", "--seed", "2")
    assert compare_matrices(first, second).chance > 0.01


def test_the_probability_of_a_winner_is_that_of_an_order_of_tied_documents(ltr_duel, tied, corpus, tmp_path):
    for name, place, words in (
        ("m", tied, ("--tie-seed", "3")),
        ("n", tied, ("--ties", "resample")),
        ("o", corpus, ()),
    ):
        estimate(ltr_duel, place, tmp_path / f"{name}.parquet", "--comparisons", "40", *words)
    once, again, untied = (ltr_duel("prefs", "show", tmp_path / f"{name}.parquet").out for name in "mno")
    assert "; fixed_random, tie seed 3) and the simulated users" in once and "; resample) and the simulated" in again
    assert "order of tied documents" not in untied


def test_simulate_says_who_the_winner_of_its_table_is_where_the_matrix_leaves_it_undecided(ltr_duel, tmp_path):
    for wins, error in ((0.51, 0.02), (0.9, 0.02)):
        sure = np.array([[0, error], [error, 0]])
        matrix = PreferenceMatrix(np.array([[0.5, wins], [1 - wins, 0.5]]), ("x", "y"), sure)
        save_preferences(matrix, tmp_path / "m.parquet")
        few = ("--horizon", "50", "--repetitions", "1", "--jobs", "1", "--out", tmp_path / f"runs {wins}")
        shown = ltr_duel("simulate", tmp_path / "m.parquet", "--policy", "random", *few)
        assert shown.code == 0, shown.err
        assert "runs that name the winner" in shown.out
        assert (" The table assumes the winner of this matrix, x.\n" in shown.out) == (wins == 0.51)


def test_users_with_another_order_of_ties_than_the_matrix_are_refused(ltr_duel, tied, tmp_path):
    estimate(ltr_duel, tied, tmp_path / "m.parquet", "--comparisons", "40", "--tie-seed", "3")
    words = ("--users", tied, "--policy", "rucb", "--horizon", "100", "--repetitions", "1", "--out", tmp_path / "o")
    answer = ltr_duel("simulate", tmp_path / "m.parquet", *words)
    assert answer.code == 2 and "give --ties fixed_random --tie-seed 3" in answer.err
    assert ltr_duel("simulate", tmp_path / "m.parquet", *words, "--tie-seed", "3").code == 0


def test_a_matrix_with_other_settings_than_the_simulated_users_has_a_note(ltr_duel, tied, tmp_path):
    matrix_of(ltr_duel, tied, tmp_path / "m.parquet", "--clicks", "perfect", "--method", "team_draft", "--top", "5")
    words = ["simulate", tmp_path / "m.parquet", "--users", tied, "--policy", "random", "--horizon", 10]
    words += ["--repetitions", 1, "--out", tmp_path / "out", "--overwrite"]
    words += ["--method", "team_draft"]
    assert "note: regret" not in ltr_duel(*words, "--clicks", "perfect", "--top", 5).out
    shown = ltr_duel(*words, "--clicks", "navigational", "--top", 6).out
    for differ in ("clicks perfect, not navigational", "top 5, not 6"):
        assert f"note: regret is measured by {tmp_path / 'm.parquet'}, which was estimated with {differ}\n" in shown
    assert shown.count("note: regret") == 2


def test_on_real_data_seeds_agree_within_their_errors_and_tie_seeds_do_not(ltr_duel, real_data, tmp_path):
    def ohsumed(seed, tie_seed):
        out = tmp_path / f"{seed} {tie_seed}.parquet"
        estimate(ltr_duel, real_data / "OHSUMED" / "Fold1", out, "--seed", seed, "--tie-seed", tie_seed)
        return load_preferences(out)

    first, *others = (ohsumed(seed, 0) for seed in range(4))
    assert min(compare_matrices(first, other).chance for other in others) > 0.01
    assert first.provenance["tied_share"] == pytest.approx(0.55, abs=0.01)
    third, sixth = ohsumed(0, 3), ohsumed(0, 6)  # P(winner) = .999 and .957 of two other rankers
    assert third.condorcet_winner == "BM25 title" and sixth.condorcet_winner == "log normalised TF-IDF title"


def test_on_mq2008_with_informational_users_eight_seeds_name_one_winner(ltr_duel, real_data, tmp_path):
    for seed in range(8):
        out = tmp_path / f"m{seed}.parquet"
        words = (real_data / "MQ2008" / "Fold1", out, "--clicks", "informational", "--seed", seed)
        assert "Condorcet winner: LM Jelinek-Mercer URL" in estimate(ltr_duel, *words).out
