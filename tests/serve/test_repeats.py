"""A report that is repeated with the same key after a lost answer gets the answer to the first report."""

from __future__ import annotations

import asyncio
import threading

import pytest
from starlette.datastructures import Headers

from ltr_duel.live import Decide, Decision, ExpiredError, Record, StoreError
from ltr_duel.serve.repeats import Repeats
from tests.serve.asgi import LISTS, Service, using

KEY = {"idempotency-key": "one"}


def report(service, page, clicks=(), headers=KEY, final=True):
    said = {"token": page["token"], "clicks": list(clicks), "final": final}
    return service.call("POST", "/clicks", said, headers=headers)


def test_a_repeated_report_is_accepted_and_counts_once(tmp_path):
    async def story(service):
        page, other = await service.decide(), await service.decide()
        some = await asyncio.gather(*(report(service, page, page["page"][:1]) for _ in range(3)))
        again = await report(service, page, page["page"][:1])
        assert {one.status for one in [*some, again]} == {200}
        changed = [await report(service, page, page["page"][1:2]), await report(service, other)]
        assert [one.status for one in changed] == [422, 422]
        assert (await report(service, page, page["page"][:1], {"idempotency-key": "two"})).status == 409
        assert (await report(service, other, headers={"idempotency-key": "k" * 101})).status == 400
        return service.experiment.state()

    state = using(Service(tmp_path), story)
    assert (state.clicked, state.unclicked) == (1, 0)


def test_a_repeated_search_has_its_page_and_another_body_is_refused_while_the_experiment_is_paused(tmp_path):
    async def story(service):
        asked = {"query": "q", "rankings": LISTS}

        async def ask(key, **other):
            said = await service.call("POST", "/decide", asked | other, headers={"idempotency-key": key})
            return said.json.get("token", said.status)

        first = await ask("one")
        service.experiment.switch("pause")
        assert [await ask("one"), await ask("one", query="other")] == [first, 422]
        page = await ask("two")
        assert [await ask("two"), await ask("two", query="other")] == [page, 422]
        service.experiment.switch("resume")
        assert await ask("two") == page != first
        said = [await report(service, {"token": page}, clicks) for clicks in ([], ["a"])]
        assert [one.status for one in said] == [200, 422]
        return service.experiment.pages

    assert using(Service(tmp_path), story) == 1


def test_a_key_is_of_one_address(tmp_path):
    async def story(service):
        asked = {"query": "q", "rankings": LISTS}
        page = (await service.call("POST", "/decide", asked, headers=KEY)).json
        event = {"token": page["token"], "events": [{"kind": "cart"}]}
        said = [await service.call("POST", "/events", event, headers=KEY) for _ in range(2)]
        assert [one.status for one in said] == [200, 200]
        assert (await report(service, page)).status == 200
        return service.experiment.state().unclicked

    assert using(Service(tmp_path), story) == 1


def test_a_refused_report_is_tried_again(tmp_path, monkeypatch):
    async def story(service):
        page = await service.decide()
        with monkeypatch.context() as full:

            def refuse(calls):
                raise StoreError("the disk is full")

            full.setattr(service.experiment, "answer", refuse)
            assert (await report(service, page)).status == 503
        service.experiment.try_store()
        return (await report(service, page)).status

    assert using(Service(tmp_path), story) == 200


def test_a_refusal_is_not_kept_nor_does_it_keep_the_requests_beside_it(tmp_path):
    """The traceback of a rejection would keep its whole batch in memory, with all lists of rankers."""

    async def refuse(asked):
        raise ExpiredError("the deadline has passed")

    async def story(service):
        repeats = Repeats(refuse)
        for _ in range(2):
            with pytest.raises(ExpiredError):
                await repeats.answer("/clicks", Headers(KEY), b"", Record("t", []))
        page = await service.decide()
        service.clock.now += 1801
        refused, _ = service.experiment.answer([Record(page["token"], []), Decide("q", LISTS)])
        return repeats._answers, refused.__traceback__

    assert using(Service(tmp_path), story) == ({}, None)


def test_answers_that_are_kept_are_limited_in_bytes(monkeypatch):
    """The latest answers are kept, without a minimum number."""
    monkeypatch.setattr("ltr_duel.serve.repeats._MOST", 10_000)

    async def make(asked):
        return Decision(1, tuple(f"{k}{'x' * 900}" for k in range(2 if asked.query == "large" else 0)), (), "", 0.0)

    async def story():
        repeats, sizes = Repeats(make), []
        for k in range(20):
            await repeats.answer("/decide", Headers({"idempotency-key": f"{k}"}), b"", Decide("large", {}))
            sizes.append(repeats._size)
        kept = len(repeats._answers)
        for k in range(50):
            await repeats.answer("/decide", Headers({"idempotency-key": f"small {k}"}), b"", Decide("small", {}))
        return (
            max(sizes),
            kept,
            len(repeats._answers),
            sum(one.size for one in repeats._answers.values()) == repeats._size,
        )

    most, kept, later, right = asyncio.run(story())
    assert most <= 10_000 and kept == 5 and later == 55 and right


@pytest.mark.parametrize("final", [False, True])
def test_a_report_that_was_refused_as_too_slow_is_kept_once(tmp_path, monkeypatch, final):
    async def story(service):
        page, answer, refused = await service.decide(), service.experiment.answer, threading.Event()

        def slowly(calls):
            refused.wait(60)
            return answer(calls)

        with monkeypatch.context() as slow:
            slow.setattr(service.experiment, "answer", slowly)
            assert (await report(service, page, page["page"][:1], final=final)).status == 503
            refused.set()
        again = await report(service, page, page["page"][:1], final=final)
        service.clock.now += 1801
        service.experiment.expire()
        return again.status, service.experiment.state().clicked

    limits = {"answer_seconds": 1, "body_seconds": 1}
    assert using(Service(tmp_path, limits=limits), story) == (409 if final else 200, 1)
