"""Matrices, corpora, rankings and results own their arrays: read-only, and not shared with the caller."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ltr_duel.clicks import click_model
from ltr_duel.core import as_writable
from ltr_duel.core.arrays import frozen, handed_over
from ltr_duel.core.mapped import is_kept
from ltr_duel.data import load, load_dataset, make_corpus, write_svmlight
from ltr_duel.interleaving import Comparer
from ltr_duel.preferences import PreferenceMatrix, arxiv
from ltr_duel.rankers import feature_rankers
from ltr_duel.simulation import FromMatrix, Results, simulate
from tests.conftest import random_rankings


def refuse_writing(thing) -> None:
    parts = [*vars(thing).values(), *(getattr(thing, "tally", None) or ())]
    arrays = [array for array in parts if isinstance(array, np.ndarray)]
    assert arrays and not any(array.flags.writeable for array in arrays)


def test_frozen_copies_only_arrays_that_can_be_written_to(tmp_path):
    mine = np.arange(4.0)
    view = mine[1:]
    view.setflags(write=False)  # a read-only view of an array that can still be written to
    for given in (mine, view, [1.0, 2.0]):
        kept = frozen(given)
        assert not kept.flags.writeable and not np.shares_memory(kept, mine)
    assert mine.flags.writeable
    given = handed_over(np.arange(6.0).reshape(2, 3).T)
    assert np.shares_memory(frozen(given), given) and not given.base.flags.writeable
    np.save(tmp_path / "a.npy", mine)
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    assert np.shares_memory(frozen(mapped), mapped)


def test_a_matrix_owns_its_arrays():
    p, error, counts = np.array([[0.5, 0.9], [0.1, 0.5]]), np.full((2, 2), 0.1), np.full((2, 2), 7)
    matrix = PreferenceMatrix(p, ("a", "b"), error, counts, about := {"seed": 1})
    refuse_writing(matrix)
    p[:], error[:], counts[:] = 0.5, 0, 0
    about["seed"] = 2
    assert matrix.p[0, 1] == 0.9 and matrix.standard_error[0, 1] == 0.1 and matrix.comparisons[0, 1] == 7
    assert matrix.provenance == {"seed": 1} and p.flags.writeable


def test_a_corpus_owns_its_arrays(tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(load, "KEPT_AFTER", 0.0)
    made = make_corpus(queries=3, documents=5, features=4)
    path = write_svmlight(made, tmp_path / "corpus.txt")
    mapped = load_dataset(path)
    for corpus in (made, load_dataset(path, cache=False), mapped):
        refuse_writing(corpus)
    assert is_kept(mapped.features) and np.shares_memory(frozen(made.features), made.features)
    features, grades = np.array(made.features), np.array(made.relevance)
    mine = replace(made, features=features, relevance=grades)
    features[:], grades[:] = 9, 0
    assert (mine.features == made.features).all() and (mine.relevance == made.relevance).all()


def test_rankings_own_their_arrays():
    order = np.array([[0, 1]], np.int16)
    made = random_rankings(1, 1, 2)
    mine = replace(made, order=order, rank=order + 1)
    order[:] = 1
    assert mine.order.tolist() == [[0, 1]]
    for rankings in (made, mine, made[[0]], feature_rankers(make_corpus(queries=2, documents=4, features=3))):
        refuse_writing(rankings)


def test_results_own_their_arrays():
    values = np.arange(6.0)
    run = simulate(arxiv(), "random", horizon=10, repetitions=1, jobs=1, compiled=False).runs[0]
    results = Results([run], arxiv(), {"utility": values})
    values[:] = 0
    assert results.values["utility"][5] == 5
    refuse_writing(results.runs[0])
    frame = results.to_frame()
    frame.loc[0, "t"] = 7  # the caller owns the table
    assert results.runs[0].checkpoints[0] == 1


def test_kernels_see_arrays_that_they_are_compiled_for_already():
    """numba treats a read-only array as a different type, and would compile every loop a second time."""
    assert FromMatrix(arxiv()).open().p.flags.writeable
    assert as_writable(arxiv().p).flags.writeable and not arxiv().p.flags.writeable
    compared = Comparer(random_rankings(2, 2, 4), click_model("perfect", 5)).open()
    for array in (*compared.lists, compared.relevance, compared.tied):
        assert array.flags.writeable
