"""Deleted data are no longer in the files, and counts are unchanged."""

import math
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ltr_duel.core import InputError
from ltr_duel.live import ExpiredError, export_log, forget, forgetting, schema
from ltr_duel.live.schema import NAMELESS
from ltr_duel.logs import ClickLog, compare_log
from ltr_duel.logs.compare import _FORGOTTEN
from tests.live.shop import RANKINGS, Clock, opened, settings

KEY = bytes(range(32))


def filled(folder, clock, **how):
    """Show two pages of each of two users, a day apart, and close them."""
    with opened(folder, settings(rankers=("a", "b"), policy="random"), clock=clock, **how) as experiment:
        for _ in range(2):
            for user in ("ann of somewhere", "bob of nowhere"):
                lists = {name: RANKINGS[name] for name in ("a", "b")}
                page = experiment.decide(f"a query of {user}", lists, user=user)
                experiment.record(page.token, page.shown[:1])
            clock.now += 86_400
        return experiment.state().to_json()


def content(folder):
    return b"".join(one.read_bytes() for one in folder.glob("shop.db*"))


def users(folder):
    with closing(sqlite3.connect(folder / "shop.db")) as db:
        return [user for (user,) in db.execute("SELECT user FROM pages ORDER BY page")]


def test_a_user_is_forgotten_and_counts_stay(tmp_path):
    clock = Clock()
    before = filled(tmp_path, clock)
    assert forget(tmp_path / "shop.db", user="ann of somewhere") == 2
    assert b"ann of" not in content(tmp_path) and b"bob of nowhere" in content(tmp_path)
    first, bob, again, _ = users(tmp_path)
    assert first == again != bob == "bob of nowhere" and first.startswith("forgotten-")
    with opened(tmp_path, clock=clock, given=settings(rankers=("a", "b"), policy="random")) as experiment:
        state = experiment.state()
        assert state.to_json() == before
    assert export_log(tmp_path / "shop.db", tmp_path / "log.jsonl") == 4
    found = compare_log(ClickLog(tmp_path / "log.jsonl"), cluster="user")
    assert found.impressions == 4 and found.sequences.n.tolist() == [state.decisions[0].observations] == [2]
    assert forget(tmp_path / "shop.db", user="ann of somewhere") == 0


def test_a_user_is_forgotten_while_a_service_runs(tmp_path):
    clock = Clock()
    filled(tmp_path, clock)
    with opened(tmp_path, settings(rankers=("a", "b"), policy="random"), clock=clock) as experiment:
        lists = {name: RANKINGS[name] for name in ("a", "b")}
        page = experiment.decide("a query", lists, user="ann of somewhere")
        assert b"ann of" in content(tmp_path)
        assert forget(tmp_path / "shop.db", user="ann of somewhere") == 3
        assert b"ann of" not in content(tmp_path)
        assert experiment.record(page.token, []).page == 5
    assert b"ann of" not in content(tmp_path)


def test_what_is_older_than_so_many_days_is_forgotten(tmp_path):
    clock = Clock()
    filled(tmp_path, clock)
    store = tmp_path / "shop.db"
    assert forget(store, older_than=1.5, now=clock.now) == 2
    assert [user.startswith("forgotten-") for user in users(tmp_path)] == [True, True, False, False]
    assert forget(store, older_than=1.5, now=clock.now) == 0
    assert forget(store, older_than=0.5, now=clock.now) == 2
    assert b"of somewhere" not in content(tmp_path) and b"of nowhere" not in content(tmp_path)


def test_a_hashed_user_is_found_by_the_key_alone(tmp_path):
    filled(tmp_path, Clock(), user_key=KEY)
    with pytest.raises(InputError, match="users are stored as hashes: pass --user-key-file"):
        forget(tmp_path / "shop.db", user="ann of somewhere")
    with pytest.raises(InputError, match="hashes by a different key"):
        forget(tmp_path / "shop.db", user="ann of somewhere", user_key=KEY + b"x")
    assert forget(tmp_path / "shop.db", user="ann of somewhere", user_key=KEY) == 2


