"""Pages end in the order of their deadlines, with any clock and any damaged rows."""

import io
import sqlite3
from array import array
from contextlib import closing

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.interleaving import interleave
from ltr_duel.live import Drop, Experiment, ExpiredError, StoreError, UsedError, check_store, export_log
from ltr_duel.live.rows import pack_page, unpack_page
from ltr_duel.logs import ClickLog, compare_log
from tests.live.shop import DOCUMENTS, KEYS, RANKINGS, Clock, opened, settings


def open_with(folder, clock, **other):
    return opened(folder, settings(**other), clock=clock)


def test_a_shorter_deadline_helps_at_once(tmp_path):
    """A page with the long deadline does not keep pages with the short deadline open."""
    clock = Clock()
    with open_with(tmp_path, clock, deadline=86400.0) as experiment:
        experiment.decide("q", RANKINGS)
    with open_with(tmp_path, clock, deadline=5.0) as experiment:
        for _ in range(49):
            experiment.decide("q", RANKINGS)
        clock.now += 3600
        assert experiment.expire() == 49 and experiment.open_pages == 1


def test_a_clock_that_is_set_back_keeps_no_page_open(tmp_path):
    clock = Clock()
    with open_with(tmp_path, clock) as experiment:
        experiment.decide("q", RANKINGS)
        clock.now -= 3600
        for _ in range(9):
            experiment.decide("q", RANKINGS)
        clock.now += 1800
        assert experiment.expire() == 9


def test_deadlines_of_closed_pages_take_no_memory(tmp_path):
    with opened(tmp_path) as experiment:
        for _ in range(3000):
            experiment.record(experiment.decide("q", RANKINGS).token, [])
        assert len(experiment._actions.memory._due) <= 1002


class TwoClocks:
    """The time, and a clock that never jumps."""

    def __init__(self):
        self.now, self.steady = 1e6, 50.0

    def passes(self, seconds):
        self.now += seconds
        self.steady += seconds


def stepping(folder, clocks):
    return Experiment.open(
        folder / "shop.db", settings(), keys=KEYS, clock=lambda: clocks.now, monotonic=lambda: clocks.steady
    )


def test_a_clock_that_jumps_closes_no_open_page(tmp_path):
    clocks = TwoClocks()
    with stepping(tmp_path, clocks) as experiment:
        pages = [experiment.decide("q", RANKINGS) for _ in range(5)]
        clocks.passes(1)
        clocks.now += 7200
        assert experiment.expire() == 0 and experiment.delay == 7200
        assert experiment.record(pages[0].token, []).page == 1
        clocks.passes(1)
        clocks.now -= 7200
        assert experiment.expire() == 0 and experiment.delay == 0
        assert [experiment.record(page.token, []).page for page in pages[1:]] == [2, 3, 4, 5]


@pytest.mark.parametrize("step", [4.9, -4.9, 0.3])
def test_small_steps_of_the_clock_add_up_to_one(tmp_path, step):
    clocks = TwoClocks()
    with stepping(tmp_path, clocks) as experiment:
        page = experiment.decide("q", RANKINGS)
        for _ in range(round(120 / abs(step))):
            clocks.now += step
            clocks.passes(0.01)
            assert experiment.expire() == 0
        assert abs(abs(experiment.delay) - 120) < 10
        clocks.passes(50)
        assert experiment.expire() == 0
        clocks.passes(15)  # the deadline is a minute
        assert experiment.expire() == 1
        assert page.page == 1


def test_after_a_jump_pages_end_a_deadline_later_and_then_as_always(tmp_path):
    clocks = TwoClocks()
    with stepping(tmp_path, clocks) as experiment:
        experiment.decide("q", RANKINGS)
        clocks.passes(30)
        clocks.now += 7200
        experiment.expire()
        later = experiment.decide("q", RANKINGS)
        clocks.passes(29)
        assert experiment.expire() == 0
        clocks.passes(1)
        assert experiment.expire() == 1
        clocks.passes(30)
        assert experiment.expire() == 1 and later.page == 2


