"""Reading options, and the dialects that need them."""

from __future__ import annotations

import gzip
import os
import random
import threading
from pathlib import Path

import numpy as np
import pytest

from ltr_duel.core.errors import InputError
from ltr_duel.data.load import load_dataset
from ltr_duel.data.store.convert import convert
from ltr_duel.data.store.converted import open_converted
from ltr_duel.data.text import chunks
from ltr_duel.data.text.options import ReadOptions
from ltr_duel.rankers import feature_rankers

MARK = b"\xef\xbb\xbf"
GOOD = "1 qid:1 1:0.5 2:3\n0 qid:1 2:1\n2 qid:2 1:4 2:2\n"


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LTR_DUEL_HOME", str(tmp_path / "home"))


def written(folder: Path, content: str | bytes, name: str = "a.txt") -> Path:
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder / name


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path, pack) -> None:
    plain = load_dataset(written(tmp_path, GOOD, "plain"))
    marked = load_dataset(written(tmp_path, pack(MARK + GOOD.encode()), "marked"))
    assert np.array_equal(marked.features, plain.features) and np.array_equal(marked.relevance, plain.relevance)
    assert np.array_equal(open_converted(convert(tmp_path / "marked")).features, plain.features)


def test_a_byte_order_mark_in_the_sizes_of_queries(tmp_path: Path) -> None:
    written(tmp_path, MARK + b"1\n2\n", "a.txt.query")
    assert load_dataset(written(tmp_path, "0 1:1\n1 1:2\n2 1:3\n")).query_ptr.tolist() == [0, 1, 3]


def test_ids_that_start_at_zero(tmp_path: Path) -> None:
    file = written(tmp_path, "0 qid:1 0:7 2:5\n1 qid:1 1:3 2:4\n")
    dataset = load_dataset(file, first_id=0)
    assert dataset.features.tolist() == [[7, 0, 5], [0, 3, 4]]
    assert dataset.feature_names == ("0", "1", "2")
    with pytest.raises(InputError, match=r"a\.txt:1:9: feature id 0 in '0:7'.*--first-id 0"):
        load_dataset(file)


def test_with_a_declared_number_ids_from_zero_end_one_lower(tmp_path: Path) -> None:
    file = written(tmp_path, "0 qid:1 0:7 2:5\n1 qid:1 1:3 3:4\n")
    assert load_dataset(file, first_id=0, features=4).n_features == 4
    with pytest.raises(InputError, match=r"a\.txt:2:13: feature id in '3:4' is too large; valid ids are 0\.\.2"):
        load_dataset(file, first_id=0, features=3)


def test_wide_lines_whose_ids_start_at_zero(tmp_path: Path) -> None:
    """The space for columns grows while a chunk is read, up to the last valid id."""
    text = "0 qid:1 0:1 9999:2\n" + "1 qid:1 500:3 8000:4\n" * 3
    dataset = load_dataset(written(tmp_path, text), first_id=0)
    assert dataset.n_features == 10_000 and dataset.features[0, [0, 9999]].tolist() == [1, 2]
    assert dataset.features[3, [500, 8000]].tolist() == [3, 4] and np.count_nonzero(dataset.features) == 8
    with pytest.raises(InputError, match=r"'10000:1' is too large; valid ids are 0\.\.9999"):
        load_dataset(written(tmp_path, "0 qid:1 10000:1\n"), first_id=0)


def test_ids_above_ten_thousand_need_a_declared_number(tmp_path: Path) -> None:
    file = written(tmp_path, "0 qid:1 1:1 20000:5\n1 qid:1 1:3 19000:4\n")
    with pytest.raises(InputError, match=r"'20000:5' is too large; valid ids are 1\.\.10000; --features N"):
        load_dataset(file)
    dataset = load_dataset(file, features=20_000)
    assert dataset.n_features == 20_000 and dataset.features[:, [0, 18_999, 19_999]].tolist() == [[1, 0, 5], [3, 4, 0]]


