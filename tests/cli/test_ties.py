"""The order of tied documents: part of the rankers, and not changed by the seed of the comparisons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ltr_duel.data import make_corpus, write_svmlight
from ltr_duel.preferences import compare_matrices, load_preferences


@pytest.fixture
def tied(tmp_path):
    """Write a corpus whose features have three values, and return its path."""
    corpus = make_corpus(queries=20, documents=12, features=4, seed=1, dead=0, constant=0, twins=0)
    coarse = np.asfortranarray(np.clip(np.round(corpus.features / corpus.features.std(axis=0)), -1, 1))
    write_svmlight(replace(corpus, features=coarse), tmp_path / "tied.txt")
    return tmp_path / "tied.txt"


@pytest.fixture
def matrix_of(succeed, tmp_path):
    """Return a function that estimates a matrix with some options."""

    def estimate(path, *words):
        out = tmp_path / f"{' '.join(map(str, words))}.parquet"
        succeed("prefs", "estimate", path, "--out", out, *words)
        return load_preferences(out)

    return estimate


def test_seeds_estimate_the_same_rankers_and_tie_seeds_do_not(tied, matrix_of):
    words = ("--comparisons", 4000)
    first = matrix_of(tied, *words, "--seed", 1)
    assert first.provenance["tie_seed"] == 0
    assert compare_matrices(first, matrix_of(tied, *words, "--seed", 2)).chance > 0.01
    assert compare_matrices(first, matrix_of(tied, *words, "--tie-seed", 2)).chance < 1e-6


def test_where_ties_are_ordered_again_the_tie_seed_does_not_matter(tied, matrix_of):
    words = ("--ties", "resample", "--comparisons", 20_000)
    first, second = matrix_of(tied, *words), matrix_of(tied, *words, "--tie-seed", 2, "--seed", 3)
    assert compare_matrices(first, second).chance > 0.01


def test_a_probability_names_the_order_of_ties_that_it_is_about(tied, corpus, succeed, tmp_path):
    for path, words, order in (
        (tied, ("--tie-seed", 3), "; fixed_random, tie seed 3) and the simulated users"),
        (tied, ("--ties", "resample"), "; resample) and the simulated users"),
        (corpus, (), "P is for these 6 queries and the simulated users"),
    ):
        out = tmp_path / "m.parquet"
        succeed("prefs", "estimate", path, "--out", out, "--comparisons", 40, "--overwrite", *words)
        assert order in succeed("prefs", "show", out, "--explain")


def test_users_with_another_order_of_ties_than_the_matrix_are_refused(tied, matrix_of, succeed, refuse, tmp_path):
    matrix_of(tied, "--comparisons", 40, "--tie-seed", 3)
    words = ["simulate", tmp_path / "--comparisons 40 --tie-seed 3.parquet", "--users", tied, "--policy", "rucb"]
    words += ["--horizon", 100, "--repetitions", 1, "--out", tmp_path / "o"]
    refuse("give --ties fixed_random --tie-seed 3", *words)
    assert "note: regret" not in succeed(*words, "--tie-seed", 3)


def test_a_matrix_with_other_settings_than_the_simulated_users_has_notes(tied, succeed, tmp_path):
    out = tmp_path / "m.parquet"
    succeed("prefs", "estimate", tied, "--out", out, "--comparisons", 40, "--clicks", "perfect", "--top", 5)
    words = ["simulate", out, "--users", tied, "--policy", "random", "--horizon", 10, "--repetitions", 1]
    shown = succeed(*words, "--top", 6, "--out", tmp_path / "runs", "--explain")
    for setting in ("clicks perfect, not navigational", "top 5, not 6"):
        assert f"note: regret is measured by {out}, which was estimated with {setting}\n" in shown


@pytest.mark.long
def test_on_real_data_seeds_agree_within_their_errors_and_tie_seeds_do_not(matrix_of, real_data):
    path = real_data / "OHSUMED" / "Fold1"
    first, *others = (matrix_of(path, "--seed", seed) for seed in range(4))
    assert min(compare_matrices(first, other).chance for other in others) > 0.01
    assert first.provenance["tied_share"] == pytest.approx(0.55, abs=0.01)
    third, sixth = (matrix_of(path, "--tie-seed", seed) for seed in (3, 6))  # P(winner) = .999 and .957
    assert third.condorcet_winner == "BM25 title" and sixth.condorcet_winner == "log normalised TF-IDF title"


@pytest.mark.long
def test_on_mq2008_with_informational_users_eight_seeds_name_one_winner(matrix_of, real_data):
    words = (real_data / "MQ2008" / "Fold1", "--clicks", "informational", "--seed")
    winners = {matrix_of(*words, seed).condorcet_winner for seed in range(8)}
    assert winners == {"LM Jelinek-Mercer URL"}
