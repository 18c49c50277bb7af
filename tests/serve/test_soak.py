"""The soak test recounts all acknowledged calls, and reports missing, doubled and invented ones."""

import sqlite3
from contextlib import closing

import pytest

from benchmarks.soak import miscounted, soak
from benchmarks.visitors import number_of
from tests.live.shop import opened, settings

RIGHT = {1: 0b101, 2: 0, 3: 0b10, 4: -1}


@pytest.fixture
def store(tmp_path):
    """Return a closed store with two final reports, one report that is not final, and one page without a report."""
    with opened(tmp_path, settings(policy="random")) as experiment:
        pages = [experiment.decide("q", {name: ["a", "b", "c"] for name in "abcde"}) for _ in range(4)]
        assert [number_of(page.token) for page in pages] == [1, 2, 3, 4]
        experiment.record(pages[0].token, [pages[0].shown[0], pages[0].shown[2]])
        experiment.record(pages[1].token, [])
        experiment.record(pages[2].token, [pages[2].shown[1]], final=False)
    return tmp_path / "shop.db"


def test_a_store_that_has_what_was_acknowledged_is_right(store):
    assert miscounted(store, RIGHT, 0) == []
    assert miscounted(store, {page: RIGHT[page] for page in (1, 2, 3)}, 1) == []  # an answer was lost


@pytest.mark.parametrize(
    "acknowledged, sentence",
    [
        ({5: -1}, "1 acknowledged pages are missing, for example 5"),
        ({1: 0b100}, "1 pages differ from their acknowledged clicks, for example 1"),
        ({4: 0b1}, "1 pages differ from their acknowledged clicks, for example 4"),
        ({3: -1}, "1 pages have unacknowledged clicks, for example 3"),
    ],
)
def test_what_is_not_as_it_was_acknowledged_is_named(store, acknowledged, sentence):
    assert miscounted(store, RIGHT | acknowledged, 0) == [sentence]


def test_a_page_that_no_user_got_and_one_that_counts_twice_are_named(store):
    assert miscounted(store, {page: RIGHT[page] for page in (1, 2, 3)}, 0) == [
        "1 pages have no acknowledged user, and 0 answers were lost"
    ]
    with closing(sqlite3.connect(store)) as db, db:
        db.execute(
            "INSERT INTO events SELECT event + 100, page, at, kind, clicks, credit, signs, seen FROM events"
            " WHERE page = 1 AND kind > 0"
        )
    assert "1 pages are counted twice, for example 1" in miscounted(store, RIGHT, 0)


@pytest.mark.long
def test_a_short_soak_finds_nothing_wrong(tmp_path, capsys):
    assert soak(tmp_path, 0.1, 20, 5) == []
    assert "a wrong key: 401" in capsys.readouterr().out
