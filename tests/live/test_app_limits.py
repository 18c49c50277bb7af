"""What the service does with slow bodies, a slow or broken store, and more requests than it can answer."""

from __future__ import annotations

import asyncio
import threading

import pytest

from ltr_duel.live import StoreError
from tests.live.asgi import SEARCH, Service, using


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
        return await service.call("/decide", (b"{", b" ", b" "), pause=0.2)  # each part comes before the limit

    answer = using(Service(tmp_path, limits={"answer_seconds": 0.3}), story)
    assert answer.status == 503 and "took too long" in answer.json["error"] and answer.headers["retry-after"] == "1"


def test_a_stalled_disk_gets_503_at_the_limit_and_the_page_that_nobody_saw_does_not_count(tmp_path):
    service, disk = Service(tmp_path, limits={"answer_seconds": 0.2}), threading.Event()
    answer = service.experiment.answer
    service.experiment.answer = lambda calls: (disk.wait(), answer(calls))[1]

    async def story(service):
        late = await service.call("/decide", SEARCH)
        disk.set()
        service.app._seconds = 60  # a slow machine may not fail the calls below
        page = await service.decide()  # the same user returns
        await service.report(page["token"], {"kind": "click", "document": page["page"][0]})
        return late.status, service.state()

    status, state = using(service, story)
    assert status == 503
    assert (state.pages, int(state.first_wins.sum()), int(state.first_ties.sum())) == (1, 1, 0)


def test_calls_that_wait_for_the_disk_share_its_next_transaction(service):
    batches, disk, answer = [], threading.Event(), service.experiment.answer
    service.experiment.answer = lambda calls: (batches.append(len(calls)), disk.wait(), answer(calls))[2]

    async def story(service):
        first = asyncio.create_task(service.decide("first"))
        while not batches:
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(service.decide(f"u{k}")) for k in range(20)]
        await asyncio.sleep(0.05)  # all of them wait
        disk.set()
        return [await first, *await asyncio.gather(*others)]

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