@pytest.mark.parametrize("how", [{}, {"user": "ann", "older_than": 3}, {"older_than": -1}])
def test_what_is_to_be_forgotten_is_one_thing(tmp_path, how):
    opened(tmp_path).close()
    with pytest.raises(InputError):
        forget(tmp_path / "shop.db", **how)


def long_ago(folder, clock, pages=30, **how):
    """Show a page each day, of three users in turn."""
    with opened(folder, settings(rankers=("a", "b"), policy="random", **how), clock=clock) as experiment:
        for k in range(pages):
            lists = {name: RANKINGS[name] for name in ("a", "b")}
            page = experiment.decide(f"query {k}", lists, user=f"user {k % 3}")
            experiment.record(page.token, [{"kind": "purchase", "id": f"order {k}"}], late=True)
            experiment.record(page.token, [])
            clock.now += 86_400


@pytest.mark.parametrize("some", [1, 4, 1000])
def test_what_is_older_than_the_settings_say_is_forgotten_some_pages_at_a_time(tmp_path, monkeypatch, some):
    monkeypatch.setattr("ltr_duel.live.forgetting._SOME", some)
    clock = Clock()
    long_ago(tmp_path, clock)
    given = settings(rankers=("a", "b"), policy="random", keep_days=10.5)
    with opened(tmp_path, given, clock=clock) as experiment:
        before, parts = experiment.state().to_json(), []
        for part in experiment.retain():
            parts.append(part)
            experiment.decide("another", {name: RANKINGS[name] for name in ("a", "b")}, user="user 9")
        assert sum(parts) == 20 and max(parts) <= some and list(experiment.retain()) == []
        clock.now += 86_400
        assert list(experiment.retain()) == [1]
        state = experiment.state().to_json()
        assert (state["wins"], state["ties"], state["steps"]) == (before["wins"], before["ties"], before["steps"])
    assert export_log(tmp_path / "shop.db", tmp_path / "log.jsonl") == 30
    kept = [name.startswith("user") for name in users(tmp_path)[:30]]
    assert kept == [False] * 21 + [True] * 9
    assert len(set(users(tmp_path)[:20])) == 3  # the log still groups them
    assert b"query 20" not in content(tmp_path) and b"query 21" in content(tmp_path)
    assert b"order 20" not in content(tmp_path) and b"order 21" in content(tmp_path)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        names = [name for (name,) in db.execute("SELECT name FROM outcomes ORDER BY page")]
        assert [name.startswith("order") for name in names] == kept


def test_without_days_nothing_is_forgotten_and_a_row_without_a_time_does_not_stop_it(tmp_path):
    clock = Clock()
    long_ago(tmp_path, clock, 6)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db, db:
        db.execute("UPDATE pages SET at = NULL WHERE page = 2")
    with opened(tmp_path, clock=clock, given=settings(rankers=("a", "b"), policy="random")) as experiment:
        assert list(experiment.retain()) == []
    given = settings(rankers=("a", "b"), policy="random", keep_days=2.5)
    with opened(tmp_path, given, clock=clock) as experiment:
        assert list(experiment.retain()) == [4]


DAY = 86_400


def starts(folder, clock):
    """Open the store and delete old data; return the number of deleted pages, and whether the clock was accepted."""
    given = settings(rankers=("a", "b"), policy="random", keep_days=90)
    with opened(folder, given, clock=clock) as experiment:
        return looked(experiment)


def looked(experiment):
    parts, forgotten = experiment.retain(), 0
    while True:
        try:
            forgotten += next(parts)
        except StopIteration as end:
            return forgotten, end.value


def test_starts_under_a_wrong_clock_forget_nobody(tmp_path):
    clock = Clock()
    long_ago(tmp_path, clock, keep_days=90)
    clock.now += 200 * DAY
    for _ in range(3):  # repeated calls are allowed
        assert starts(tmp_path, clock) == (0, False)
        long_ago(tmp_path, clock, 1, keep_days=90)
        clock.now -= DAY - 60
    clock.now -= 200 * DAY
    assert starts(tmp_path, clock) == (0, True)
    assert b"query 29" in content(tmp_path)


