"""The address of the switches, and pages outside the experiment."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import pytest

from ltr_duel.live import Switch, Switches, switch_store
from tests.serve.asgi import LISTS, Service, using

ASKED = {"query": "q", "rankings": LISTS}


async def switch(service, given):
    return await service.call("POST", "/switch", given)


async def decide(service, asked=ASKED):
    return (await service.call("POST", "/decide", asked)).json


@pytest.mark.parametrize(
    "given, sentence",
    [
        ({}, "the key 'switch' is missing"),
        ({"switch": "stop"}, "no switch 'stop'"),
        ({"switch": 5}, "must be a string"),
        ({"switch": "pause", "ranker": "dense"}, "unknown key 'ranker'"),
        ({"switch": "Winner", "ranker": "dense"}, "no switch 'Winner'; did you mean 'winner'?"),
        ({"switch": "drop"}, "the key 'ranker' is missing"),
        ({"switch": "drop", "ranker": "bm25"}, "is the incumbent"),
        ({"switch": "share"}, "the key 'share' is missing"),
        ({"switch": "share", "share": True}, "must be a number"),
        ({"switch": "share", "share": 2}, "between 0 and 1"),
        ({"switch": "share", "share": 0.9, "holdback": 0.5}, "at most 0.5"),
    ],
)
def test_what_is_no_use_of_a_switch_is_refused_in_a_sentence(tmp_path, given, sentence):
    async def story(service):
        said = await switch(service, given)
        return said, service.experiment.state().switched

    said, used = using(Service(tmp_path), story)
    assert said.status == 400 and sentence in said.json["error"] and used == ()


def test_switches_are_seen_on_the_page_and_in_the_state(tmp_path):
    async def story(service):
        await decide(service)
        await service.call("GET", "/state")  # cached for a second without a switch
        assert (await switch(service, {"switch": "drop", "ranker": "mixed"})).status == 200
        said = await switch(service, {"switch": "share", "share": 0.0, "holdback": 0.1})
        assert said.json == Switches(share=0, holdback=0.1, dropped=("mixed",))._asdict() | {"dropped": ["mixed"]}
        page = await decide(service, {"query": "q", "rankings": {name: LISTS[name] for name in ("bm25", "dense")}})
        assert page["served"] in ("share", "holdback") and page["page"] == LISTS["bm25"]
        seen = [await service.call("GET", path) for path in ("/", "/state")]
        return [one.body.decode() for one in seen]

    page, state = using(Service(tmp_path), story)
    assert "0 of the users are in the experiment; 0.1 held back; dropped: mixed" in page
    assert "drop mixed (HTTP), after page 1" in page and "share 0, holdback 0.1" in page
    known = json.loads(state)
    assert known["switches"]["share"] == 0 and [one["switch"]["what"] for one in known["switched"]] == ["drop", "share"]


def test_paused_a_search_page_needs_the_incumbents_list_alone(tmp_path):
    async def story(service):
        await switch(service, {"switch": "pause"})
        page = await decide(service, {"query": "q", "rankings": {"bm25": ["x", "y"]}})
        assert (page["page"], page["served"], page["rankers"]) == (["x", "y"], "paused", ["bm25"])
        clicked = {"token": page["token"], "clicks": ["x"]}
        assert (await service.call("POST", "/clicks", clicked)).status == 200
        return (await service.call("POST", "/decide", {"query": "q", "rankings": {}})).status

    assert using(Service(tmp_path), story) == 400


def test_a_switch_from_beside_is_logged_and_holds_without_a_request(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.serve.app._EVERY", 0.02)

    async def story(service):
        await decide(service)
        switch_store(tmp_path / "live.db", Switch("pause"))
        await asyncio.sleep(0.2)
        return await decide(service)

    service = Service(tmp_path)
    assert using(service, story)["served"] == "paused"
    (line,) = [line for line in service.log.getvalue().splitlines() if '"switches"' in line]
    assert json.loads(line)["mode"] == "paused"


@pytest.mark.parametrize("how", ["paused", "away"])
def test_the_incumbents_list_is_answered_within_five_milliseconds(tmp_path, monkeypatch, how):
    """The median counts; while the store is not writable, no request waits for it."""

    async def story(service):
        if how == "paused":
            await switch(service, {"switch": "pause"})
        (tmp_path / "live.db").rename(tmp_path / "elsewhere")
        await decide(service)
        seconds = []
        for _ in range(200):
            began = time.perf_counter()
            page = await decide(service)
            seconds.append(time.perf_counter() - began)
            assert page["served"] == how
        (tmp_path / "elsewhere").rename(tmp_path / "live.db")
        return sorted(seconds)[100]

    assert using(Service(tmp_path), story) < 0.005


def test_a_search_is_checked_alike_whether_or_not_it_takes_part(tmp_path):
    wrong = [
        {"context": {"weather": "rain"}},
        {"rankings": LISTS | {"mixed": ["c", "c"]}},
        {"rankings": LISTS | {"mixed": []}},
    ]

    async def story(service):
        said = []
        for use in ("resume", "pause"):
            await switch(service, {"switch": use})
            for one in wrong:
                said += [(await service.call("POST", "/decide", ASKED | one)).status]
        await switch(service, {"switch": "drop", "ranker": "mixed"})
        return said, [(await decide(service, ASKED | one)).get("served") for one in wrong]

    statuses, served = using(Service(tmp_path, policy="random"), story)
    assert statuses == [400] * 6 and served == [None, "paused", "paused"]  # a dropped ranker may no longer exist


def test_a_state_that_was_begun_before_a_switch_is_not_shown_after_it(tmp_path, monkeypatch):
    async def story(service):
        begun, goes_on, state_of = threading.Event(), threading.Event(), service.experiment.state

        def slow():
            found = state_of()
            begun.set()
            goes_on.wait(10)
            return found

        monkeypatch.setattr(service.experiment, "state", slow)
        early = asyncio.create_task(service.call("GET", "/state"))
        await asyncio.to_thread(begun.wait, 10)
        await switch(service, {"switch": "pause"})
        late = asyncio.create_task(service.call("GET", "/state"))
        await asyncio.sleep(0.05)
        goes_on.set()
        return [(await one).json["switches"]["mode"] for one in (early, late)]

    assert using(Service(tmp_path), story)[1] == "paused"
