"""Converting: the same numbers, opened quickly, never incomplete, in bounded memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.data import load
from ltr_duel.data.dataset import Dataset
from ltr_duel.data.load import load_dataset
from ltr_duel.data.store import cache, entries
from ltr_duel.data.store.convert import convert
from ltr_duel.data.store.converted import open_converted
from ltr_duel.data.synthetic import make_corpus
from ltr_duel.data.text.feature_buffers import FileBuffer
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.data.text.reading import Naming
from ltr_duel.data.text.write import write_svmlight
from tests.conftest import hear_interrupts


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("LTR_DUEL_HOME", str(home))
    return home


def text_file(folder: Path, name: str = "a.txt", **shape: Any) -> Path:
    return write_svmlight(make_corpus(**{"queries": 30, "documents": 20, "features": 12, **shape}), folder / name)


def assert_same(a: Dataset, b: Dataset) -> None:
    assert np.array_equal(a.features, b.features, equal_nan=True)
    for one, other in ((a.relevance, b.relevance), (a.query_ptr, b.query_ptr), (a.query_ids, b.query_ids)):
        assert np.array_equal(one, other)
    for one, other in ((a.doc_ids, b.doc_ids), (a.comments, b.comments)):
        assert (one is None) == (other is None)
        assert one is None or other is None or one.tolist() == other.tolist()
    assert (a.name, a.grades, a.sha256, a.feature_names) == (b.name, b.grades, b.sha256, b.feature_names)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_text_to_cache_to_text_keeps_everything(tmp_path: Path, name: str, jobs: int) -> None:
    file = text_file(tmp_path, name)
    read = load_dataset(file, jobs=jobs)
    opened = open_converted(convert(file, jobs=jobs))
    assert_same(read, opened)
    again = load_dataset(write_svmlight(opened, tmp_path / "again.txt"), name=read.name)
    assert np.array_equal(again.features, read.features)
    assert again.doc_ids is not None and read.doc_ids is not None
    assert again.doc_ids.tolist() == read.doc_ids.tolist()


def test_comments_survive_text_to_cache_to_text(tmp_path: Path) -> None:
    text = "0 qid:1 1:1 #docid = a inc = 1 prob = 0.5\n0 qid:1 1:2\n1 qid:2 1:3 # perché\n"
    (tmp_path / "a.txt").write_text(text)
    opened = open_converted(convert(tmp_path / "a.txt"))
    assert opened.comments is not None
    assert opened.comments.tolist() == ["docid = a inc = 1 prob = 0.5", "", " perché"]
    assert write_svmlight(opened, tmp_path / "b.txt").read_text() == text


def test_features_are_a_column_major_read_only_map(tmp_path: Path) -> None:
    features = open_converted(convert(text_file(tmp_path))).features
    assert features.flags.f_contiguous and not features.flags.writeable
    assert isinstance(features.base, np.memmap)


def test_what_was_converted_is_opened_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = text_file(tmp_path)
    before = load_dataset(file)
    folder = convert(file)
    monkeypatch.setattr(load, "read_files", None)
    assert_same(load_dataset(file), before)
    assert_same(load_dataset(folder), before)
    assert load_dataset(file, name="other", grades=9).grades == 9


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    file = text_file(tmp_path)
    convert(file)
    text_file(tmp_path, seed=1)
    assert np.array_equal(
        load_dataset(file).features, make_corpus(queries=30, documents=20, features=12, seed=1).features
    )


def test_a_change_that_keeps_size_and_time_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("0 qid:1 1:1\n")
    before = file.stat()
    convert(file)
    file.write_text("0 qid:1 1:2\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load_dataset(file).features.tolist() == [[2]]


def test_the_same_content_is_converted_once_and_other_options_are_other_corpora(tmp_path: Path, own_home: Path) -> None:
    first, again = convert(text_file(tmp_path)), convert(text_file(tmp_path))
    wider = convert(tmp_path / "a.txt", ReadOptions(features=20))
    assert first == again != wider
    assert open_converted(wider).n_features == 20
    assert sorted((own_home / "corpora").iterdir()) == sorted([first, wider])


def test_what_was_converted_is_not_read_to_be_converted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = convert(text_file(tmp_path))
    monkeypatch.setattr("ltr_duel.data.text.chunks.read_chunks", None)
    assert convert(tmp_path / "a.txt") == folder


def test_empty_lines_do_not_shift_rows(tmp_path: Path) -> None:
    lines = text_file(tmp_path).read_text().splitlines()
    (tmp_path / "b.txt").write_text("# head\n\n" + "\n \n".join(lines) + "\n\n")
    assert_same(
        open_converted(convert(tmp_path / "b.txt", naming=Naming("x"))), load_dataset(tmp_path / "b.txt", name="x")
    )


def test_columns_that_turn_up_late_are_zero_before(tmp_path: Path) -> None:
    body = "".join(f"0 qid:{q} 1:1\n" for q in range(20_000)) + "1 qid:x 1:1 40:2\n"
    (tmp_path / "a.txt").write_text(body)
    opened = open_converted(convert(tmp_path / "a.txt"))
    assert opened.n_features == 40
    assert opened.features[-1, 39] == 2 and not np.any(opened.features[:-1, 1:])


@pytest.mark.parametrize("bad", ["0 qid:1 1:x\n", "0 qid:z 1:1\n0 qid:1 1:1\n0 qid:z 1:1\n", "0 qid:99 1:1 2:"])
def test_bad_input_leaves_the_cache_untouched(tmp_path: Path, own_home: Path, bad: str) -> None:
    good = convert(text_file(tmp_path))
    before = sorted(own_home.rglob("*"))
    (tmp_path / "bad.txt").write_text("0 qid:0 1:1 2:2 3:3\n" + bad)
    with pytest.raises(InputError, match=r"bad\.txt:"):
        convert(tmp_path / "bad.txt")
    assert sorted(own_home.rglob("*")) == before
    open_converted(good)


def test_a_full_disk_leaves_nothing(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    file = text_file(tmp_path)
    monkeypatch.setattr(FileBuffer, "_write", full)
    with pytest.raises(InputError, match="No space left on device"):
        convert(file)
    assert list((own_home / "corpora").glob("*")) == []


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGINT])
def test_a_kill_in_the_middle_leaves_no_corpus(tmp_path: Path, own_home: Path, kind: int) -> None:
    file = text_file(tmp_path)
    script = (
        "import sys, time\n"
        "from ltr_duel.data.store import convert, converted\n"
        "def wait(*a):\n    print('writing', flush=True); time.sleep(60)\n"
        "convert.write_tables = wait\n"
        "convert.convert(sys.argv[1])\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(file)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},  # interpreted, so that nothing is compiled first
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=hear_interrupts,
    )
    assert child.stdout is not None and child.stdout.readline()
    child.send_signal(kind)
    child.wait(20)
    child.stdout.close()
    visible = [p for p in (own_home / "corpora").glob("*") if not p.name.startswith(".")]
    assert visible == []
    assert open_converted(convert(file)).n_queries == 30
    entries.clear()
    assert not (own_home / "corpora").exists()


def test_a_memory_cap_that_is_too_small_says_the_least(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"memory 1 MB is too small; at least \d+ MB is needed here"):
        convert(text_file(tmp_path), memory=2**20)


def test_a_memory_cap_changes_no_number(tmp_path: Path) -> None:
    file = text_file(tmp_path)
    used = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
    assert_same(open_converted(convert(file, memory=used + 20 * 2**20)), load_dataset(file))


@pytest.mark.parametrize("damage", ["features.npy", "corpus.json", "documents.arrow", "queries.arrow"])
@pytest.mark.parametrize("how", ["cut", "gone", "pickle"])
def test_a_damaged_corpus_is_refused(tmp_path: Path, damage: str, how: str) -> None:
    folder = convert(text_file(tmp_path))
    file = folder / damage
    if how == "cut":
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    elif how == "gone":
        file.unlink()
    else:
        with file.open("wb") as out:
            np.save(out, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="convert the corpus again"):
        open_converted(folder)


def test_a_corpus_of_another_format_is_refused(tmp_path: Path) -> None:
    folder = convert(text_file(tmp_path))
    meta = json.loads((folder / "corpus.json").read_text())
    (folder / "corpus.json").write_text(json.dumps({**meta, "format": 0}))
    with pytest.raises(InputError, match="made by another version"):
        open_converted(folder)


def test_opening_is_quick(tmp_path: Path) -> None:
    folder = convert(text_file(tmp_path, queries=300))
    open_converted(folder)
    start = time.perf_counter()
    open_converted(folder)
    assert time.perf_counter() - start < 0.5  # 3 ms on an idle machine


def test_arrays_are_computed_once_together_and_opened_ever_after(own_home: Path) -> None:
    calls = []

    def compute(made: dict[str, np.ndarray]) -> None:
        calls.append(1)
        made["orders"][:] = np.arange(6).reshape(2, 3)
        made["ties"][:] = 1

    key = {"corpus": "x", "ties": "fixed_random", "seed": 0}
    kinds = {"orders": (np.int16, (2, 3)), "ties": (np.uint8, (2,))}
    for _ in range(2):
        got = cache.cached_arrays(key, kinds, compute)
        assert got["orders"].tolist() == [[0, 1, 2], [3, 4, 5]] and got["ties"].tolist() == [1, 1]
        assert not any(array.flags.writeable for array in got.values())
    assert len(calls) == 1
    cache.cached_arrays({**key, "seed": 1}, kinds, compute)
    assert len(calls) == 2
    assert entries.usage()["arrays"][0] == 2


@pytest.mark.parametrize("left", [0, 10, 130])
def test_arrays_are_computed_again_where_a_file_is_cut_short(own_home: Path, left: int) -> None:
    calls = []
    for _ in range(2):
        cache.cached_arrays({}, dict.fromkeys(("orders", "ranks"), (np.int16, (4,))), lambda made: calls.append(1))
        file = next((own_home / "arrays").rglob("ranks.npy"))
        file.write_bytes(file.read_bytes()[:left])
    assert len(calls) == 2


def test_arrays_whose_computing_fails_are_not_kept(own_home: Path) -> None:
    def fail(_: dict[str, np.ndarray]) -> None:
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError):
        cache.cached_arrays({}, dict.fromkeys(("orders", "ranks"), (np.int16, (2,))), fail)
    assert list((own_home / "arrays").glob("*")) == []


def folds(folder: Path) -> Path:
    for k in range(1, 6):
        (folder / f"Fold{k}").mkdir(parents=True)
        corpus = make_corpus(queries=3, documents=5, features=4, seed=k)
        text = write_svmlight(corpus, folder / f"Fold{k}" / "test.txt").read_text()
        (folder / f"Fold{k}" / "test.txt").write_text(text.replace("qid:", f"qid:{k}"))
    return folder


@pytest.mark.parametrize("split", [None, "train", "vali", "test"])
@pytest.mark.parametrize("fold", [1, 2, 5])
def test_folds_come_out_of_the_converted_corpus(
    tmp_path: Path, fold: int, split: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folds(tmp_path / "five")
    read = load_dataset(folder, fold=fold, split=split)
    convert(folder)
    monkeypatch.setattr(load, "read_files", None)  # no text is read any more
    assert_same(load_dataset(folder, fold=fold, split=split), read)


def test_the_whole_corpus_has_each_query_once(tmp_path: Path) -> None:
    assert load_dataset(folds(tmp_path / "five")).n_queries == 15


def test_folds_that_are_not_complete_are_named(tmp_path: Path) -> None:
    folder = folds(tmp_path / "five")
    (folder / "Fold3" / "test.txt").unlink()
    with pytest.raises(InputError, match="needs five test parts, but there is no test part in Fold3;"):
        load_dataset(folder)


def lines(query: int, features: int, document: str, documents: int = 4) -> str:
    rows = (f"qid:{query} {' '.join(f'{i}:{k + i}' for i in range(1, features + 1))}" for k in range(documents))
    return "".join(f"{k} {row} #docid = {document}{k}\n" for k, row in enumerate(rows))


@pytest.mark.parametrize("change", ["features, grades, names", "declared features", "encoding", "dialect", "NULL"])
@pytest.mark.parametrize("split", ["train", "vali", "test"])
def test_a_part_of_what_was_converted_is_as_its_text_alone(
    tmp_path: Path, split: str, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {"train": lines(1, 2, "GX", 2), "vali": lines(2, 4, "G"), "test": lines(3, 45, "") + lines(4, 25, "GX", 3)}
    how: dict[str, Any] = {}
    match change:
        case "declared features":
            how = {"features": 60}
        case "encoding":
            texts["vali"] = texts["vali"].replace("\n", " perch\xe9\n")
            texts["train"] = texts["train"].replace("\n", " perch\xc3\xa9\n")
        case "dialect":
            texts["train"] = lines(1, 25, "GX").replace(".", "")
        case "NULL":
            how = {"fill": "min"}
            texts["test"] = texts["test"].replace(" 12:13", " 12:NULL")
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_bytes(text.encode("latin-1"))
    read = load_dataset(tmp_path, split=split, cache=False, **how)
    convert(tmp_path, ReadOptions(**how))
    if "features" in change:
        monkeypatch.setattr(load, "read_files", None)  # no text is read any more
    assert_same(load_dataset(tmp_path, split=split, **how), read)
