"""Outcomes other than clicks are stored once and exported; they change policy and state only if they are credited."""

import json
import sqlite3
from contextlib import closing

import pytest

from ltr_duel.core import InputError
from ltr_duel.live import ExpiredError, TokenError, UsedError, check_store, contents, export_log
from ltr_duel.logs import ClickLog, compare_log
from tests.live.shop import DOCUMENTS, RANKINGS, Clock, opened, settings

DAY = 86_400


def shop(folder, given, conversions, clock=None):
    """Simulate users who click, and buy days later; return the state."""
    clock = clock or Clock()
    with opened(folder, given, clock=clock) as experiment:
        pages = [experiment.decide(f"q{k}", RANKINGS, user=f"u{k}") for k in range(40)]
        for k, page in enumerate(pages):
            if k % 3:
                cart = [{"document": page.shown[0], "kind": "cart", "value": 2}] if conversions else []
                experiment.record(page.token, [page.shown[k % 5], *cart], final=bool(k % 2))
        clock.now += 2 * DAY
        experiment.expire()
        if conversions:
            for page in pages * 2:  # each report comes twice
                bought = {"document": page.shown[1], "kind": "purchase", "value": 9.5}
                recorded = experiment.record(page.token, [bought, {"kind": "visit"}], late=True)
                assert recorded.credit == {}
        return experiment.state().to_json()


def test_late_conversions_change_neither_the_state_nor_the_log_of_clicks(tmp_path):
    logs = []
    for conversions in (False, True):
        folder = tmp_path / str(conversions)
        folder.mkdir()
        logs.append((shop(folder, settings(), conversions), export_log(folder / "shop.db", folder / "log.jsonl")))
        assert check_store(folder / "shop.db") == []
    assert logs[0] == logs[1]
    assert (tmp_path / "False" / "log.jsonl").read_text() == (tmp_path / "True" / "log.jsonl").read_text()


def test_outcomes_are_exported_once_each_beside_the_clicks(tmp_path):
    shop(tmp_path, settings(), True)
    log, events = tmp_path / "log.jsonl", tmp_path / "events.jsonl"
    rows = export_log(tmp_path / "shop.db", log, events=events)
    exposed = [json.loads(line) for line in log.read_text().splitlines()]
    found = [json.loads(line) for line in events.read_text().splitlines()]
    count = {kind: sum(one["kind"] == kind for one in found) for kind in ("click", "cart", "purchase", "visit")}
    assert count == {
        "click": sum(len(one["clicks"]) for one in exposed),
        "cart": count["cart"],
        "purchase": rows,
        "visit": rows,
    }
    assert 0 < count["cart"] < rows
    (bought,) = [one for one in found if (one["impression"], one["kind"]) == (exposed[0]["impression"], "purchase")]
    assert bought["item"] == exposed[0]["shown"][1] and (bought["position"], bought["value"]) == (2, 9.5)
    assert bought["time"] == exposed[0]["time"] + 2 * DAY


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_purchases_of_the_export_are_compared_by_the_log_tools(tmp_path, suffix):
    compared = []
    with opened(tmp_path, settings(rankers=("a", "b"), policy="random")) as experiment:
        for k in range(60):
            page = experiment.decide("q", {name: RANKINGS[name] for name in "ab"}, user=f"u{k}")
            experiment.record(page.token, [])
            compared += [k] if len(page.rankers) == 2 else []
            if k % 2 and DOCUMENTS[0] in page.shown:
                experiment.record(page.token, [{"document": DOCUMENTS[0], "kind": "purchase"}], late=True)
    log, events = tmp_path / f"log{suffix}", tmp_path / f"events{suffix}"
    rows = export_log(tmp_path / "shop.db", log, events=events)
    found = compare_log(ClickLog(log, events=events, outcome="purchase"))
    assert rows == len(compared) == found.impressions
    (pair,) = found.pairs  # document 0 is the first of ranker a, and below the page for ranker b
    wins = found.wins if found.names[pair[0]] == "a" else found.losses
    assert (wins.sum(), found.ties.sum()) == (sum(k % 2 for k in compared), sum(k % 2 == 0 for k in compared))


def test_rankers_are_credited_with_the_kind_that_the_settings_name(tmp_path):
    with opened(tmp_path, settings(credit="purchase")) as experiment:
        page = experiment.decide("q", RANKINGS)
        experiment.record(page.token, list(page.shown), final=False)
        experiment.record(page.token, [{"document": page.shown[0], "kind": "purchase", "value": 3}], final=False)
        credit = experiment.record(page.token, []).credit
        other = experiment.decide("q", RANKINGS)
        refunded = [{"document": other.shown[0], "kind": "purchase", "value": -3}]
        assert set(experiment.record(other.token, refunded).credit.values()) == {0.0}
        state = experiment.state()
    (y,) = credit.values()
    assert y != 0 or page.shown[0] in {ids[0] for ids in (RANKINGS[name] for name in page.rankers)}
    assert (state.clicked, state.unclicked) == (1, 1)
    export_log(tmp_path / "shop.db", tmp_path / "log.jsonl", events=tmp_path / "events.jsonl")
    found = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [one["value"] for one in found if one["kind"] == "purchase"] == [3.0, -3.0]
    assert sum(one["kind"] == "click" for one in found) == 10


