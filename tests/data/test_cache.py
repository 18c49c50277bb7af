"""The cache: text is parsed once, equal arrays share a folder, the least recently used goes, damage is read again."""

from __future__ import annotations

import gzip
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.core.mapped import is_kept
from ltr_duel.data import cached_arrays, clear, entries, load, load_dataset, make_corpus, write_svmlight
from ltr_duel.rankers import feature_rankers


@pytest.fixture(autouse=True)
def corpora(tmp_path, monkeypatch) -> Path:
    """Store all text, however quickly it was read, and return the folder."""
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("LTR_DUEL_CACHE_GB", raising=False)
    monkeypatch.setattr(load, "KEPT_AFTER", 0.0)
    return tmp_path / "home" / "corpora"


def text_file(folder: Path, name: str = "a.txt", **shape) -> Path:
    return write_svmlight(make_corpus(**{"queries": 30, "documents": 20, "features": 12, **shape}), folder / name)


def folders(corpora: Path) -> list[Path]:
    return sorted(corpora.glob("*")) if corpora.is_dir() else []


def assert_same(corpus, expected):
    for name in ("features", "relevance", "query_ptr", "query_ids", "doc_ids"):
        assert np.array_equal(getattr(corpus, name), getattr(expected, name)), name
    for name in ("name", "grades", "feature_names", "sha256"):
        assert getattr(corpus, name) == getattr(expected, name), name


@pytest.mark.parametrize("name", ["a.txt", "..txt", "x" * 250 + ".txt"])
def test_text_is_parsed_once_and_then_mapped(tmp_path, corpora, name, monkeypatch):
    file = text_file(tmp_path, name)
    plain = load_dataset(file, cache=False)
    assert not folders(corpora)
    assert_same(load_dataset(file), plain)
    monkeypatch.setattr(load, "read_files", None)  # from here on, no text can be read
    again = load_dataset(file)
    assert_same(again, plain)
    assert is_kept(again.features) and again.features.flags.f_contiguous and not again.features.flags.writeable
    assert_same(load_dataset(folders(corpora)[0]), plain)


def test_text_that_was_read_quickly_is_not_stored(tmp_path, corpora, monkeypatch):
    monkeypatch.setattr(load, "KEPT_AFTER", 600.0)
    load_dataset(text_file(tmp_path))
    assert not folders(corpora)


def test_name_grades_and_feature_names_of_one_call_change_no_other(tmp_path, corpora):
    file = text_file(tmp_path)
    load_dataset(file, name="mine", grades=9, feature_names=[f"f{k}" for k in range(12)])
    again = load_dataset(file)
    assert (again.name, again.grades, again.feature_names[0]) == ("a", 5, "1")
    assert (load_dataset(folders(corpora)[0]).name, load_dataset(folders(corpora)[0]).grades) == ("mine", 9)


def test_texts_with_equal_arrays_share_a_folder(tmp_path, corpora):
    file = text_file(tmp_path)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(file.read_bytes().replace(b"\n", b"\r\n")))
    first = load_dataset(file)
    assert load_dataset(tmp_path / "b.txt.gz").sha256 == first.sha256 and len(folders(corpora)) == 1
    load_dataset(write_svmlight(first, tmp_path / "sparse.txt", sparse=True))  # whose zeros may be missing values
    assert len(folders(corpora)) == 2


def test_options_that_change_numbers_are_another_corpus(tmp_path, corpora):
    (tmp_path / "a.txt").write_text("1 qid:1 1:NULL 2:3\n0 qid:1 1:0 2:1\n2 qid:1 1:4 2:2\n")
    low, high = (load_dataset(tmp_path / "a.txt", fill=fill) for fill in (-1, 9))
    assert low.sha256 != high.sha256 and len(folders(corpora)) == 2
    assert [feature_rankers(corpus).order[0].tolist() for corpus in (low, high)] == [[2, 1, 0], [0, 2, 1]]
    for option in ({"fill": 9}, {"split": "test"}):
        with pytest.raises(InputError, match="a folder of the cache is read as it is; for options, give the path of"):
            load_dataset(folders(corpora)[0], **option)


