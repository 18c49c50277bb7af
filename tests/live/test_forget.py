"""What is forgotten is not in the files any more, and changes no count."""

import sqlite3
from contextlib import closing

import pytest

from ltr_duel.core import InputError
from ltr_duel.live import export_log, forget
from ltr_duel.logs import ClickLog, compare_log
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
    found = compare_log(ClickLog(tmp_path / "log.jsonl"), cluster="user", bootstrap=0)
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
    with pytest.raises(InputError, match="hashes by another key"):
        forget(tmp_path / "shop.db", user="ann of somewhere")
    assert forget(tmp_path / "shop.db", user="ann of somewhere", user_key=KEY) == 2


@pytest.mark.parametrize("how", [{}, {"user": "ann", "older_than": 3}, {"older_than": -1}])
def test_what_is_to_be_forgotten_is_one_thing(tmp_path, how):
    opened(tmp_path).close()
    with pytest.raises(InputError):
        forget(tmp_path / "shop.db", **how)