def test_the_last_value_of_a_repeated_feature_counts(tmp_path: Path) -> None:
    """This also holds for numbers that Python rounds: the replaced number must not return."""
    unsure = "1.00000017881393432617187500"  # halfway between two float32
    for text, expected in (
        (f"0 qid:1 1:{unsure} 1:2\n", 2.0),
        (f"0 qid:1 1:2 1:{unsure}\n", float(np.float32(float(unsure)))),
        (f"0 qid:1 1:{unsure} 1:{unsure} 1:5\n", 5.0),
        ("0 qid:1 1:NULL 1:4\n", 4.0),
    ):
        file = written(tmp_path, text)
        assert load_dataset(file, repeated="last", fill="nan").features[0, 0] == expected
        with pytest.raises(InputError, match=r"feature 1 occurs twice on this line.*--repeated last"):
            load_dataset(file, fill="nan")


@pytest.mark.parametrize("first_id", [0, 1])
def test_repeated_features_agree_with_a_plain_reader(tmp_path: Path, first_id: int) -> None:
    rng = random.Random(first_id)
    numbers = ["1", "-2.5", "1.00000017881393432617187500", "123456789.123456789", "0.1e-3", "7.00000000"]
    lines, expected = [], np.zeros((300, 12), np.float32)
    for row in expected:
        pairs = [(rng.randrange(12), rng.choice(numbers)) for _ in range(rng.randrange(1, 20))]
        lines.append(f"0 qid:1 {' '.join(f'{column + first_id}:{value}' for column, value in pairs)}\n")
        for column, value in pairs:
            row[column] = np.float32(float(value))
    file = written(tmp_path, "".join(lines))
    assert np.array_equal(load_dataset(file, repeated="last", first_id=first_id, features=12).features, expected)


@pytest.mark.parametrize(
    "blank, name",
    [
        ("\u00a0", r"no-break space \(U\+00A0\)"),
        ("\u2009", r"thin space \(U\+2009\)"),
        ("\u3000", r"ideographic space \(U\+3000\)"),
        ("\ufeff", r"zero width no-break space \(U\+FEFF\)"),
    ],
)
@pytest.mark.parametrize("line", ["0 qid:1{}1:1 2:5\n", "0 qid:1 1:1{}2:5\n", "0{}qid:1 1:1\n", "0 qid:1 1:1 {}2:5\n"])
def test_a_strange_blank_is_no_separator_and_is_named(tmp_path: Path, line: str, blank: str, name: str) -> None:
    with pytest.raises(InputError, match=rf"a\.txt:1:?\d*: an? {name} in '.*' is not a separator"):
        load_dataset(written(tmp_path, line.format(blank)))


def test_letters_whose_bytes_look_like_blanks_are_letters(tmp_path: Path) -> None:
    """The second byte of "à" equals a no-break space in Latin-1."""
    file = written(tmp_path, "0 qid:voilà 1:1\n")
    assert load_dataset(file).query_ids.tolist() == ["voilà"]


def test_queries_that_start_anew_in_each_part_are_told_apart_by_split(tmp_path: Path) -> None:
    for part in ("train", "test"):
        written(tmp_path, GOOD, f"{part}.txt")
    with pytest.raises(InputError, match=r"test\.txt:1: query '1' appears again, .*train\.txt:1; .*--split train"):
        load_dataset(tmp_path)
    assert load_dataset(tmp_path, split="test").n_queries == 2
    with pytest.raises(InputError, match=r"a\.txt:4: query '1' appears.*the lines of a query must be adjacent$"):
        load_dataset(written(tmp_path, GOOD + "1 qid:1 1:1\n"))


def test_what_is_read_in_another_way_is_another_corpus(tmp_path: Path) -> None:
    """This digest is the key of orders, matrices and runs, so it must include the value for `NULL`."""
    file = written(tmp_path, "1 qid:1 1:NULL 2:3\n0 qid:1 1:0 2:1\n2 qid:1 1:4 2:2\n")
    low, high = (open_converted(convert(file, ReadOptions(fill=fill))) for fill in (-1, 9))
    assert low.sha256 != high.sha256
    assert low.sha256 == load_dataset(file, fill=-1).sha256
    orders = [feature_rankers(corpus).order[0].tolist() for corpus in (low, high)]
    assert orders == [[2, 1, 0], [0, 2, 1]]
    assert load_dataset(file, fill=9, features=2, limit=3).sha256 == high.sha256