def test_changed_files_are_read_again(tmp_path):
    file, sizes = tmp_path / "a.txt", tmp_path / "a.query"
    file.write_text("0 1:1\n0 1:2\n")
    sizes.write_text("1\n1\n")
    assert load_dataset(file).query_ptr.tolist() == [0, 1, 2]
    sizes.write_text("2\n")
    assert load_dataset(file).query_ptr.tolist() == [0, 2]
    file.write_text("0 1:1\n0 1:7\n")  # of the same size
    os.utime(file, (1, 1))
    assert load_dataset(file).features[1, 0] == 7


def test_files_that_change_while_they_are_read_are_not_stored(tmp_path, corpora, monkeypatch):
    file, reader = text_file(tmp_path), load.read_files

    def read(*args):
        corpus = reader(*args)
        os.utime(file, (0, 0))
        return corpus

    monkeypatch.setattr(load, "read_files", read)
    load_dataset(file)
    assert not folders(corpora)


@pytest.mark.parametrize("damage", ["cut", "gone", "pickle"])
@pytest.mark.parametrize("file", ["columns.npy", "corpus.json"])
def test_a_damaged_folder_is_read_again_from_the_text_or_refused(tmp_path, corpora, file, damage):
    text = text_file(tmp_path)
    before = load_dataset(text, cache=False)
    load_dataset(text)
    path = folders(corpora)[0] / file
    content = path.read_bytes()
    path.unlink()
    if damage != "gone":
        path.write_bytes(content[: len(content) // 2] if damage == "cut" else pickle.dumps({"a": 1}))
    if (file, damage) != ("corpus.json", "gone"):  # then it is any folder
        with pytest.raises(InputError, match="read the text again"):
            load_dataset(path.parent)
    assert_same(load_dataset(text), before)
    assert_same(load_dataset(text), before)
    assert len(folders(corpora)) == 1


def test_the_cache_removes_the_least_recently_used_folder(tmp_path, corpora, monkeypatch):
    for age, name in enumerate("abc"):
        load_dataset(text_file(tmp_path, f"{name}.txt", seed=age))
        (folder,) = corpora.glob(f"{name}-*")
        os.utime(folder, (1000 + age, 1000 + age))
    load_dataset(tmp_path / "a.txt")  # now b was used least recently
    sizes = [entry.size for entry in entries()]
    monkeypatch.setenv("LTR_DUEL_CACHE_GB", str((sum(sizes) + 100) / 1e9))
    load_dataset(text_file(tmp_path, "d.txt", seed=3, queries=3))
    assert [folder.name[0] for folder in folders(corpora)] == ["a", "c", "d"]


def test_a_corpus_above_the_limit_is_not_stored_and_a_limit_is_a_number_of_gigabytes(tmp_path, corpora, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_CACHE_GB", "1e-9")
    assert load_dataset(text_file(tmp_path)).n_queries == 30 and not folders(corpora)
    for limit in ("many", "-1", "nan"):
        monkeypatch.setenv("LTR_DUEL_CACHE_GB", limit)
        with pytest.raises(InputError, match=f"must be a number of gigabytes, 0 or more, not '{limit}'"):
            load_dataset(tmp_path / "a.txt")


def numbers(calls: list[int]) -> np.ndarray:
    def compute(arrays):
        calls.append(1)
        arrays["orders"][:] = np.arange(6).reshape(2, 3)

    return cached_arrays({}, {"orders": (np.int16, (2, 3)), "ties": (np.uint8, (2,))}, compute)["orders"]


def test_arrays_are_computed_once_and_again_after_damage(corpora):
    calls: list[int] = []
    for _ in range(2):
        array = numbers(calls)
        assert array.tolist() == [[0, 1, 2], [3, 4, 5]] and not array.flags.writeable
    assert len(calls) == 1
    file = next((corpora.parent / "arrays").glob("*/orders.npy"))
    file.write_bytes(file.read_bytes()[:-1])
    assert numbers(calls).tolist() == [[0, 1, 2], [3, 4, 5]] and len(calls) == 2


def test_arrays_for_which_the_disk_has_no_space_are_in_memory(corpora, monkeypatch):
    """Without reserved space, a write to the mapped file would kill the process."""

    def full(file: int, size: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ltr_duel.core.host.reserve", full)
    assert numbers([]).tolist() == [[0, 1, 2], [3, 4, 5]] and not entries()


def test_files_of_the_user_in_the_same_folder_stay(corpora):
    mine = corpora / "MSLR-original" / "train.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("1 qid:1 1:1\n")
    assert clear() == 0 and mine.is_file()
