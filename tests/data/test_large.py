"""Corpora and rankings with arrays in files equal corpora and rankings in memory, and need little memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ltr_duel.core import InputError, mapped
from ltr_duel.data import Dataset, convert, load_dataset, make_corpus, write_svmlight
from ltr_duel.data.text.feature_buffers import MemoryBuffer
from ltr_duel.preferences import estimate_preferences
from ltr_duel.rankers import constant_features, evaluate_rankers, feature_rankers
from tests.conftest import HOME
from tests.core.test_mapped import holder
from tests.data.test_convert import folds


@pytest.fixture
def all_large(tmp_path, monkeypatch):
    """Call every array large, and release memory after each block."""
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(mapped, "LARGE", 1)
    monkeypatch.setattr(MemoryBuffer, "_MOST_IN_MEMORY", 1)
    monkeypatch.setattr(MemoryBuffer, "_MOST_WAITING", 1)


def assert_mapped(*arrays):
    for array in arrays:
        assert type(holder(array)).__name__ == "mmap"


def assert_same(one: Dataset, other: Dataset):
    for name in ("features", "relevance", "query_ptr", "query_ids"):
        assert (getattr(one, name) == getattr(other, name)).all()
    assert one.sha256 == other.sha256


@pytest.mark.parametrize("expected", [10, 2_000, 100_000])
def test_text_read_into_a_file_is_the_text_read_into_memory(tmp_path, monkeypatch, request, expected):
    corpus = make_corpus(queries=40, documents=20, features=30)
    file = write_svmlight(corpus, tmp_path / "corpus.txt")
    plain = load_dataset(file)
    request.getfixturevalue("all_large")
    monkeypatch.setattr(MemoryBuffer, "_LOOK_AT", 40)
    monkeypatch.setattr("ltr_duel.data.load.estimate_text_bytes", lambda _: expected)
    monkeypatch.setattr("ltr_duel.data.text.pipeline.CHUNK_BYTES", 4096)
    large = load_dataset(file)
    assert_mapped(large.features)
    assert_same(large, plain)
    assert_same(large.with_relevant(), plain.with_relevant())
    assert_mapped(large.with_relevant().features)


def test_null_is_filled_in_a_file_as_in_memory(tmp_path, request):
    file = tmp_path / "corpus.txt"
    file.write_text(
        "".join(f"{k % 2} qid:{k // 5} 1:{k} 2:{'NULL' if k % 3 else k - 7} #docid = a{k}\n" for k in range(90))
    )
    plain = load_dataset(file, fill="min")
    request.getfixturevalue("all_large")
    assert_same(load_dataset(file, fill="min"), plain)


def test_parts_of_a_converted_corpus_are_put_together_in_a_file(tmp_path, all_large):
    folder = folds(tmp_path / "five")
    expected = load_dataset(folder, fold=2, split="train")
    convert(folder)
    joined = load_dataset(folder, fold=2, split="train")
    assert_mapped(joined.features)
    assert_same(joined, expected)


@pytest.mark.parametrize("ties", ["fixed_random", "resample"])
def test_rankings_in_files_give_the_numbers_of_rankings_in_memory(request, ties):
    dataset = make_corpus(queries=30, documents=20, features=6, constant=0.3)
    plain = feature_rankers(dataset, ties=ties, drop_constant=False)
    request.getfixturevalue("all_large")
    large = feature_rankers(dataset, ties=ties, drop_constant=False)
    assert_mapped(large.order, large.rank, *([large.tied] if ties == "resample" else []))
    for one, other in ((large, plain), (large[[4, 1]], plain[[4, 1]])):
        for name in ("order", "rank", "tied"):
            assert (getattr(one, name) == getattr(other, name)).all()
    assert_mapped(large[[4, 1]].order)
    assert constant_features(dataset)
    assert evaluate_rankers(large).equals(evaluate_rankers(plain))
    one, other = (estimate_preferences(some[[0, 1, 2]], comparisons=40) for some in (large, plain))
    assert (one.p == other.p).all()


def test_a_corpus_is_refused_for_the_disk_and_not_for_the_memory(tmp_path, monkeypatch):
    file = write_svmlight(make_corpus(queries=40, documents=20, features=30), tmp_path / "corpus.txt")
    monkeypatch.setattr("ltr_duel.core.host.total_memory", lambda: 1000)
    assert load_dataset(file).n_features == 30
    monkeypatch.setattr(mapped, "free_disk", lambda: 1000)
    with pytest.raises(InputError, match=r"documents or more with 30 features need .* may be used"):
        load_dataset(file)


ROWS, COLUMNS = 280_000, 100  # 112 MB of features, 56 MB each of orders and ranks
SCRIPT = """
import sys
import os, pathlib, psutil
from ltr_duel.core import kernel_cache
from ltr_duel.core import mapped
from ltr_duel.data import load_dataset
from ltr_duel.data.text.feature_buffers import MemoryBuffer
from ltr_duel.preferences import estimate_preferences
from ltr_duel.rankers import constant_features, evaluate_rankers, feature_rankers

kernel_cache.cache_home = lambda: pathlib.Path(os.environ["KERNELS"])  # a link would not be followed
mapped.LARGE = MemoryBuffer._MOST_IN_MEMORY = MemoryBuffer._MOST_WAITING = 2**22

def peak():
    return 1024 * int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])

def walk(file):
    dataset = load_dataset(file, jobs=2)
    rankings = feature_rankers(dataset, jobs=2)
    evaluate_rankers(rankings, ["NDCG@10", "P@5"])
    estimate_preferences(rankings, against=rankings.names[0], comparisons=8, jobs=2, store=sys.argv[3])
    return dataset

walk(sys.argv[1])  # compile, load libraries
open("/proc/self/clear_refs", "w").write("5")  # the peak so far does not count
before = psutil.Process().memory_info().rss
print(before, walk(sys.argv[2]).features.nbytes, peak(), sep="\\n")
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak of some time")
def test_reading_ranking_evaluating_and_estimating_need_less_memory_than_the_arrays_they_make(tmp_path):
    for name, rows in (("small", 700), ("large", ROWS)):
        lines = (f"{k % 2} qid:{k // 100} {k % COLUMNS + 1}:1 {(k + 50) % COLUMNS + 1}:-{k}\n" for k in range(rows))
        (tmp_path / f"{name}.txt").write_text("".join(lines), encoding="ascii")
    files = [str(tmp_path / name) for name in ("small.txt", "large.txt", "parts")]
    environment = {**os.environ, "LTR_DUEL_HOME": str(tmp_path / "home"), "KERNELS": str(HOME)}
    answer = subprocess.run(
        [sys.executable, "-c", SCRIPT, *files], env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.split()
    before, features, peak = map(int, answer)
    assert features == 4 * ROWS * COLUMNS
    assert peak - before < features  # half of what features, orders and ranks take
