"""The routes of the service: what they answer, store and refuse."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import threading
import time
from pathlib import Path

import pytest

from ltr_duel.live import LivePlan, StoreError
from tests.live.asgi import KEY, KEYS, LISTS, SEARCH, Service, using

CLICK, VIEW = {"kind": "click"}, {"kind": "view"}


@pytest.fixture
def service(tmp_path):
    """Return a new service."""
    return Service(tmp_path)


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


@pytest.mark.parametrize(
    "body, headers, status",
    [
        ((b"x" * 600, b"x" * 600), {}, 413),
        (b"{}", {"content-type": "text/plain"}, 415),
        (b"{}", {"content-type": ""}, 415),
    ],
)
def test_a_large_body_or_one_that_is_not_json_ends_the_connection(tmp_path, body, headers, status):
    async def story(service):
        return await service.call("/decide", body, headers=headers)

    answer = using(Service(tmp_path, limits={"largest_body": 1000}), story)
    assert answer.status == status and answer.headers["connection"] == "close"


def test_the_limit_of_an_answer_includes_the_time_of_its_body(tmp_path):
    async def story(service):
        began = time.perf_counter()
        answer = await service.call("/decide", (b"{", b" ", b" "), pause=0.2)
        return answer, time.perf_counter() - began

    answer, seconds = using(Service(tmp_path, limits={"answer_seconds": 0.3}), story)
    assert answer.status == 503 and "took too long" in answer.json["error"] and answer.headers["retry-after"] == "1"
    assert 0.3 <= seconds < 0.6  # not the sum of two limits


def test_a_stalled_disk_gets_503_at_the_limit_and_the_page_that_nobody_saw_does_not_count(tmp_path):
    service, disk = Service(tmp_path, limits={"answer_seconds": 0.2}), threading.Event()
    answer = service.experiment.answer
    service.experiment.answer = lambda calls: (disk.wait(), answer(calls))[1]

    async def story(service):
        began = time.perf_counter()
        late = await service.call("/decide", SEARCH)
        seconds = time.perf_counter() - began
        disk.set()
        page = await service.decide()  # the same user returns
        await service.report(page["token"], {"kind": "click", "document": page["page"][0]})
        return late.status, seconds, service.state()

    status, seconds, state = using(service, story)
    assert status == 503 and 0.2 <= seconds < 0.5
    assert (state.pages, int(state.first_wins.sum()), int(state.first_ties.sum())) == (1, 1, 0)


def test_calls_that_wait_for_the_disk_share_its_next_transaction(service):
    batches, answer = [], service.experiment.answer

    def slow(calls):
        batches.append(len(calls))
        time.sleep(0.02)
        return answer(calls)

    service.experiment.answer = slow

    async def story(service):
        first = asyncio.create_task(service.decide("first"))
        await asyncio.sleep(0.01)
        return [await first, *await asyncio.gather(*(service.decide(f"u{k}") for k in range(20)))]

    pages = using(service, story)
    assert batches == [1, 20] and len({page["token"] for page in pages}) == 21


def test_one_invalid_call_harms_no_other_of_its_transaction(service):
    async def story(service):
        calls = [service.call("/decide", SEARCH | {"user": user}) for user in ("u1", "u2", "", "u3")]
        return [answer.status for answer in await asyncio.gather(*calls)]

    assert using(service, story) == [200, 200, 400, 200]


def test_too_many_waiting_requests_are_refused_at_once(service, monkeypatch):
    monkeypatch.setattr("ltr_duel.live.app._MOST_WAITING", 3)
    disk, answer = threading.Event(), service.experiment.answer
    service.experiment.answer = lambda calls: (disk.wait(), answer(calls))[1]

    async def story(service):
        calls = list[asyncio.Task]()
        for k in range(6):
            calls.append(asyncio.create_task(service.call("/decide", SEARCH | {"user": f"u{k}"})))
            await asyncio.sleep(0.02)
        refused, health = [task.result().status for task in calls if task.done()], await service.call("/health")
        disk.set()
        return refused, health.status, [(await task).status for task in calls].count(200)

    assert using(service, story) == ([503, 503], 503, 4)  # one call is in the transaction, three wait


def test_when_the_store_cannot_be_written_calls_and_health_say_so(service, monkeypatch, caplog):
    monkeypatch.setattr("ltr_duel.live.app._BROKEN_SECONDS", 0.2)
    answer = service.experiment.answer

    def fail(calls):
        raise StoreError("the store cannot be written now: disk full")

    async def story(service):
        service.experiment.answer = fail
        refused = [await service.call("/decide", SEARCH) for _ in range(3)]
        health = [(await service.call("/health")).status]
        service.experiment.answer = answer
        await asyncio.sleep(0.3)
        await service.decide()
        return refused[-1], [*health, (await service.call("/health")).status]

    refused, health = using(service, story)
    assert refused.status == 503 and "disk full" in refused.json["error"] and refused.headers["retry-after"] == "1"
    assert health == [503, 200] and caplog.text.count("disk full") == 1  # not a line for each request


def test_an_unexpected_error_tells_no_details(service, monkeypatch):
    monkeypatch.setattr(service.experiment, "state", lambda: 1 / 0)

    async def story(service):
        return await service.call("/state")

    answer = using(service, story)
    assert answer.status == 500 and answer.json == {"error": "internal error of the service; see its log"}


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
