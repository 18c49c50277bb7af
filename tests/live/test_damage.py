"""A damaged row affects no other page, does not prevent opening the store, and is not shown to clients."""

import sqlite3
from contextlib import closing

import pytest

from ltr_duel.cli.main import main
from ltr_duel.core import InputError
from ltr_duel.live import StoreError, check_store, export_log
from ltr_duel.live.export import LeftOutWarning
from tests.live.shop import RANKINGS, Clock, opened, settings

SECRET = "a private query"


def spoiled(folder, words):
    with closing(sqlite3.connect(folder / "shop.db")) as db, db:
        db.execute(words)


def three_pages(folder, clock):
    """Show three pages, and report the clicks of the second."""
    with opened(folder, clock=clock) as experiment:
        pages = [experiment.decide(SECRET, RANKINGS, user=f"u{k}") for k in range(3)]
        experiment.record(pages[1].token, pages[1].shown[:1])
    return pages


OPEN = [
    "UPDATE pages SET arms = x'ffff0000' WHERE page = 1",
    "UPDATE pages SET arms = 'text' WHERE page = 1",
    "UPDATE pages SET arms = NULL WHERE page = 1",
    "UPDATE pages SET arms = x'00' WHERE page = 1",
    "UPDATE waiting SET expires = 'soon' WHERE page = 1",
    "UPDATE waiting SET expires = NULL WHERE page = 1",
    "UPDATE waiting SET seen = 'text' WHERE page = 1",
    "DELETE FROM pages WHERE page = 1",
]
CLOSED = [
    "UPDATE pages SET arms = 'text' WHERE page = 2",
    "UPDATE events SET kind = 9",
    "UPDATE events SET kind = 'text'",
    "UPDATE events SET credit = x'05'",
    "UPDATE events SET signs = 'text'",
    "UPDATE events SET seen = 'text'",
    "DELETE FROM pages WHERE page = 2",
]


@pytest.mark.parametrize("order", ["arrival", "shown"])
@pytest.mark.parametrize("damage", OPEN)
def test_a_damaged_open_page_is_closed_without_an_outcome(tmp_path, damage, order):
    clock = Clock()
    with opened(tmp_path, settings(order=order), clock=clock) as experiment:
        pages = [experiment.decide(SECRET, RANKINGS, user=f"u{k}") for k in range(3)]
    spoiled(tmp_path, damage)
    for _ in range(2):
        with opened(tmp_path, settings(order=order), clock=clock) as experiment:
            if clock.now == 1_000_000.0:
                assert experiment.record(pages[1].token, pages[1].shown[:1]).page == 2
            clock.now += 61
            experiment.expire()
            counts = experiment.counts
            assert (counts.open, counts.clicked) == (0, 1) and counts.expired + counts.damaged >= 2
            assert counts.steps >= 1


@pytest.mark.parametrize("damage", CLOSED)
def test_a_damaged_event_is_left_out_and_the_store_opens(tmp_path, damage):
    clock = Clock()
    pages = three_pages(tmp_path, clock)
    spoiled(tmp_path, damage)
    with opened(tmp_path, clock=clock) as experiment:
        counts = experiment.counts
        assert (counts.pages, counts.open, counts.clicked, counts.damaged, counts.steps) == (3, 2, 0, 1, 0)
        assert experiment.record(pages[0].token, []).page == 1
        assert experiment.decide("q", RANKINGS).page == 4
    assert check_store(tmp_path / "shop.db")


def test_the_row_of_one_user_harms_no_other(tmp_path):
    with opened(tmp_path) as experiment:
        experiment.decide("q", RANKINGS, user="ann")
    spoiled(tmp_path, "UPDATE users SET seen = 'text'")
    with opened(tmp_path) as experiment:
        with pytest.raises(StoreError, match="row of the user"):
            experiment.decide("q", RANKINGS, user="ann")
        assert experiment.decide("q", RANKINGS, user="bob").page == 2
        assert experiment.pages == 2


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE pages SET sheet = x'00' WHERE page = 2",
        "UPDATE pages SET shown = '[1' WHERE page = 2",
        "UPDATE pages SET arms = 'text' WHERE page = 2",
        "UPDATE pages SET arms = x'ff' WHERE page = 2",
        "UPDATE pages SET query = CAST(x'ff41' AS TEXT) WHERE page = 2",
        "UPDATE pages SET at = 'noon' WHERE page = 2",
        "UPDATE pages SET chance = 'often' WHERE page = 2",
        "UPDATE events SET clicks = 'text'",
        "UPDATE events SET clicks = x'00'",
    ],
)
def test_an_export_of_a_damaged_page_is_one_sentence_and_exit_code_two(tmp_path, capfd, damage):
    three_pages(tmp_path, Clock())
    spoiled(tmp_path, damage)
    with pytest.raises(SystemExit) as ended:
        main("live", "export", str(tmp_path / "shop.db"), "--out", str(tmp_path / "log.csv"))
    said = capfd.readouterr().err
    assert ended.value.code == 2 and said.count("\n") == 1 and "page 2 is damaged" in said and SECRET not in said
    assert not (tmp_path / "log.csv").exists()


def test_a_store_of_a_version_that_was_never_released_is_refused_in_a_sentence(tmp_path):
    three_pages(tmp_path, Clock())
    spoiled(tmp_path, "PRAGMA user_version = 1")
    before = (tmp_path / "shop.db").read_bytes()
    with pytest.raises(InputError, match="by a development version"):
        opened(tmp_path)
    assert (tmp_path / "shop.db").read_bytes() == before


def test_an_export_names_pages_that_were_damaged_before_they_were_closed(tmp_path):
    clock = Clock()
    three_pages(tmp_path, clock)
    spoiled(tmp_path, "UPDATE pages SET sheet = x'00' WHERE page = 1")
    clock.now += 61
    with opened(tmp_path, clock=clock) as experiment:
        experiment.expire()
        state = experiment.state()
    with pytest.warns(LeftOutWarning, match=r"pages left out because they were damaged .* \(1\): 1$"):
        assert export_log(tmp_path / "shop.db", tmp_path / "log.csv") == state.compared == 2


@pytest.mark.parametrize("depth", ["NULL", "'deep'"])
def test_a_page_of_a_damaged_depth_is_not_shown_again(tmp_path, depth):
    clock = Clock()
    pages = three_pages(tmp_path, clock)
    spoiled(tmp_path, f"UPDATE pages SET depth = {depth} WHERE page = 1")
    with opened(tmp_path, clock=clock) as experiment:
        assert experiment.decide(SECRET, RANKINGS, token=pages[0].token).page == 4
        assert experiment.decide(SECRET, RANKINGS, token=pages[2].token).page == 3
    assert "1 pages have a damaged depth" in check_store(tmp_path / "shop.db")
