"""Outcomes over HTTP: graded outcomes in '/clicks', late outcomes in '/events'."""

from __future__ import annotations

import asyncio

import pytest

from ltr_duel.client import Client
from ltr_duel.live import StoreError
from tests.serve.asgi import LISTS, Service, using
from tests.serve.test_client import server  # noqa: F401 -- a fixture


def outcomes_of(service):
    return service.experiment._store._db.execute("SELECT page, place, kind, value FROM outcomes").fetchall()


def test_graded_outcomes_come_with_the_clicks_and_late_ones_afterwards(tmp_path):
    async def story(service):
        page = await service.decide()
        first, second = page["page"][:2]
        said = await service.clicks(page["token"], [first, {"document": second, "kind": "cart", "value": 2.5}])
        assert (said.status, said.json) == (200, {"recorded": True})
        late = {"token": page["token"], "events": [{"kind": "purchase", "document": first, "value": 30}]}
        said = [await service.call("POST", "/events", late) for _ in range(2)]
        assert {one.status for one in said} == {200}
        assert (await service.clicks(page["token"], [])).status == 409
        state = (await service.call("GET", "/state")).json
        assert (state["clicked"], state["pages"]) == (1, 1)
        return outcomes_of(service)

    assert using(Service(tmp_path), story) == [(1, 0, "purchase", 30.0), (1, 1, "cart", 2.5)]


@pytest.mark.parametrize(
    "events, status",
    [
        ("purchase", 400),
        (["d1"], 400),
        ([5], 400),
        ([None], 400),
        ([{"kind": "purchase", "document": "none"}], 400),
        ([{"kind": "purchase", "document": None}], 400),
        ([{"kind": "purchase", "document": {"a": 1}}], 400),
        ([{"kind": "purchase", "value": 1e300}], 400),
        ([{"kind": "purchase", "value": "1"}], 400),
        ([{"kind": "DROP TABLE outcomes"}], 400),
        ([{"kind": "purchase"}] * 201, 400),
        ([{"kind": "purchase", "id": "x" * 101}], 400),
        ([{"kind": "purchase", "value": [[[]]]}], 400),
        ([], 200),
    ],
)
def test_events_that_there_cannot_be_are_refused_in_a_sentence(tmp_path, events, status):
    async def story(service):
        page = await service.decide()
        said = await service.call("POST", "/events", {"token": page["token"], "events": events})
        assert status == 200 or "\n" not in said.json["error"]
        assert outcomes_of(service) == [] and service.experiment.open_pages == 1
        return said.status

    assert using(Service(tmp_path), story) == status


def test_events_need_a_key_and_a_token_of_this_experiment(tmp_path):
    async def story(service):
        given = {"token": "v1.one.AAAA.AAAA", "events": [{"kind": "purchase"}]}
        without = await service.call("POST", "/events", given, headers={"authorization": ""})
        return without.status, await service.call("POST", "/events", given)

    status, said = using(Service(tmp_path), story)
    assert (status, said.status) == (401, 403) and "not signed" in said.json["error"]


def test_events_of_a_page_outside_of_the_experiment_are_accepted_and_not_kept(tmp_path):
    async def story(service):
        service.experiment.switch("pause")
        page = await service.decide()
        late = {"token": page["token"], "events": [{"kind": "purchase"}]}
        assert (await service.call("POST", "/events", late)).status == 200
        return outcomes_of(service)

    assert using(Service(tmp_path), story) == []


def test_the_client_reports_events(server):  # noqa: F811
    with Client(server.url, "bm25", deadline=30) as client:
        server.ways = [200, 410]
        assert [client.events("t", [{"kind": "purchase"}], deadline=30) for _ in range(2)] == [True, False]
        assert not client.events("", [{"kind": "purchase"}])


def test_a_context_comes_with_the_search(tmp_path):
    async def story(service):
        asked = {"query": "q", "rankings": LISTS}
        given = [{"device": "phone"}, {"colour": "red"}, {"device": 5}, ["phone"], {"device": "x" * 101}]
        said = [await service.call("POST", "/decide", {**asked, "context": one}) for one in given]
        return [one.status for one in said], service.experiment.pages

    assert using(Service(tmp_path, context=("device",)), story) == ([200, 400, 400, 400, 400], 1)


@pytest.mark.parametrize("days", [2, 200])
def test_a_service_forgets_what_is_older_than_its_settings_say_and_says_where_it_doubts_the_clock(
    tmp_path, monkeypatch, days
):
    monkeypatch.setattr("ltr_duel.serve.app._EVERY", 0.02)

    async def story(service):
        asked = {"query": "secret words", "rankings": LISTS, "user": "ann"}
        assert (await service.call("POST", "/decide", asked)).status == 200
        service.clock.now += days * 86_400
        await asyncio.sleep(0.5)
        return service.experiment._store._db.execute("SELECT query, user FROM pages").fetchone()

    service = Service(tmp_path, keep_days=1, deadline=1e6)
    monkeypatch.setattr("ltr_duel.serve.app._DAILY", 0.02)
    query, user = using(service, story)
    if days == 2:
        assert query == "" and user.startswith("forgotten-") and '"forgotten", "pages": 1' in service.log.getvalue()
    else:
        assert user == "ann" and "the clock is days ahead of the previous check" in service.log.getvalue()


@pytest.mark.parametrize("task", ["expire", "retain"])
def test_a_store_that_fails_while_pages_are_closed_or_forgotten_is_logged(tmp_path, monkeypatch, task):
    monkeypatch.setattr("ltr_duel.serve.app._EVERY", 0.02)

    def full(*_):
        raise StoreError(f"{task}: the disk is full")
        yield

    async def story(service):
        monkeypatch.setattr(service.experiment, task, full if task == "retain" else lambda *_: next(full()))
        await asyncio.sleep(0.3)

    service = Service(tmp_path, keep_days=1)
    using(service, story)
    assert f"{task}: the disk is full" in service.log.getvalue()
    assert "the store can be written again" in service.log.getvalue()
