"""Matrices, corpora, rankings and results own their arrays: read-only, and not shared with the caller."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

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


def arrays_of(thing) -> dict[str, np.ndarray]:
    found = {name: value for name, value in vars(thing).items() if isinstance(value, np.ndarray)}
    tally = getattr(thing, "tally", None)
    return found | ({} if tally is None else tally._asdict())


def refuse_writing(thing) -> None:
    arrays = arrays_of(thing)
    assert arrays
    for array in arrays.values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = array


def test_frozen_copies_what_somebody_could_write_to():
    mine = np.arange(4.0)
    view = mine[1:]
    view.setflags(write=False)  # a read-only view of an array that can still be written to
    for given in (mine, view, [1.0, 2.0]):
        kept = frozen(given)
        assert not kept.flags.writeable and not np.shares_memory(kept, mine)
    assert mine.flags.writeable


def test_frozen_keeps_what_nobody_can_write_to(tmp_path):
    given = handed_over(np.arange(6.0).reshape(2, 3).T)
    assert np.shares_memory(frozen(given), given) and not given.base.flags.writeable
    np.save(tmp_path / "a.npy", np.arange(4.0))
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
    made = make_corpus(queries=3, documents=5, features=4)
    path = write_svmlight(made, tmp_path / "corpus.txt")
    monkeypatch.setattr(load, "KEPT_AFTER", 0.0)
    for corpus in (made, load_dataset(path, cache=False), load_dataset(path)):
        refuse_writing(corpus)
    features, grades = np.array(made.features), np.array(made.relevance)
    mine = replace(made, features=features, relevance=grades)
    features[:], grades[:] = 9, 0
    assert (mine.features == made.features).all() and (mine.relevance == made.relevance).all()
    assert features.flags.writeable


def test_features_that_a_reader_made_are_not_copied(tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    made = make_corpus(queries=3, documents=5, features=4)
    assert np.shares_memory(frozen(made.features), made.features)
    monkeypatch.setattr(load, "KEPT_AFTER", 0.0)
    assert is_kept(load_dataset(write_svmlight(made, tmp_path / "c.txt")).features)


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
    asked = Comparer(random_rankings(2, 2, 4), click_model("perfect", 5)).open()
    for array in (*asked.lists, asked.relevance, asked.tied):
        assert array.flags.writeable