def test_parts_of_a_converted_corpus_are_the_same_corpus_as_their_text(tmp_path: Path) -> None:
    for part, query in (("train", 1), ("test", 2)):
        written(tmp_path, f"1 qid:{query} 1:NULL 2:3\n0 qid:{query} 1:1 2:3\n", f"{part}.txt")
    before = load_dataset(tmp_path, split="test", fill=0)
    convert(tmp_path, ReadOptions(fill=0))
    assert load_dataset(tmp_path, split="test", fill=0).sha256 == before.sha256


def test_a_converted_corpus_is_not_read_in_another_way(tmp_path: Path) -> None:
    file = written(tmp_path, "1 qid:1 1:NULL 2:3\n0 qid:1 1:0 2:1\n")
    folder = convert(file, ReadOptions(fill="min"))
    assert load_dataset(folder, fill="min", limit=1).features[0, 0] == 0
    with pytest.raises(InputError, match=r"this corpus was converted with fill min, but 7 is asked for; .* its text"):
        load_dataset(folder, fill=7)
    with pytest.raises(InputError, match="this corpus was converted with labels grades, but round is asked for"):
        load_dataset(folder, labels="round")


def test_a_gzip_bomb_is_refused_and_the_limit_can_be_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"0 qid:1 1:1\n" + b"\n" * 3_000_000
    file = written(tmp_path, gzip.compress(text), "bomb.gz")
    assert load_dataset(file).n_docs == 1
    monkeypatch.setattr(chunks, "MOST_UNPACKED", 2_000_000)
    for read in (load_dataset, convert):
        with pytest.raises(InputError, match=r"bomb\.gz: unpacks to more than 0\.002 GB; --limit GB allows more"):
            read(file)
    assert load_dataset(file, limit=0.0031).n_docs == 1
    with pytest.raises(InputError, match=r"unpacks to more than 0\.001 GB"):
        load_dataset(file, limit=0.001)
    assert not list((tmp_path / "home" / "corpora").glob("*"))
    monkeypatch.setattr(chunks, "MOST_TIMES", 3_000_100 // file.stat().st_size + 1)
    assert load_dataset(file).n_docs == 1


def test_numbers_that_no_memory_holds_are_refused_before_there_are_any(tmp_path: Path) -> None:
    """Twelve bytes of text make 40 kB of numbers."""
    file = written(tmp_path, "0 qid:1 10000:1\n" * 2_000)
    about = r"documents or more with 10,000 features need 0\.0\d+ GB, but at most 0\.05 GB may be used; --limit GB"
    for read in (load_dataset, lambda path, limit: convert(path, ReadOptions(limit=limit))):
        with pytest.raises(InputError, match=about):
            read(file, limit=0.05)
    assert load_dataset(file, limit=0.1).n_docs == 2_000
    assert not list((tmp_path / "home" / "corpora").glob("*"))


@pytest.mark.parametrize(
    "options, what",
    [
        ({"repeated": "first"}, "no way to read repeated features 'first'"),
        ({"first_id": 2}, "the id of the first feature must be 0 or 1, not 2"),
        ({"limit": 0}, "the limit must be a number of gigabytes above 0, not 0"),
        ({"limit": float("nan")}, "the limit must be a number of gigabytes above 0"),
    ],
)
def test_options_that_are_not_legal_are_refused(options, what) -> None:
    with pytest.raises(InputError, match=what):
        ReadOptions(**options)


def test_a_pipe_is_simply_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for content, fill in ((GOOD, None), (GOOD.replace("0.5", "NULL"), 0.5)):
        writer = threading.Thread(target=pipe.write_text, args=(content,))
        writer.start()
        dataset = load_dataset(pipe, fill=fill)
        writer.join()
        assert dataset.features.tolist() == [[0.5, 3], [0, 1], [4, 2]] and dataset.name == "pipe"
    writer = threading.Thread(target=pipe.write_text, args=("0 qid:1 1:x\n",))
    writer.start()
    with pytest.raises(InputError, match=rf"^{pipe}:1:11: feature value 'x'"):
        load_dataset(pipe)
    writer.join()
