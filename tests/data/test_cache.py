"""The cache: text is parsed once, the least recently used entries are evicted, and damaged entries are never used."""

from __future__ import annotations

import gzip
import os
import shutil
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.data import load
from ltr_duel.data.load import load_dataset
from ltr_duel.data.store import cache, entries, known_files
from ltr_duel.data.store.cache import cached_arrays
from ltr_duel.data.store.convert import convert
from ltr_duel.data.store.converted import open_converted
from tests.data.test_convert import assert_same, folds, text_file

FILES = ("features.npy", "documents.arrow", "queries.arrow", "corpus.json")


@pytest.fixture(autouse=True)
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cache all text, however quickly it was read, and return the folder."""
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("LTR_DUEL_CACHE_GB", raising=False)
    monkeypatch.setattr(load, "KEPT_AFTER", 0.0)
    return tmp_path / "home" / "corpora"


def kept(corpora: Path) -> list[Path]:
    return sorted(corpora.glob("[!.]*")) if corpora.is_dir() else []


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_text_that_took_long_is_parsed_once(
    tmp_path: Path, corpora: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = text_file(tmp_path, name)
    plain, first = load_dataset(file, cache=False), load_dataset(file)
    monkeypatch.setattr(load, "read_files", None)
    again = load_dataset(file)
    assert_same(first, plain)
    assert_same(again, plain)
    assert isinstance(first.features.base, np.memmap) and first.features.flags.f_contiguous
    assert load_dataset(file, name="other", grades=9).grades == 9
    assert open_converted(kept(corpora)[0]).sha256 == plain.sha256


def test_text_that_was_read_quickly_is_not_kept(tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "KEPT_AFTER", 600.0)
    load_dataset(text_file(tmp_path))
    assert kept(corpora) == []


def test_without_the_cache_text_is_read_again_and_nothing_is_kept(
    tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = text_file(tmp_path)
    load_dataset(file, cache=False)
    assert kept(corpora) == []
    convert(file)
    monkeypatch.setattr(load, "read_files", None)
    with pytest.raises(TypeError):
        load_dataset(file, cache=False)


def test_a_name_and_grades_of_one_call_are_not_kept(tmp_path: Path) -> None:
    file = text_file(tmp_path)
    load_dataset(file, name="mine", grades=9, feature_names=[f"f{k}" for k in range(12)])
    again = load_dataset(file)
    assert (again.name, again.grades, again.feature_names[0]) == ("a", 5, "1")


def test_moved_and_copied_files_are_recognised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old").mkdir()
    before = load_dataset(text_file(tmp_path / "old"))
    (tmp_path / "old").rename(tmp_path / "new")
    shutil.copy(tmp_path / "new" / "a.txt", tmp_path / "copy.txt")
    monkeypatch.setattr(load, "read_files", None)
    assert_same(load_dataset(tmp_path / "new" / "a.txt"), before)
    assert load_dataset(tmp_path / "copy.txt").sha256 == before.sha256


def test_a_copy_that_differs_where_no_sample_lies_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_files, "_SAMPLE_BYTES", 2)
    text = bytearray(b"".join(b"0 qid:%d 1:%d\n" % (q, q % 7) for q in range(1000)))
    (tmp_path / "a.txt").write_bytes(text)
    first = load_dataset(tmp_path / "a.txt")
    place = text.index(b"qid:503 1:") + len(b"qid:503 1:")
    text[place] = ord("9")
    (tmp_path / "b.txt").write_bytes(text)
    looks = [known_files.identity_of([tmp_path / name]).content for name in ("a.txt", "b.txt")]
    assert looks[0] == looks[1]
    assert first.features[503, 0] == 503 % 7 and load_dataset(tmp_path / "b.txt").features[503, 0] == 9


def test_a_split_is_taken_from_the_kept_corpus_after_a_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = folds(tmp_path / "five")
    read = load_dataset(folder, fold=2, split="train", cache=False)
    load_dataset(folder)
    folder.rename(tmp_path / "moved")
    monkeypatch.setattr(load, "read_files", None)
    assert_same(load_dataset(tmp_path / "moved", fold=2, split="train", name=read.name), read)


def zeroed(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def one_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def without_checksums(file: Path) -> None:
    (file.parent / "checksums.json").write_text("{}")
    one_bit(file)


@pytest.mark.parametrize("file", [*FILES, "checksums.json"])
@pytest.mark.parametrize("damage", [zeroed, cut, one_bit, Path.unlink, without_checksums])
def test_a_damaged_entry_is_removed_and_its_text_parsed_again(tmp_path: Path, corpora: Path, file: str, damage) -> None:
    text = text_file(tmp_path)
    before = load_dataset(text, cache=False)
    load_dataset(text)
    (entry,) = kept(corpora)
    damage(entry / file)
    assert_same(load_dataset(text), before)
    assert kept(corpora) == [entry]
    assert_same(open_converted(entry), before)


def test_a_damaged_entry_does_not_stay_where_its_text_is_read_quickly(
    tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = text_file(tmp_path)
    load_dataset(text)
    zeroed(kept(corpora)[0] / "features.npy")
    monkeypatch.setattr(load, "KEPT_AFTER", 600.0)
    load_dataset(text)
    assert kept(corpora) == []


def test_a_restart_of_the_machine_makes_damage_show_that_left_the_times_alone(
    tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut can leave a file with its size and times, and zeros for its last blocks."""
    text = text_file(tmp_path)
    before = load_dataset(text)
    wanted = before.features.copy()
    (entry,) = kept(corpora)
    file = entry / "features.npy"
    times = file.stat()
    zeroed(file)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    monkeypatch.setattr(psutil, "boot_time", lambda: time.time() + 1)
    assert np.array_equal(load_dataset(text).features, wanted)
    with pytest.raises(InputError, match="convert the corpus again"):
        zeroed(entry / "features.npy")
        open_converted(entry)


