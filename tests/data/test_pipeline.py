"""Chunks are added in order, one at a time, with any timing of threads; the first error ends the reading."""

import threading
import time

import numpy as np
import pytest

from ltr_duel.data.text import pipeline
from ltr_duel.data.text.parse import Rules
from ltr_duel.data.text.pipeline import parse_file

LINES = 3000


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("".join(f"0 qid:{k // 10} 1:{k} 2:0.5\n" for k in range(LINES)))
    return path


@pytest.fixture(autouse=True)
def uneven(monkeypatch):
    """Delay some chunks, so that later chunks are parsed earlier."""
    parse, seen = pipeline.parse_chunk, iter(range(10**6))

    def slow(*args):
        if next(seen) % 3 == 1:
            time.sleep(0.01)
        return parse(*args)

    monkeypatch.setattr(pipeline, "parse_chunk", slow)


class Recorder:
    """Records the first column, and checks that no other thread adds at the same time; occasionally slow."""

    def __init__(self, fail_at=None, fail_copy=None):
        self.values, self.chunks, self.fail_at, self.inside = [], 0, fail_at, threading.Lock()
        self.copied, self.fail_copy = [], fail_copy

    def __call__(self, parsed):
        assert self.inside.acquire(blocking=False), "two at once"
        self.chunks += 1
        if self.chunks == self.fail_at:
            self.inside.release()
            raise ValueError("enough")
        if self.chunks % 3 == 0:
            time.sleep(0.005)
        self.values.extend(parsed.features[:, 0].tolist())
        number = self.chunks
        self.inside.release()

        def copy():
            if number == self.fail_copy:
                raise ValueError("enough")
            self.copied.append(number)

        return copy


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_chunks_come_in_order(text, jobs):
    add = Recorder()
    parse_file(text, Rules(), add, jobs=jobs, chunk_bytes=4096)
    assert add.chunks > 5 and np.array_equal(add.values, np.arange(LINES))
    assert sorted(add.copied) == list(range(1, add.chunks + 1)), "each chunk is copied, once"


@pytest.mark.parametrize("jobs", [1, 2, 4])
@pytest.mark.parametrize("fail_at", [1, 2, 6])
def test_an_error_ends_the_reading(text, jobs, fail_at):
    add, before = Recorder(fail_at), threading.active_count()
    with pytest.raises(ValueError, match="enough"):
        parse_file(text, Rules(), add, jobs=jobs, chunk_bytes=4096)
    assert add.chunks == fail_at and threading.active_count() == before


@pytest.mark.parametrize("jobs", [1, 2, 4])
@pytest.mark.parametrize("fail_copy", [1, 2, 6])
def test_an_error_while_copying_ends_the_reading(text, jobs, fail_copy):
    add, before = Recorder(fail_copy=fail_copy), threading.active_count()
    with pytest.raises(ValueError, match="enough"):
        parse_file(text, Rules(), add, jobs=jobs, chunk_bytes=4096)
    assert threading.active_count() == before


def test_copies_are_made_side_by_side(text):
    inside, most = [], []

    def copy():
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.01)
        inside.pop()

    parse_file(text, Rules(), lambda parsed: copy, jobs=4, chunk_bytes=4096)
    assert len(most) > 8 and max(most) > 1
