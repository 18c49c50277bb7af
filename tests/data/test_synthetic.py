"""Synthetic corpora have the requested shape and defects, and are unchanged after a round trip through text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.data.dataset import describe
from ltr_duel.data.load import load_dataset
from ltr_duel.data.synthetic import make_corpus
from ltr_duel.data.text.write import write_svmlight


def test_the_shape_is_what_was_asked_for() -> None:
    corpus = make_corpus(queries=50, documents=20, features=30, grades=5)
    assert (corpus.n_queries, corpus.n_features, corpus.grades) == (50, 30, 5)
    assert corpus.query_sizes.min() >= 10 and corpus.query_sizes.max() <= 30


@pytest.mark.parametrize("grades", [2, 3, 5, 8])
def test_every_grade_occurs_and_zero_is_the_most_common_of_the_usual_ones(grades: int) -> None:
    counts = np.bincount(make_corpus(grades=grades).relevance, minlength=grades)
    assert np.all(counts > 0)
    if grades < 8:
        assert counts.argmax() == 0


def test_dead_and_constant_columns_are_as_many_as_asked_for() -> None:
    seen = describe(make_corpus(features=100, dead=0.05, constant=0.07, twins=0))
    assert (len(seen.dead), len(seen.constant)) == (5, 7)


def test_twins_nearly_repeat_another_column() -> None:
    features = make_corpus(features=10, twins=0.5, dead=0, constant=0, ties=0).features
    same = np.array([[np.mean(features[:, i] == features[:, j]) for i in range(10)] for j in range(10)])
    np.fill_diagonal(same, 0)
    assert np.count_nonzero(same.max(axis=0) > 0.9) >= 6


def test_the_best_feature_is_clearly_ahead() -> None:
    corpus = make_corpus(queries=300)
    with np.errstate(invalid="ignore", divide="ignore"):
        rank = np.argsort(np.argsort(corpus.features, axis=0), axis=0)
        strength = np.array([np.corrcoef(column, corpus.relevance)[0, 1] for column in rank.T])
    first, second = np.sort(np.nan_to_num(strength))[::-1][:2]
    assert 0.03 < first - second < 0.3


def test_the_same_seed_gives_the_same_corpus_and_another_seed_another() -> None:
    first, again, other = (make_corpus(queries=5, seed=seed) for seed in (1, 1, 2))
    assert first.sha256 == again.sha256 != other.sha256


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.parametrize("sparse", [False, True])
def test_text_keeps_every_value(tmp_path: Path, name: str, sparse: bool) -> None:
    corpus = make_corpus(queries=20, features=25, sparsity=0.5)
    again = load_dataset(write_svmlight(corpus, tmp_path / name, sparse=sparse), features=25)
    assert again.features.tobytes() == corpus.features.tobytes()
    assert again.relevance.tolist() == corpus.relevance.tolist()
    assert again.query_ids.tolist() == corpus.query_ids.tolist()
    assert again.doc_ids is not None and corpus.doc_ids is not None
    assert again.doc_ids.tolist() == corpus.doc_ids.tolist()


def test_text_keeps_values_of_any_size(tmp_path: Path) -> None:
    from dataclasses import replace

    values = [1e-45, 3e38, -0.0, 1.1754944e-38, 1 / 3, 16777216.0, 5.4e7, 1e-13, 123456.789]
    any_bits = np.random.default_rng(0).integers(0, 2**32, 90_000, np.uint32).view(np.float32)
    numbers = np.concatenate([np.float32(values), any_bits[np.isfinite(any_bits)]])
    corpus = make_corpus(queries=10, documents=20, features=500)
    assert len(numbers) < corpus.features.size
    corpus = replace(corpus, features=np.asfortranarray(np.resize(numbers, corpus.features.shape)))
    again = load_dataset(write_svmlight(corpus, tmp_path / "a.txt"))
    assert again.features.tobytes() == corpus.features.tobytes()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old")

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("ltr_duel.data.text.write._lines", fail)
    with pytest.raises(InputError, match="cannot be written: no space left"):
        write_svmlight(make_corpus(queries=1), file)
    assert file.read_text() == "old"
    assert [f.name for f in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("wrong", [{"queries": 0}, {"ties": 1.5}, {"dead": 0.6, "twins": 0.6}, {"grades": 1}])
def test_impossible_shapes_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        make_corpus(**wrong)  # type: ignore[arg-type]