def test_after_jumps_forth_and_back_a_closed_page_ends_at_its_deadline_too(tmp_path):
    """The page is shown again only until its deadline; a later report gets the reason."""
    clocks, lists = TwoClocks(), {name: ["x", "y"] for name in RANKINGS}
    given = settings(sticky=60.0)
    clock = {"clock": lambda: clocks.now, "monotonic": lambda: clocks.steady}
    with Experiment.open(tmp_path / "shop.db", given, keys=KEYS, **clock) as experiment:
        page = experiment.decide("q", lists, user="ann")
        experiment.record(page.token, [])
        for jump in (-7200, 7200):
            clocks.passes(1)
            clocks.now += jump
            experiment.expire()
            assert experiment.decide("q", lists, user="ann").page == page.page
    with Experiment.open(tmp_path / "shop.db", given, keys=KEYS, **clock) as experiment:
        clocks.passes(60)
        with pytest.raises(ExpiredError):
            experiment.record(page.token, [])
        assert experiment.decide("q", lists, user="ann").page == page.page + 1


@pytest.mark.parametrize("step", [7200, 86_400, -7200, -86_400])
@pytest.mark.parametrize("killed", [False, True])
def test_a_clock_that_jumps_while_the_store_is_closed_moves_deadlines(tmp_path, step, killed):
    """Time without a running service does not count for a page."""
    clocks = TwoClocks()
    experiment = stepping(tmp_path, clocks)
    first = experiment.decide("q", RANKINGS)
    clocks.passes(20)
    second = experiment.decide("q", RANKINGS)
    if killed:
        experiment._store._held.close()
    else:
        experiment.close()
    clocks.now, clocks.steady = clocks.now + step, 3.0
    for _ in range(2):
        with stepping(tmp_path, clocks) as experiment:
            assert experiment.expire() == 0
    with stepping(tmp_path, clocks) as experiment:
        clocks.passes(39)
        assert experiment.expire() == 0
        assert experiment.record(first.token, []).page == 1
        clocks.passes(21)
        assert experiment.expire() == 1
        with pytest.raises(ExpiredError):
            experiment.record(second.token, [])


@pytest.mark.parametrize("order", ["arrival", "shown"])
def test_a_clock_that_is_set_back_by_a_day_holds_up_nothing(tmp_path, order):
    clocks = TwoClocks()
    with Experiment.open(
        tmp_path / "shop.db",
        settings(order=order),
        keys=KEYS,
        clock=lambda: clocks.now,
        monotonic=lambda: clocks.steady,
    ) as experiment:
        experiment.decide("q", RANKINGS)
        later = experiment.decide("q", RANKINGS)
        experiment.record(later.token, later.shown[:1])
        clocks.passes(1)
        clocks.now -= 86_400
        assert experiment.expire() == 0 and experiment.delay == -86_400
        new = experiment.decide("q", RANKINGS)
        clocks.passes(59)
        assert experiment.expire() == 1
        assert experiment.record(new.token, []).page == 3
        assert experiment.state().steps >= 1 and experiment.open_pages == 0


@pytest.mark.parametrize("order", ["arrival", "shown"])
def test_a_page_that_reached_nobody_says_nothing(tmp_path, order):
    with opened(tmp_path, settings(order=order)) as experiment:
        ghost, page = experiment.decide("q", RANKINGS), experiment.decide("q", RANKINGS)
        assert ghost.rankers == page.rankers
        dropped, again = experiment.answer([Drop(ghost.page), Drop(ghost.page)])
        assert dropped.credit == {} and isinstance(again, UsedError)
        experiment.record(page.token, [])
        before = experiment.state()
        assert (before.steps, before.compared, before.expired, before.open) == (1, 1, 1, 0)
    with opened(tmp_path, settings(order=order)) as experiment:
        assert experiment.state().to_json() == before.to_json()


@pytest.mark.parametrize("reopened", [False, True])
def test_clicks_of_a_user_who_comes_back_are_added_until_the_page_is_closed(tmp_path, reopened):
    """The first click opens a document in the same tab; the user comes back and clicks on another one."""
    clock = Clock()
    with opened(tmp_path, clock=clock) as experiment:
        pages = [experiment.decide("q", RANKINGS) for _ in range(3)]
        for page in pages:
            first = experiment.record(page.token, page.shown[4:5], final=False)
            assert first.credit == {} and experiment.open_pages == 3
        if reopened:
            experiment.close()
            experiment = opened(tmp_path, clock=clock)
        experiment.record(pages[0].token, pages[0].shown[:1], final=False)
        experiment.record(pages[1].token, pages[1].shown[:1])
        with pytest.raises(UsedError):
            experiment.record(pages[1].token, [], final=False)
        clock.now += 61
        assert experiment.expire() == 2
        state = experiment.state()
        assert (state.clicked, state.expired, state.unclicked) == (3, 0, 0)
        experiment.close()
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        clicks = [array("H", one).tolist() for (one,) in db.execute("SELECT clicks FROM events ORDER BY page")]
        assert db.execute("SELECT count(*) FROM gathered").fetchone() == (0,)
    assert clicks == [[0, 4], [0, 4], [4]]