def test_checksums_are_compared_once_after_a_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, compared = convert(text_file(tmp_path)), []
    past = time.time() - 3600
    for file in folder.iterdir():
        os.utime(file, (past, past))
    checksums = entries._checksums
    monkeypatch.setattr(entries, "_checksums", lambda file: compared.append(file.name) or checksums(file))
    monkeypatch.setattr(psutil, "boot_time", lambda: past + 60)
    for _ in range(2):
        open_converted(folder)
    assert sorted(compared) == sorted(FILES)


def use(path: Path, seconds_ago: float) -> None:
    used = time.time() - seconds_ago
    os.utime(path / "checksums.json", (used, used))


def test_what_was_used_least_recently_is_evicted_and_what_was_converted_is_not(
    tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    converted = convert(text_file(tmp_path, "z.txt", seed=9))
    for seed, name in enumerate("abc"):
        load_dataset(text_file(tmp_path, f"{name}.txt", seed=seed))
    a, b, c = (next(corpora.glob(f"{name}-*")) for name in "abc")
    for path, age in ((converted, 5000), (a, 4000), (b, 3000), (c, 2000)):
        use(path, age)
    load_dataset(tmp_path / "a.txt")  # now b was used least recently
    sizes = {entry.path: entry.size for entry in entries.entries()}
    monkeypatch.setenv("LTR_DUEL_CACHE_GB", str((sizes[a] + sizes[c] + sizes[b] / 2) / 1e9))
    load_dataset(text_file(tmp_path, "d.txt", seed=3, queries=3))
    assert not b.exists() and all(path.exists() for path in (converted, a, c))
    assert len(kept(corpora)) == 4


@pytest.mark.parametrize("limit", ["0", "1e-9"])
def test_what_exceeds_the_limit_is_not_kept(
    tmp_path: Path, corpora: Path, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LTR_DUEL_CACHE_GB", limit)
    load_dataset(text_file(tmp_path))
    assert kept(corpora) == []


@pytest.mark.parametrize("limit", ["many", "-1", "inf", "nan"])
def test_a_limit_that_is_no_number_of_gigabytes_is_refused(
    tmp_path: Path, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LTR_DUEL_CACHE_GB", limit)
    with pytest.raises(InputError, match=f"LTR_DUEL_CACHE_GB must be a number of gigabytes, 0 or more, not '{limit}'"):
        load_dataset(text_file(tmp_path))


def test_converting_what_is_kept_protects_it(tmp_path: Path, corpora: Path) -> None:
    file = text_file(tmp_path)
    load_dataset(file)
    assert [entry.kept for entry in entries.entries()] == [False]
    assert convert(file) == kept(corpora)[0]
    assert [entry.kept for entry in entries.entries()] == [True]


def test_a_full_disk_loses_the_entry_and_not_the_corpus(
    tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    file = text_file(tmp_path)
    plain = load_dataset(file, cache=False)
    monkeypatch.setattr("ltr_duel.data.store.convert.write_tables", full)
    assert_same(load_dataset(file), plain)
    assert list(corpora.glob("*")) == []
    monkeypatch.undo()
    monkeypatch.setenv("LTR_DUEL_HOME", str(corpora.parent))
    monkeypatch.setattr(load, "KEPT_AFTER", 0.0)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=0))
    assert_same(load_dataset(file), plain)
    assert not list(corpora.glob("*"))


def test_files_that_change_while_they_are_read_are_not_kept(
    tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, reader = text_file(tmp_path), load.read_files

    def read(*args):
        answer = reader(*args)
        os.utime(file, (0, 0))
        return answer

    monkeypatch.setattr(load, "read_files", read)
    load_dataset(file)
    assert kept(corpora) == []


def test_what_a_killed_process_left_is_removed_after_a_day(tmp_path: Path, corpora: Path) -> None:
    for name, age in ((".old.tmp", 90_000), (".new.tmp", 3600)):
        (corpora / name).mkdir(parents=True)
        os.utime(corpora / name, (time.time() - age,) * 2)
    load_dataset(text_file(tmp_path))
    assert [path.name for path in corpora.glob(".*")] == [".new.tmp"]


def numbers(calls: list[int]) -> np.ndarray:
    def compute(made: dict[str, np.ndarray]) -> None:
        calls.append(1)
        made["orders"][:] = np.arange(6).reshape(2, 3)

    return cached_arrays({"corpus": "x"}, {"orders": (np.int16, (2, 3))}, compute)["orders"]


@pytest.mark.parametrize("damage", [zeroed, cut, one_bit, Path.unlink])
def test_a_damaged_array_is_computed_again(corpora: Path, damage) -> None:
    calls: list[int] = []
    numbers(calls)
    (file,) = (corpora.parent / "arrays").glob("*/orders.npy")
    damage(file)
    for _ in range(2):
        assert numbers(calls).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert len(calls) == 2


def test_an_array_without_room_in_the_cache_lies_in_memory(corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LTR_DUEL_CACHE_GB", "0")
    calls: list[int] = []
    for _ in range(2):
        array = numbers(calls)
        assert array.tolist() == [[0, 1, 2], [3, 4, 5]] and not array.flags.writeable
    assert len(calls) == 2 and not (corpora.parent / "arrays").exists()


def test_what_the_user_keeps_in_the_same_folder_stays(corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = corpora / "MSLR-original" / "train.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("1 qid:1 1:1\n")
    (corpora / ".git").mkdir()
    for path in (mine, mine.parent, corpora / ".git"):
        os.utime(path, (0, 0))
    monkeypatch.setenv("LTR_DUEL_CACHE_GB", "0.000001")
    entries.make_room(900)
    assert entries.clear() == 0 and mine.is_file() and (corpora / ".git").is_dir()


def test_an_array_that_is_evicted_before_it_is_opened_is_computed_again(
    corpora: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    numbers(calls)
    monkeypatch.setattr(cache, "is_sound", lambda folder: entries.clear() > 0)
    assert numbers(calls).tolist() == [[0, 1, 2], [3, 4, 5]] and len(calls) == 2


def test_clearing_the_cache_while_arrays_are_written_loses_none(corpora: Path) -> None:
    def compute(made: dict[str, np.ndarray]) -> None:
        entries.clear()
        made["orders"][:] = 7

    assert cached_arrays({}, {"orders": (np.int16, (2,))}, compute)["orders"].tolist() == [7, 7]
    assert not kept(corpora.parent / "arrays")


def test_arrays_that_the_disk_has_no_space_for_are_not_kept(corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without reserved space, a write to the mapped file would kill the process."""

    def full(file: int, size: int) -> None:
        assert size == os.fstat(file).st_size > 12
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ltr_duel.core.host.reserve", full)
    assert numbers([]).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not kept(corpora.parent / "arrays")


def test_what_vanishes_while_the_cache_is_looked_through_is_passed_over(
    corpora: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "_own", lambda folder, **_: [folder / "gone-00000000000000000000"])
    assert entries.make_room(1) and entries.entries() == [] and entries.unfinished() == (2, 0)


@pytest.mark.parametrize("name", ["..txt", "x" * 250 + ".txt", "x" * 251 + ".gz"])
def test_strange_names_of_files_are_names(tmp_path: Path, name: str) -> None:
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress(b"0 qid:1 1:1\n"))
    else:
        (tmp_path / name).write_text("0 qid:1 1:1\n")
    assert load_dataset(tmp_path / name).n_docs == load_dataset(tmp_path / name).n_docs == 1


def test_converting_goes_on_where_no_note_of_it_can_be_kept(tmp_path: Path, corpora: Path) -> None:
    (corpora.parent / "known_files.json").mkdir(parents=True)
    assert open_converted(convert(text_file(tmp_path))).n_queries == 30
    with pytest.raises(InputError, match=r"known_files.json: cannot be written: Is a directory"):
        entries.clear()


def test_what_cannot_be_deleted_is_said(tmp_path: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_dataset(text_file(tmp_path))
    monkeypatch.setattr(Path, "rename", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    with pytest.raises(InputError, match=r"a-[0-9a-f]{20} cannot be deleted, because a file is in use"):
        entries.clear()
    assert len(kept(corpora)) == 1
