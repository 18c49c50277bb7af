"""The routes of the service: what they answer, store and refuse."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from pathlib import Path

import pytest

from ltr_duel.live import LivePlan
from tests.live.asgi import KEY, KEYS, LISTS, SEARCH, Service, using

CLICK, VIEW = {"kind": "click"}, {"kind": "view"}


def test_a_search_gets_an_interleaved_page_and_its_click_credits_a_ranker(service):
    async def story(service):
        page = await service.decide()
        assert set(page["page"]) <= {document for name in page["rankers"] for document in LISTS[name]}
        assert len(page["rankers"]) == 2 and page["served"] == "experiment" and page["version"] == 1
        return await service.report(page["token"], {"kind": "click", "document": page["page"][0]})

    def counts(state):
        return state.pages, state.clicked, int(state.wins.sum())

    answer = using_and(service, story, then=counts)
    assert answer == ((200, {"recorded": True}), (1, 1, 1))


def using_and(service, story, *, then):
    """Run a story; return its last answer, and a function of the state after it."""

    async def both(service):
        answer = await story(service)
        return (answer.status, answer.json), then(service.state())

    return using(service, both)


def test_a_repeated_search_and_a_repeated_report_get_the_same_answer_and_count_once(service):
    async def story(service):
        first, again = await service.decide(), await service.decide()
        assert first == again
        events = (
            {"kind": "click", "document": first["page"][0]},
            {"kind": "buy", "document": first["page"][0], "id": "7"},
        )
        await service.report(first["token"], *events)
        return await service.report(first["token"], *events)

    answer, counts = using_and(service, story, then=lambda state: (state.pages, state.clicked, int(state.wins.sum())))
    assert answer == (200, {"recorded": True}) and counts == (1, 1, 1)


@pytest.mark.parametrize(
    "path, body, sentence",
    [
        ("/decide", {"query": "q", "rankings": LISTS}, "the key 'user' is missing"),
        ("/decide", SEARCH | {"user": ""}, "user must not be empty"),
        ("/decide", SEARCH | {"user": 7}, "user must be a string"),
        ("/decide", SEARCH | {"query": None}, "query must be a string"),
        ("/decide", SEARCH | {"query": "\ud800"}, "not valid Unicode"),
        ("/decide", SEARCH | {"sort": 1}, "unknown key 'sort'; valid keys: user, query, rankings"),
        ("/decide", SEARCH | {"rankings": []}, "list of ranker"),
        ("/decide", SEARCH | {"rankings": {**LISTS, "bm25": [], "dense": [], "mixed": []}}, "is empty"),
        ("/decide", SEARCH | {"rankings": {name: ["a", "a"] for name in LISTS}}, "twice"),
        ("/decide", SEARCH | {"rankings": {name: [1.5] for name in LISTS}}, "document id 1.5"),
        ("/decide", SEARCH | {"rankings": dict.fromkeys(LISTS, "abc")}, "list of ranker"),
        ("/decide", SEARCH | {"context": {"device": "phone"}}, "device"),
        ("/decide", SEARCH | {"context": 7}, "context"),
        ("/events", {"token": "x", "events": []}, "not the token"),
        ("/events", {"token": 7, "events": []}, "not the token"),
        ("/control", {"control": "stop"}, "no control 'stop'"),
        ("/control", {"control": "drop", "ranker": "none"}, "no ranker 'none'"),
        ("/control", {"control": "share", "share": "half"}, "'share' must be a number"),
        ("/control", {"control": "resume"}, "changes nothing"),
        ("/control", {"control": "pause", "who": "\ud800"}, "not valid Unicode"),
        ("/control", {"control": "drop", "ranker": "\ud800"}, "no ranker"),
        ("/control", {"control": "\ud800"}, "no control"),
        ("/control", {"control": "pause", "who": "w" * 101}, "at most 100 characters"),
        ("/control", {"control": "pause", "share": 0.5}, "'pause' takes no share"),
        ("/control", {"control": "pause", "ranker": "bm25"}, "'pause' takes no ranker"),
        ("/decide", b"{", "must be a JSON object in UTF-8"),
        ("/decide", b"\xff", "must be a JSON object in UTF-8"),
        ("/decide", b"[" * 100_000, "must be a JSON object in UTF-8"),
        ("/decide", [1], "must be a JSON object"),
    ],
)
def test_an_invalid_request_gets_one_sentence_and_stores_nothing(service, path, body, sentence):
    async def story(service):
        return await service.call(path, body)

    (status, said), pages = using_and(service, story, then=lambda state: state.pages)
    assert status in (400, 403) and list(said) == ["error"] and sentence in said["error"]
    assert pages == 0


@pytest.mark.parametrize(
    "event, sentence",
    [
        ({}, "'kind'"),
        ({"kind": "Click!"}, "'kind'"),
        ({"kind": "click", "document": "unseen"}, "is not on the page"),
        ({"kind": "click", "value": "7"}, "'value'"),
        ({"kind": "buy", "id": 7}, "'id'"),
        ({"kind": "click", "rank": 1}, "no key 'rank'"),
        ("click", "an event is an object"),
    ],
)
def test_an_invalid_event_is_refused_with_its_whole_report(service, event, sentence):
    async def story(service):
        page = await service.decide()
        return await service.report(page["token"], VIEW, event)

    (status, said), seen = using_and(service, story, then=lambda state: state.pages - state.unseen)
    assert status == 400 and sentence in said["error"]
    assert seen == 0


def test_a_token_of_another_page_key_or_experiment_is_forbidden(service, tmp_path):
    async def story(service):
        token = (await service.decide())["token"]
        key, impression, mac = token.split(".")
        other = f"{key}.{impression[:-1]}{'0' if impression[-1] != '0' else '1'}.{mac}"
        unknown = KEYS.token("9-0123456789abcdef")  # signed, but not in this store
        return [(await service.report(wrong, VIEW)).status for wrong in (other, token[:-1] + "x", unknown, "a.b.c")]

    assert using(service, story) == [403, 403, 403, 403]


@pytest.mark.parametrize(
    "header, status",
    [
        ("", 401),
        ("Bearer 0123456789abcdeX", 401),
        ("Basic %%%", 401),
        (f"Bearer {KEY}", 200),
        (f"Basic {base64.b64encode(f'any:{KEY}'.encode()).decode()}", 200),
    ],
)
def test_only_who_sends_the_key_is_answered(service, header, status):
    async def story(service):
        answers = [await service.call("/state", headers={"authorization": header}),
                   await service.call("/decide", SEARCH, headers={"authorization": header})]  # fmt: skip
        health = await service.call("/health", headers={"authorization": header})
        assert (health.status, health.json) == (200, {"status": "ok"})
        return [answer.status for answer in answers]

    assert using(service, story) == [status, status]


@pytest.mark.parametrize(
    "path, method, status",
    [("/nothing", "GET", 404), ("/decide", "GET", 405), ("/state", "POST", 405), ("/decide/", "POST", 404)],
)
def test_other_addresses_and_methods_are_refused(service, path, method, status):
    async def story(service):
        return await service.call(path, {} if method == "POST" else None)

    assert using_and(service, story, then=lambda state: state.pages)[0][0] == status


def test_controls_apply_at_once_and_one_key_may_end_the_experiment(service):
    async def story(service):
        assert (await service.call("/state")).json["used"] == []  # a state that must not be shown again
        paused = await service.call("/control", {"control": "pause", "who": "Ann"})
        served = [(await service.decide())["served"]]
        await service.call("/control", {"control": "winner", "ranker": "dense"})
        page = await service.decide()
        await service.call("/control", {"control": "end"})
        served += [page["served"], (await service.decide())["served"]]
        return paused.json["mode"], served, page, (await service.call("/state")).json["used"]

    mode, served, page, used = using(service, story)
    assert mode == "paused" and served == ["paused", "winner", "ended"]
    assert page["page"] == LISTS["dense"] and page["rankers"] == ["dense"]
    assert [(control["action"], control["who"]) for control in used] == [
        ("pause", "Ann"),
        ("winner", "HTTP"),
        ("end", "HTTP"),
    ]


def test_a_machine_that_has_the_plan_decides_as_the_service_does(service):
    async def story(service):
        plan = LivePlan.from_json((await service.call("/plan")).body.decode(), KEYS)
        for k in range(20):
            page = await service.decide(f"u{k}")
            assert plan.decide(f"u{k}", "shoes", LISTS).page == tuple(page["page"])
        return plan.version

    assert using(service, story) == 1


def test_the_service_learns_while_it_runs(tmp_path):
    async def story(service):
        for k in range(10):
            page = await service.decide(f"u{k}")
            await service.report(page["token"], VIEW)
        service.now += 61
        for _ in range(100):
            await asyncio.sleep(0.05)
            if (state := service.experiment.state()).version == 2:
                return state.compared, (await service.decide("u0"))["version"]

    service = Service(tmp_path, window=60, batch=10)
    assert using(service, story) == (10, 2)


def test_metrics_count_answers_and_pages(service):
    async def story(service):
        await service.decide()
        await service.call("/decide", SEARCH | {"user": ""})
        await service.call("/wp-login.php")
        return (await service.call("/metrics")).body.decode().splitlines()

    lines = using(service, story)
    assert 'ltr_duel_answers_total{path="/decide",status="200"} 1.0' in lines
    assert 'ltr_duel_answers_total{path="/decide",status="400"} 1.0' in lines
    assert 'ltr_duel_answers_total{path="other",status="404"} 1.0' in lines
    assert 'ltr_duel_pages{kind="waiting"} 1.0' in lines


def test_one_state_is_computed_for_all_who_ask_within_a_second(service, monkeypatch):
    computed, state = [], service.experiment.state
    monkeypatch.setattr(service.experiment, "state", lambda: computed.append(1) or state())

    async def story(service):
        answers = await asyncio.gather(*(service.call(path) for path in ("/state", "/", "/metrics", "/state")))
        return [answer.status for answer in answers]

    assert using(service, story) == [200] * 4 and len(computed) == 1


def test_each_body_of_the_documentation_is_answered_with_the_documented_keys(tmp_path):
    text = (Path(__file__).resolve().parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    examples = re.findall(r"```http\nPOST (\S+)\n(\{.*?\})\n\n200\n(\{.*?\})\n```", text, flags=re.S)
    assert [path for path, *_ in examples] == ["/decide", "/events", "/control"]

    async def story(service):
        token = ""
        for path, body, documented in examples:
            sent = json.loads(body)
            answer = await service.call(path, sent | ({"token": token} if "token" in sent else {}))
            assert answer.status == 200, answer.body
            assert list(answer.json) == list(json.loads(documented))
            token = answer.json.get("token", token)
        return service.state()

    state = using(Service(tmp_path, rankers=("words", "titles", "newest"), credit="purchase"), story)
    assert (state.pages, state.clicked, state.controls.share) == (1, 1, 0.5)