def test_an_id_that_is_a_number_and_a_text_is_refused_and_the_log_can_be_read(tmp_path):
    with opened(tmp_path, settings(rankers=("a", "b"))) as experiment:
        with pytest.raises(InputError, match="'1' as a string and as a number"):
            experiment.decide("q", {"a": [1, 2, 3], "b": ["1", "x", "y"]})
        page = experiment.decide("q", {"a": [1, 2, 3], "b": ["x", "y", "z"]})
        experiment.record(page.token, page.shown[:1])
    assert export_log(tmp_path / "shop.db", tmp_path / "log.csv") == 1
    assert compare_log(ClickLog(tmp_path / "log.csv"), rankers=("a", "b")).impressions == 1


@pytest.mark.parametrize("change", ["one", "float", "arms", "asked", "order", "asks one", "asks three", "asks in half"])
def test_a_damaged_snapshot_is_refused_before_a_kernel_reads_it(tmp_path, monkeypatch, change):
    monkeypatch.setattr("ltr_duel.live.actions._SNAPSHOT_EVERY", 5)
    given = settings(policy="double_thompson", rankers=tuple(f"r{k}" for k in range(40)))
    lists = {name: ["a", "b", "c"] for name in given.rankers}
    with opened(tmp_path, given) as experiment:
        for _ in range(30):
            experiment.record(experiment.decide("q", lists).token, ["a"])
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db, db:
        (content,) = db.execute("SELECT arrays FROM snapshot").fetchone()
        arrays = dict(np.load(io.BytesIO(content)))
        state = [name for name in arrays if name.startswith("state.")]
        for name in state:
            if change == "one":
                arrays[name] = arrays[name].ravel()[:1]
            elif change == "float":
                arrays[name] = arrays[name].astype(np.complex128)
        if change == "arms":
            arrays["n_arms"] = np.array([10**9])
        elif change in ("asked", "order"):
            arrays[change] = arrays[change] + 1000
        elif change.startswith("asks"):
            asked = {"one": [0], "three": [0, 1, 2], "half": [0.5, 1.5]}[change.split()[-1]]
            arrays["asked"] = np.array(asked)
        file = io.BytesIO()
        np.savez(file, **arrays)
        db.execute("UPDATE snapshot SET arrays = ?", (file.getvalue(),))
    (said,) = check_store(tmp_path / "shop.db")
    assert said.startswith("the snapshot is damaged: ")
    with pytest.raises(InputError, match=r"snapshot|number of arms"):
        opened(tmp_path, given)


def test_a_sheet_whose_numbers_are_no_documents_is_refused(tmp_path):
    """Regression: the comparison read foreign memory."""
    page = interleave({"a": DOCUMENTS, "b": DOCUMENTS[::-1]}, "team_draft", top=10, rng=np.random.default_rng(0))
    given, names = settings(rankers=("a", "b")), ("a", "b")
    sheet = pack_page(page)
    assert unpack_page(given, names, page.shown, sheet).credit([]) == page.credit([])
    for place in range(8, len(sheet), 2):
        damaged = sheet[:place] + b"\xff\x7f" + sheet[place + 2 :]
        with pytest.raises(ValueError, match="damaged"):
            unpack_page(given, names, page.shown, damaged)


DAMAGES = [
    "sheet = x'00'",
    "sheet = x'0300ffff0a000000'",
    "shown = '[1, 2'",
    "shown = NULL",
    "shown = '3'",
    "sheet = 'text'",
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_page_harms_no_other(tmp_path, damage):
    clock = Clock()
    with opened(tmp_path, clock=clock) as experiment:
        pages = [experiment.decide("q", RANKINGS) for _ in range(3)]
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db, db:
        db.execute(f"UPDATE pages SET {damage} WHERE page = 1")
    with opened(tmp_path, clock=clock) as experiment:
        with pytest.raises((StoreError, ValueError)):
            experiment.record(pages[0].token, [])
        assert experiment.record(pages[1].token, []).page == 2
        clock.now += 61
        assert experiment.decide("q", RANKINGS).page == 4
        counts = experiment.counts
        assert (counts.damaged, counts.expired, counts.unclicked, counts.open) == (1, 2, 1, 1)
