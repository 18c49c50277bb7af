"""The file of an experiment: opened by one process, copied, checked, and rid of users at any time."""

import shutil
import sqlite3
import threading

import pytest

from ltr_duel.core import InputError
from ltr_duel.live import (
    Experiment,
    Search,
    Settings,
    StoreError,
    TokenError,
    backup_store,
    check_store,
    export_log,
    forget,
)
from ltr_duel.logs import ClickLog, compare_log
from tests.live.shop import LISTS, Clock, click, learn, opened, settings


def rows(folder, sql):
    with sqlite3.connect(folder / "shop.db") as db:
        found = db.execute(sql).fetchall()
    db.close()
    return found


def filled(folder, clock, users=20, **given):
    """Return an experiment with pages of users who search, click the first document, and buy it."""
    experiment = opened(folder, settings(**given), clock=clock)
    for k in range(users):
        clock.now += 1
        page = experiment.decide(f"user {k}", f"query {k}", LISTS)
        experiment.report(*click(page))
        experiment.report(page.token, [{"kind": "sale", "id": f"order {k}"}])
    return experiment


def test_a_new_store_draws_a_seed_and_keeps_it(tmp_path):
    seeds = set()
    for name in ("one", "two"):
        with Experiment.open(tmp_path / f"{name}.db", settings(seed=None)) as experiment:
            sets, seed = experiment.plan.salt, experiment.settings.seed
        with Experiment.open(tmp_path / f"{name}.db", settings(seed=None)) as experiment:
            assert (experiment.plan.salt, experiment.settings.seed) == (sets, seed)
        seeds.add(seed)
    assert len(seeds) == 2 and None not in seeds


def test_settings_that_would_change_what_counts_cannot_change(tmp_path):
    opened(tmp_path).close()
    with pytest.raises(InputError, match=r"shop.db: was made with window = 60.0, not 30.0"):
        opened(tmp_path, settings(window=30.0))
    with opened(tmp_path, settings(confidence=0.8, margin=0.1)) as experiment:
        assert (experiment.state().confidence, experiment.state().margin) == (0.8, 0.1)


def test_a_store_has_one_writer_and_must_be_a_store_of_this_version(tmp_path):
    with opened(tmp_path), pytest.raises(InputError, match="another process"):
        opened(tmp_path)
    with pytest.raises(InputError, match="there is no store"):
        Experiment.open(tmp_path / "missing.db")
    (tmp_path / "text.db").write_text("text, " * 1000)
    with pytest.raises(InputError, match="is not a store"):
        Experiment.open(tmp_path / "text.db")
    with sqlite3.connect(tmp_path / "shop.db") as db:
        db.execute("PRAGMA user_version = 7")
    db.close()
    with pytest.raises(InputError, match="another version"):
        Experiment.open(tmp_path / "shop.db")


def test_a_failed_write_changes_nothing_and_may_be_repeated(tmp_path):
    with opened(tmp_path) as experiment:
        page = experiment.decide("first", "q", LISTS)
        experiment._store.db.execute("PRAGMA query_only = ON")  # as if the disk were full
        for call in (lambda: experiment.decide("user", "q", LISTS), lambda: experiment.report(*click(page))):
            with pytest.raises(StoreError):
                call()
        experiment._store.db.execute("PRAGMA query_only = OFF")
        assert experiment.state().pages == 1
        experiment.decide("user", "q", LISTS)
        assert experiment.report(*click(page)) == page.impression


@pytest.mark.parametrize(
    "call, said",
    [
        (Search("", "q", LISTS), "user must not be empty"),
        (Search("user", "", LISTS), "query must not be empty"),
        (Search("u" * 10_001, "q", LISTS), "10,000"),
        (Search("\ud800", "q", LISTS), "Unicode"),
        (Search("user", 7, LISTS), "a string"),
        (Search("forgotten-bob", "q", LISTS), "must not begin"),
        (Search("user", "q", {}), "is missing"),
        (Search("user", "q", LISTS, {"page": "home"}), "no context 'page'"),
        (Search("user", "q", LISTS, {"device": 7}), "a string"),
    ],
)
def test_an_invalid_search_is_refused_and_the_others_of_its_transaction_are_kept(tmp_path, call, said):
    with opened(tmp_path, settings(context=["device"])) as experiment:
        good, refused, other = experiment.answer([Search("one", "q", LISTS), call, Search("two", "q", LISTS)])
        assert said in str(refused)
        assert good.token and other.token and experiment.state().pages == 2


