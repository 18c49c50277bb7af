"""``ltr-duel live``: export, backup and check, and their errors for a file that is not a store."""

import sqlite3
from contextlib import closing

from tests.live.shop import RANKINGS, opened, settings
from tests.live.test_experiment import use


def test_export_writes_a_log_that_compare_reads(ltr_duel, tmp_path):
    with opened(tmp_path) as experiment:
        use(experiment, 60)
        rows = experiment.state().compared
        log = tmp_path / "log.jsonl"
        answer = ltr_duel("live", "export", tmp_path / "shop.db", "--out", log)  # while the experiment is running
    assert answer.code == 0 and answer.out == f"{log}: {rows:,} impressions\n"
    assert f"{rows:,} impressions" in ltr_duel("logs", "compare", log, "--cluster", "impression").out


def test_an_export_without_a_name_is_named_after_its_store(ltr_duel, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with opened(tmp_path) as experiment:
        use(experiment, 20)
    answer = ltr_duel("live", "export", "shop.db")
    assert answer.code == 0 and answer.out.startswith("shop.parquet: ") and (tmp_path / "shop.parquet").exists()
    answer = ltr_duel("live", "export", "shop.db")
    assert answer.code == 2 and "shop.parquet: already exists; give another name, or --overwrite" in answer.err
    assert ltr_duel("live", "export", "shop.db", "--overwrite").code == 0


def test_purchases_by_device_are_exported_and_compared(ltr_duel, tmp_path):
    given = settings(rankers=("a", "b"), policy="random", context=("device",))
    lists = {name: RANKINGS[name] for name in ("a", "b")}
    with opened(tmp_path, given) as experiment:
        for k in range(80):
            page = experiment.decide("q", lists, user=f"u{k}", context={"device": ["phone", "desk"][k % 2]})
            experiment.record(page.token, page.shown[:1])
            experiment.record(page.token, [{"document": page.shown[k % 4], "kind": "purchase"}], late=True)
    log, events = tmp_path / "log.parquet", tmp_path / "events.parquet"
    answer = ltr_duel("live", "export", tmp_path / "shop.db", "--out", log, "--events", events)
    assert answer.code == 0, answer.err
    found = ltr_duel(
        *("logs", "compare", "--exposures", log, "--events", events, "--outcome", "purchase", "--by", "device")
    )
    assert found.code == 0, found.err
    assert "phone" in found.out and "desk" in found.out and "80 impressions" in found.out


def test_a_file_that_is_no_store_is_refused(ltr_duel, tmp_path):
    (tmp_path / "shop.db").write_text("no store")
    answer = ltr_duel("live", "export", tmp_path / "shop.db", "--out", tmp_path / "log.jsonl")
    assert answer.code == 2 and "shop.db: is not a store of a live experiment" in answer.err
    assert not (tmp_path / "log.jsonl").exists()


def test_a_store_is_copied_while_it_is_in_use_and_checked(ltr_duel, tmp_path):
    store, copy = tmp_path / "shop.db", tmp_path / "copy.db"
    with opened(tmp_path) as experiment:
        use(experiment, 20)
        pages = experiment.pages
        answer = ltr_duel("live", "backup", store, copy)
    assert (answer.code, answer.out) == (0, f"{copy}: {pages:,} pages\n")
    again = ltr_duel("live", "backup", store, copy)
    assert again.code == 2 and f"{copy}: this file exists already" in again.err
    assert ltr_duel("live", "check", copy).out == f"{copy}: no complaints\n"
    with closing(sqlite3.connect(copy)) as db, db:
        db.execute("UPDATE pages SET shown = NULL WHERE page = 7")
    checked = ltr_duel("live", "check", copy)
    assert (checked.code, checked.out) == (1, f"{copy}: page 7 is damaged\n")


def test_a_user_whom_no_page_knows_is_named(ltr_duel, tmp_path):
    with opened(tmp_path) as experiment:
        experiment.decide("q", RANKINGS, user="u1")
    for user, expected in (("u1", "1 page forgotten"), ("u2", "0 pages forgotten: no page belongs to user 'u2', ")):
        answer = ltr_duel("live", "forget", tmp_path / "shop.db", user)
        assert answer.code == 0 and expected in answer.out


def test_a_switch_prints_what_holds_and_when_a_service_follows(ltr_duel, tmp_path):
    """A search within a second after 'live winner' may still belong to the experiment."""
    with opened(tmp_path) as experiment:
        winner = experiment.settings.rankers[0]
    for words in (("pause",), ("resume",), ("winner", winner)):
        said = ltr_duel("live", words[0], tmp_path / "shop.db", *words[1:]).out
        assert said.endswith(" (a running service applies this within a second)\n"), said
    assert f"{winner} is served" in said
