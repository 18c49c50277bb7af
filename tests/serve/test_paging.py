"""Pages in parts over HTTP: by the user, by the token, and rejected requests."""

from __future__ import annotations

import asyncio
import time

import pytest

from ltr_duel.client import Client, Shown
from ltr_duel.live import Decide
from ltr_duel.serve.worker import Worker
from tests.serve.asgi import LISTS, Service, using
from tests.serve.test_client import server  # noqa: F401 -- a fixture

ASKED = {"query": "q", "rankings": LISTS, "user": "ann"}


async def ask(service, **more):
    said = await service.call("POST", "/decide", ASKED | more)
    assert said.status == 200, said.body
    return said.json


def test_a_reload_has_the_same_page_and_later_parts_continue_it(tmp_path):
    async def story(service):
        whole = await ask(service)
        parts = [await ask(service, offset=k, limit=2) for k in (0, 2, 4)]
        by_token = [await ask(service, offset=k, limit=2, user="", token=whole["token"]) for k in (0, 2, 4)]
        assert [one for part in parts for one in part["page"]] == whole["page"][:6] and parts == by_token
        assert await ask(service) == whole and whole["total"] == len(whole["page"])
        last = parts[1]
        for final in (False, True):
            given = {"token": last["token"], "clicks": last["page"][:1], "final": final}
            assert (await service.call("POST", "/clicks", given)).status == 200
        own = {"rankings": {"bm25": LISTS["bm25"]}}
        assert (await ask(service, offset=2, limit=2, **own))["page"] == last["page"]
        assert (await service.call("POST", "/decide", ASKED | own | {"user": "bob"})).status == 400
        later = await ask(service, user="bob", offset=2, **own)
        assert (later["page"], later["served"]) == (LISTS["bm25"][2:], "later")
        return (await service.call("GET", "/state")).json

    state = using(Service(tmp_path, sticky=60), story)
    assert (state["pages"], state["clicked"]) == (1, 1)


@pytest.mark.parametrize(
    "wrong, status",
    [
        ({"offset": -1}, 400),
        ({"offset": True}, 400),
        ({"offset": 1.0}, 400),
        ({"offset": 10**30}, 400),
        ({"offset": None}, 400),
        ({"limit": 0}, 400),
        ({"limit": "5"}, 400),
        ({"limit": None}, 400),
        ({"token": 5}, 400),
        ({"token": "x" * 1001}, 400),
        ({"token": "v1.one.AAAA.AAAA"}, 403),
        ({"page": 2}, 400),
    ],
)
def test_a_part_that_there_cannot_be_is_refused_in_a_sentence(tmp_path, wrong, status):
    async def story(service):
        said = await service.call("POST", "/decide", ASKED | wrong)
        assert "\n" not in said.json["error"] and service.experiment.pages == 0
        return said.status

    assert using(Service(tmp_path, sticky=60), story) == status


def test_while_the_store_is_away_a_later_part_is_of_the_incumbents_list(tmp_path):
    async def story(service):
        first = await ask(service)
        (tmp_path / "live.db").rename(tmp_path / "elsewhere")
        part = await ask(service, offset=1, limit=2, token=first["token"])
        (tmp_path / "elsewhere").rename(tmp_path / "live.db")
        return part["page"], part["served"]

    assert using(Service(tmp_path, sticky=60), story) == (LISTS["bm25"][1:3], "away")


def test_the_client_continues_a_fallback_by_a_fallback(server):  # noqa: F811
    with Client(server.url, "bm25", deadline=30, top=3) as client:
        assert client.decide("q", LISTS, "ann", token="t", offset=10, limit=5).served == "experiment"
        shown = [client.decide("q", LISTS, "ann", token="", offset=1, limit=5), client.decide("q", LISTS, offset=1)]
    assert shown == [Shown(("b", "c"), "", ("bm25",), "fallback", "the search continues a fallback", 3)] * 2
    assert len(server.keys) == 1


def test_the_client_asks_for_a_later_part_by_the_user_alone(server):  # noqa: F811
    with Client(server.url, "bm25", deadline=30) as client:
        assert client.decide("q", LISTS, "ann", offset=1, limit=5).served == "experiment"
    assert len(server.keys) == 1


async def abandoned(service, monkeypatch, user):
    """Simulate a user who leaves while a search is being processed; return the worker."""
    answer, begun, loop = service.experiment.answer, asyncio.Event(), asyncio.get_running_loop()

    def slowly(calls):
        loop.call_soon_threadsafe(begun.set)
        time.sleep(0.1)
        return answer(calls)

    monkeypatch.setattr(service.experiment, "answer", slowly)
    worker = Worker(service.experiment)
    late = asyncio.create_task(worker.ask(Decide("q", LISTS, user)))
    await begun.wait()
    late.cancel()
    return worker


@pytest.mark.parametrize("user, left", [("ann", 1), ("bob", 1)])
def test_a_reload_whose_answer_came_too_late_leaves_the_page_open(tmp_path, monkeypatch, user, left):
    """An undelivered new page (Bob's) is closed without an outcome; an earlier delivered page stays open."""

    async def story(service):
        await ask(service)
        worker = await abandoned(service, monkeypatch, user)
        await worker.close()
        return service.experiment.open_pages

    assert using(Service(tmp_path, sticky=60), story) == left


def test_a_search_behind_a_page_that_was_not_delivered_has_a_new_one(tmp_path, monkeypatch):
    """The page of the first search is dropped; the user's next search, which is waiting, gets a different page."""

    async def story(service):
        worker = await abandoned(service, monkeypatch, "ann")
        shown = await worker.ask(Decide("q", LISTS, "ann"))
        again = await worker.ask(Decide("q", LISTS, "ann"))
        await worker.close()
        return shown.page, again.page, service.experiment.open_pages

    assert using(Service(tmp_path, sticky=60), story) == (2, 2, 1)


def test_while_a_winner_is_served_page_two_needs_the_incumbents_list_alone(tmp_path):
    async def story(service):
        first = await ask(service, limit=2)
        service.experiment.switch("winner", ranker="dense")
        own = {"rankings": {"bm25": LISTS["bm25"]}}
        known = await ask(service, offset=2, limit=2, token=first["token"], **own)
        assert known["token"] == first["token"] and not set(known["page"]) & set(first["page"])
        assert (await service.call("POST", "/decide", ASKED | own)).status == 400
        unknown = [await ask(service, offset=1, **more) for more in (own, {})]
        return [(one["page"], one["served"]) for one in unknown]

    assert using(Service(tmp_path, policy="random"), story) == [
        (LISTS["bm25"][1:], "later"),
        (LISTS["dense"][1:], "winner"),
    ]