def test_threads_share_the_store_of_an_experiment(tmp_path):
    with opened(tmp_path) as experiment:

        def work(number):
            for k in range(30):
                experiment.report(*click(experiment.decide(f"{number} {k}", "q", LISTS)))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert experiment.state().pages == 240
    assert rows(tmp_path, "SELECT count(*), sum(seen) FROM exposures") == [(240, 240)]


def test_the_clock_of_an_experiment_never_goes_back(tmp_path):
    clock = Clock()
    filled(tmp_path, clock).close()
    clock.now -= 1000
    with opened(tmp_path, clock=clock) as experiment:
        experiment.decide("late", "q", LISTS)
        assert "0.28 hours ahead" in experiment.state().note  # 1,000 seconds
        clock.now += 1000 + 62
        learn(experiment)
        assert experiment.state().waiting == 0 and not experiment.state().note
    times = [time for (time,) in rows(tmp_path, "SELECT time FROM exposures ORDER BY n")]
    assert times == sorted(times) and times[-1] == times[-2]


def test_a_backup_during_use_is_a_complete_store(tmp_path):
    clock = Clock()
    with filled(tmp_path, clock) as experiment:
        assert backup_store(tmp_path / "shop.db", tmp_path / "backup.db") == 20
        clock.now += 100
        learn(experiment)
        state = experiment.state()
    with pytest.raises(InputError, match="exists already"):
        backup_store(tmp_path / "shop.db", tmp_path / "backup.db")
    assert check_store(tmp_path / "backup.db") == []
    with Experiment.open(tmp_path / "backup.db", clock=clock) as restored:
        learn(restored)
        assert restored.state().first_wins.tolist() == state.first_wins.tolist()
        assert restored.plan.sets == experiment.plan.sets