@pytest.mark.parametrize("kind", ["click", "purchase"])
def test_a_late_report_is_for_the_log_alone_also_of_an_open_page(tmp_path, kind):
    with opened(tmp_path, settings(credit=kind)) as experiment:
        page = experiment.decide("q", RANKINGS)
        for document in page.shown[:3]:
            experiment.record(page.token, [{"document": document, "kind": kind}], late=True)
        assert experiment.open_pages == 1
        assert set(experiment.record(page.token, []).credit.values()) == {0.0}
        assert (experiment.state().clicked, experiment.state().unclicked) == (0, 1)
    export_log(tmp_path / "shop.db", tmp_path / "log.jsonl", events=tmp_path / "events.jsonl")
    found = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [one["kind"] for one in found] == [kind] * 3


def test_an_outcome_with_an_id_of_its_own_is_another_one(tmp_path):
    with opened(tmp_path) as experiment:
        page = experiment.decide("q", RANKINGS)
        for name in ("order 1", "order 2", "order 1"):
            experiment.record(page.token, [{"kind": "purchase", "id": name}], late=True)
        assert len(experiment._store.outcomes(page.page)) == 2 and experiment.open_pages == 1


def test_outcomes_are_accepted_for_thirty_days_and_clicks_until_the_page_is_closed(tmp_path):
    clock, late = Clock(), [{"kind": "purchase"}]
    with opened(tmp_path, settings(), clock=clock) as experiment:
        page, other = experiment.decide("q", RANKINGS), experiment.decide("q", RANKINGS)
        experiment.record(page.token, [])
        with pytest.raises(UsedError):
            experiment.record(page.token, late)
        clock.now += 30 * DAY - 1
        with pytest.raises(ExpiredError):
            experiment.record(other.token, late)
        experiment.record(page.token, late, late=True)
        clock.now += 2
        with pytest.raises(ExpiredError, match="more than 30 days ago"):
            experiment.record(other.token, late, late=True)
        with pytest.raises(TokenError):
            experiment.record(page.token[:-2], late, late=True)


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        ({}, "'kind' of an outcome"),
        ({"kind": ""}, "'kind' of an outcome"),
        ({"kind": "a\nb"}, "'kind' of an outcome"),
        ({"kind": "x" * 33}, "'kind' of an outcome"),
        ({"kind": 5}, "'kind' of an outcome"),
        ({"kind": "cart", "value": float("nan")}, "'value' of an outcome"),
        ({"kind": "cart", "value": 1e13}, "'value' of an outcome"),
        ({"kind": "cart", "value": True}, "'value' of an outcome"),
        ({"kind": "cart", "value": "1"}, "'value' of an outcome"),
        ({"kind": "cart", "id": 5}, "'id' of an outcome"),
        ({"kind": "cart", "id": "x" * 101}, "'id' of an outcome"),
        ({"kind": "cart", "id": "\ud800"}, "an unpaired surrogate"),
        ({"kind": "cart", "document": "none"}, "is not on the page"),
        ({"kind": "cart", "document": ["doc1"]}, "is not on the page"),
        ({"kind": "cart", "user": "ann"}, "no key 'user'"),
    ],
)
def test_an_outcome_that_there_cannot_be_is_refused_and_nothing_of_the_report_happens(tmp_path, wrong, sentence):
    with opened(tmp_path) as experiment:
        page = experiment.decide("q", RANKINGS)
        for late in (False, True):
            with pytest.raises(InputError, match=sentence):
                experiment.record(page.token, [{"kind": "visit"}, wrong], late=late)
        with pytest.raises(InputError, match="is not on the page"):
            experiment.record(page.token, [{"kind": "visit"}, "none"])
        assert experiment.open_pages == 1 and experiment._store.outcomes(page.page) == []


def test_a_page_has_so_many_outcomes_at_most(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "_MOST", 3)
    with opened(tmp_path) as experiment:
        page = experiment.decide("q", RANKINGS)
        experiment.record(page.token, [{"kind": f"k{k}"} for k in range(3)], late=True)
        experiment.record(page.token, [{"kind": "k1"}], late=True)
        with pytest.raises(InputError, match="at most 3 outcomes"):
            experiment.record(page.token, [{"kind": "k9"}], late=True)


def test_an_outcome_without_its_page_is_a_complaint(tmp_path):
    shop(tmp_path, settings(), True)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db, db:
        db.execute("INSERT INTO outcomes VALUES (999, 0, 'cart', '', 1, 1)")
    assert check_store(tmp_path / "shop.db") == ["1 outcomes of pages without a row"]


@pytest.mark.parametrize("damage", ["place = 99", "place = 'x'"])
def test_an_outcome_of_no_document_is_a_complaint_and_named_by_the_export(tmp_path, damage):
    shop(tmp_path, settings(), True)
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db, db:
        db.execute(f"UPDATE outcomes SET {damage} WHERE page = 3 AND kind = 'purchase'")
    assert check_store(tmp_path / "shop.db") == ["1 outcomes of documents that were not shown"]
    with pytest.raises(InputError, match="page 3 is damaged"):
        export_log(tmp_path / "shop.db", tmp_path / "log.jsonl", events=tmp_path / "events.jsonl")