def test_another_leap_of_the_clock_begins_another_doubt(tmp_path):
    clock = Clock()
    long_ago(tmp_path, clock, keep_days=90)
    clock.now += 95 * DAY  # right, after a time without a service
    assert starts(tmp_path, clock) == (0, False)
    clock.now += 500 * DAY
    assert starts(tmp_path, clock) == (0, False)
    clock.now -= 500 * DAY - 2 * DAY
    assert starts(tmp_path, clock) == (0, False)
    clock.now += DAY
    forgotten, believed = starts(tmp_path, clock)
    assert believed and forgotten > 0


def test_a_page_of_a_clock_that_was_ahead_keeps_no_later_page(tmp_path):
    clock = Clock()
    clock.now += 3650 * DAY
    long_ago(tmp_path, clock, 1, keep_days=90)
    clock.now -= 3651 * DAY
    long_ago(tmp_path, clock, 2, keep_days=90)
    looks = []
    for _ in range(92):
        looks.append(starts(tmp_path, clock))
        clock.now += DAY
    assert sum(forgotten for forgotten, _ in looks) == 3


def test_a_clock_that_jumps_while_a_service_runs_forgets_nobody(tmp_path):
    clock = Clock()
    long_ago(tmp_path, clock, keep_days=90)
    with opened(tmp_path, settings(rankers=("a", "b"), policy="random", keep_days=90), clock=clock) as experiment:
        assert looked(experiment) == (0, True)
        clock.now += 200 * DAY
        assert looked(experiment) == (0, False)
        clock.now -= 199 * DAY
        assert looked(experiment) == (0, True)


def test_a_new_store_whose_first_look_is_under_a_wrong_clock_forgets_nobody(tmp_path):
    clock = Clock()
    with opened(tmp_path, settings(keep_days=90), clock=clock) as experiment:
        experiment.decide("shoes", RANKINGS, user="ann")
        clock.now += 200 * DAY
        assert looked(experiment) == (0, False)


def test_a_store_that_was_not_served_for_long_forgets_a_day_later(tmp_path):
    clock = Clock()
    long_ago(tmp_path, clock, keep_days=90)
    clock.now += 200 * DAY
    assert starts(tmp_path, clock) == (0, False)
    clock.now += DAY / 2
    assert starts(tmp_path, clock) == (0, False)
    clock.now += DAY / 2
    assert starts(tmp_path, clock) == (30, True)
    assert b"query 29" not in content(tmp_path)


@pytest.mark.parametrize("by", ["retain", "age"])
def test_pages_shown_after_a_wrong_clock_forgot_others_take_outcomes(tmp_path, by):
    """The clock is wrong until the store accepts it; then the clock is right again."""
    clock = Clock()
    long_ago(tmp_path, clock, 5, keep_days=90)
    clock.now += 200 * DAY
    if by == "retain":
        starts(tmp_path, clock)
        clock.now += DAY
        assert starts(tmp_path, clock) == (5, True)
        clock.now -= DAY
    else:
        assert forget(tmp_path / "shop.db", older_than=90, now=clock.now) == 5
    clock.now -= 200 * DAY
    with opened(tmp_path, settings(rankers=("a", "b"), policy="random", keep_days=90), clock=clock) as experiment:
        page = experiment.decide("q", {name: RANKINGS[name] for name in ("a", "b")}, user="ann")
        late(experiment, page, "order 7")


def late(experiment, page, *ids):
    return experiment.record(
        page.token, [{"kind": "purchase", **({"id": one} if one else {})} for one in ids], late=True
    )


ANN, ANYONE = [("ann", "shoes")], [("", "shoes")]