def test_live_check_finds_damage_of_the_store(tmp_path):
    clock = Clock()
    with filled(tmp_path, clock) as experiment:
        clock.now += 100
        learn(experiment)
    assert check_store(tmp_path / "shop.db") == []
    for sql, said in (
        ("DELETE FROM exposures WHERE n = 1", "events of no page: 2"),
        ("DELETE FROM met", "users' pairs"),
        ("DELETE FROM totals", "totals"),
        ("UPDATE exposures SET learned = 0", "outcomes of pages that do not count"),
    ):
        shutil.copy(tmp_path / "shop.db", tmp_path / "copy.db")
        with sqlite3.connect(tmp_path / "copy.db") as db:
            db.execute(sql)
        db.close()
        assert any(said in complaint for complaint in check_store(tmp_path / "copy.db"))
    content = bytearray((tmp_path / "shop.db").read_bytes())
    content[4096 : len(content) // 2] = bytes(len(content) // 2 - 4096)
    (tmp_path / "copy.db").write_bytes(content)
    assert check_store(tmp_path / "copy.db")


def test_a_forgotten_user_is_gone_from_file_and_export_and_counts_stay(tmp_path):
    clock = Clock()
    with filled(tmp_path, clock) as experiment:
        clock.now += 100
        learn(experiment)
        before = experiment.state()
        assert forget(tmp_path / "shop.db", user="user 7") == 1
        assert forget(tmp_path / "shop.db", user="user 7") == 0
        after = experiment.state()
        assert after.first_wins.tolist() == before.first_wins.tolist() and not before.note and "Forgotten" in after.note
        export_log(tmp_path / "shop.db", tmp_path / "log.jsonl", events=tmp_path / "events.jsonl")
        texts = [path.read_text() for path in tmp_path.glob("*.jsonl")]
        assert not any(word in text for text in texts for word in ('"user 7"', '"query 7"', '"order 7"'))
    assert check_store(tmp_path / "shop.db") == []
    assert not any(word in (tmp_path / "shop.db").read_bytes() for word in (b"user 7\0", b"query 7", b"order 7"))


def test_a_forgotten_page_cannot_be_confirmed_or_reported_again(tmp_path):
    with opened(tmp_path) as experiment:
        page = experiment.decide("Forgotten-Ann", "q", LISTS)
        report = page.token, [{"kind": "sale", "id": "order 7"}]
        experiment.report(*report)
        assert forget(tmp_path / "shop.db", user="Forgotten-Ann") == 1
        with pytest.raises(TokenError, match="not in the store"):
            experiment.report(*report)
        ((impression, user),) = rows(tmp_path, "SELECT impression, user FROM exposures")
        assert rows(tmp_path, "SELECT impression FROM events") == [(impression,)] != [(page.impression,)]
        assert forget(tmp_path / "shop.db", user=user) == 0


def test_the_log_of_an_experiment_that_has_forgotten_can_be_read(tmp_path):
    clock = Clock()
    with filled(tmp_path, clock) as experiment:
        clock.now += 100
        learn(experiment)
        forget(tmp_path / "shop.db", user="user 7")
        state = experiment.state()
    export_log(tmp_path / "shop.db", tmp_path / "log.csv")
    found = compare_log(ClickLog(tmp_path / "log.csv"))
    assert sum(map(sum, found.sequences[:3])) == state.first_wins.sum() + state.first_ties.sum() // 2


def test_old_pages_lose_their_queries_and_users_who_did_not_return_their_names(tmp_path):
    clock = Clock()
    with filled(tmp_path, clock) as experiment:
        clock.now += 10 * 86_400
        experiment.report(*click(experiment.decide("user 3", "query again", LISTS)))
        clock.now += 100
        learn(experiment)
        assert forget(tmp_path / "shop.db", older_than=5, now=clock.now) == 20
        assert forget(tmp_path / "shop.db", older_than=5, now=clock.now) == 0
        state = experiment.state()
    users = [user for (user,) in rows(tmp_path, "SELECT user FROM exposures")]
    assert users.count("user 3") == 2 and sum(user.startswith("forgotten-") for user in users) == 19
    assert [query for (query,) in rows(tmp_path, "SELECT query FROM exposures") if query != "forgotten"] == [
        "query again"
    ]
    export_log(tmp_path / "shop.db", tmp_path / "log.parquet")
    found = compare_log(ClickLog(tmp_path / "log.parquet"))
    assert sum(map(sum, found.sequences[:3])) == state.first_wins.sum() + state.first_ties.sum() // 2


def test_an_export_has_the_context_and_leaves_out_what_is_private(tmp_path):
    clock = Clock()
    with opened(tmp_path, settings(context=["device"]), clock=clock) as experiment:
        page = experiment.answer([Search("user", "q", LISTS, {"device": "phone"})])[0]
        experiment.report(page.token, [{"kind": "view"}])
        clock.now += 100
        learn(experiment)
    assert export_log(tmp_path / "shop.db", tmp_path / "log.csv", without=["user", "query"]) == 1
    header, row = (tmp_path / "log.csv").read_text().splitlines()
    assert "device" in header and "user" not in header and "query" not in header and "phone" in row
    with pytest.raises(InputError, match="no column to leave out"):
        export_log(tmp_path / "shop.db", tmp_path / "log.csv", without=["clicks"])


def test_the_settings_of_the_store_are_enough_to_open_it(tmp_path):
    given = Settings(name='ä "quoted" name', rankers=("old", "new"), policy="rucb:alpha=0.7", seed=2**127)
    with Experiment.open(tmp_path / "shop.db", given) as experiment:
        assert experiment.settings == given
    with Experiment.open(tmp_path / "shop.db") as experiment:
        assert experiment.settings == given