@pytest.mark.parametrize(
    "by, user, query",
    [(by, *who) for by, whose in (("user", ANN), ("age", ANN + ANYONE), ("retain", ANN + ANYONE)) for who in whose],
)
def test_no_id_of_an_outcome_is_kept_after_its_page_was_forgotten(tmp_path, by, user, query):
    clock = Clock()
    with opened(tmp_path, settings(keep_days=1.0), clock=clock) as experiment:
        page = experiment.decide(query, RANKINGS, user=user)
        late(experiment, page, "order 7")
        clock.now += 2 * 86_400
        young = experiment.decide(query, RANKINGS, user="bob" if user else "")
        if by == "retain":
            assert sum(experiment.retain()) == bool(user or query)
        else:
            forget(tmp_path / "shop.db", now=clock.now, **({"user": user} if by == "user" else {"older_than": 1}))
        assert b"order 7" not in content(tmp_path)
        for ids in (["order 7"], ["order 8"], ["", "order 7"]):
            with pytest.raises(ExpiredError, match="forgotten"):
                late(experiment, page, *ids)
        late(experiment, page, "")
        late(experiment, page, "")
        late(experiment, young, "order 9")
        assert len(experiment._store.outcomes(page.page)) == 2 and experiment.record(young.token, []).page == 2
        with pytest.raises(ExpiredError, match="deadline"):
            experiment.record(page.token, [])
    assert b"order 7" not in content(tmp_path) and b"order 9" in content(tmp_path)


def test_the_clicks_of_an_open_page_that_was_forgotten_are_counted(tmp_path):
    with opened(tmp_path) as experiment:
        page = experiment.decide("shoes", RANKINGS, user="ann")
        forget(tmp_path / "shop.db", user="ann")
        with pytest.raises(ExpiredError, match="forgotten"):
            experiment.record(page.token, [{"kind": "cart", "id": "order 7"}])
        experiment.record(page.token, [page.shown[0], {"kind": "cart"}])
        assert experiment.state().clicked == 1


def test_users_who_come_back_after_they_were_forgotten_are_said_to_count_again(tmp_path):
    clock, lists = Clock(), {name: RANKINGS[name] for name in ("a", "b")}
    given = settings(rankers=("a", "b"), policy="random", keep_days=1)
    with opened(tmp_path, given, clock=clock) as experiment:
        for day in range(2):
            assert sum(experiment.retain()) == 30 * day
            experiment.expire()
            for k in range(30):
                page = experiment.decide("q", lists, user=f"u{k}")
                experiment.record(page.token, page.shown[:1])
            clock.now += 172_800
        state = experiment.state()
        assert state.first_wins.sum() + state.first_ties[0, 1] == 60 and "count as new users" in state.note
    export_log(tmp_path / "shop.db", tmp_path / "log.parquet")
    warnings = compare_log(ClickLog(tmp_path / "log.parquet")).warnings
    assert any("forgotten 30 users (keep_days" in one for one in warnings)
    assert NAMELESS == _FORGOTTEN


def test_a_store_that_has_forgotten_nothing_says_nothing_of_it(tmp_path):
    clock = Clock()
    with opened(tmp_path, settings(keep_days=1), clock=clock) as experiment:
        experiment.decide("q", RANKINGS, user="ann")
        assert sum(experiment.retain()) == forget(tmp_path / "shop.db", older_than=9, now=clock.now) == 0
        experiment.expire()
        assert experiment.state().note == ""


def test_the_recorded_time_of_forgotten_pages_never_falls():
    """An older page may be forgotten after a later page, for example a page of a wrong clock."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE about (name TEXT PRIMARY KEY, value)")
        db.execute("CREATE TABLE pages (at REAL)")
        db.executemany("INSERT INTO pages VALUES (?)", [(5.0,), (9.0,)])
        for before, latest in ((10.0, 9.0), (6.0, 9.0)):
            forgetting._record_before(db, "at < ?", (before,))
            ((value,),) = db.execute("SELECT value FROM about").fetchall()
            assert value == math.nextafter(latest, math.inf)


def test_no_statement_has_numbered_placeholders():
    """Python 3.12.0 to 3.12.3 warn about them if the values are a sequence."""
    files = sorted(Path(schema.__file__).parent.glob("*.py"))
    assert len(files) > 10
    assert not [file.name for file in files if re.search(r"\?\d", file.read_text())]
