"""Malformed, forged, repeated, expired, large and slow requests: the right status, one sentence, nothing changed."""

from __future__ import annotations

import asyncio
import time

import pytest

from ltr_duel.live import Decide, Keys, StoreError
from ltr_duel.serve.worker import Worker
from tests.serve.asgi import LISTS, Service, using
from tests.serve.attacks import attack, malformed, random_attacks, wrong_way


async def unchanged_by(service, attacks):
    """Attack, and check that the state of the experiment is unchanged."""
    before = service.experiment.state().to_json()
    wrong = [complaint for one in attacks if (complaint := await attack(service, one))]
    assert not wrong, "\n".join(wrong[:20])
    assert service.experiment.state().to_json() == before
    assert "Traceback" not in service.log.getvalue()


@pytest.mark.parametrize("attacks", [malformed, wrong_way])
def test_what_cannot_be_understood_is_refused(tmp_path, attacks):
    using(Service(tmp_path, limits={"body_seconds": 0.1}), lambda service: unchanged_by(service, attacks()))


def test_damaged_requests_are_refused(tmp_path):
    async def story(service):
        page = await service.decide()
        await unchanged_by(service, random_attacks(page["token"], page["page"], 200, seed=1))
        assert (await service.clicks(page["token"], page["page"][:1])).status == 200

    using(Service(tmp_path), story)


@pytest.mark.long
def test_ten_thousand_bad_requests_change_nothing(tmp_path):
    async def story(service):
        page = await service.decide()
        fixed = (malformed() + wrong_way()) * 40
        attacks = fixed + random_attacks(page["token"], page["page"], 10_000 - len(fixed), seed=2)
        await unchanged_by(service, attacks)
        assert (await service.clicks(page["token"], page["page"][:1])).status == 200

    using(Service(tmp_path, limits={"body_seconds": 0.02, "log": "none"}), story)


def test_clicks_count_once(tmp_path):
    async def story(service):
        page = await service.decide()
        assert (await service.clicks(page["token"], page["page"][:1])).status == 200
        before = service.experiment.state().to_json()
        for clicks in (page["page"][:1], [], page["page"][1:2]):
            said = await service.clicks(page["token"], clicks)
            assert said.status == 409
        assert service.experiment.state().to_json() == before

    using(Service(tmp_path), story)


def test_clicks_on_what_was_not_shown_are_refused_and_can_be_corrected(tmp_path):
    async def story(service):
        page = await service.decide()
        said = await service.clicks(page["token"], ["nowhere"])
        assert said.status == 400 and "not on the page" in said.json["error"]
        assert (await service.clicks(page["token"], page["page"][:1])).status == 200

    using(Service(tmp_path), story)


def test_clicks_after_the_deadline_are_gone(tmp_path):
    async def story(service):
        page = await service.decide()
        service.clock.now += 1801
        said = await service.clicks(page["token"], page["page"][:1])
        assert said.status == 410
        assert service.experiment.expire() == 1
        return service.experiment.state()

    state = using(Service(tmp_path), story)
    assert (state.clicked, state.expired) == (0, 1)


def test_no_character_of_a_token_can_be_changed(tmp_path):
    async def story(service):
        page = await service.decide()
        token = page["token"]
        for place in range(len(token)):
            other = "A" if token[place] != "A" else "B"
            said = await service.clicks(token[:place] + other + token[place + 1 :], [])
            assert said.status == 403, (place, said)
        for forged in (token[:-1], token + "A", token.upper(), "x" * len(token), token + "\u00e9", token + "\0"):
            assert (await service.clicks(forged, [])).status == 403
        assert (await service.clicks(token, [])).status == 200

    using(Service(tmp_path), story)


def test_a_token_of_another_experiment_or_key_is_none_of_this_one(tmp_path, monkeypatch):
    async def ask(service):
        return (await service.decide())["token"]

    (tmp_path / "other").mkdir()
    (tmp_path / "keys").mkdir()
    foreign = using(Service(tmp_path / "other"), ask)
    monkeypatch.setattr("tests.serve.asgi.KEYS", Keys({"one": bytes(32)}))
    unsigned = using(Service(tmp_path / "keys"), ask)
    monkeypatch.undo()

    async def story(service):
        await service.decide()
        assert [(await service.clicks(token, [])).status for token in (foreign, unsigned)] == [403, 403]
        assert service.experiment.open_pages == 1

    using(Service(tmp_path), story)


def test_pages_that_are_never_reported_do_not_stop_the_service(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.live.actions.MOST_OPEN", 3)

    async def story(service):
        for _ in range(20):
            last = await service.decide()
        assert service.experiment.open_pages == 3
        assert (await service.clicks(last["token"], last["page"][:1])).status == 200
        return service.experiment.counts

    counts = using(Service(tmp_path), story)
    assert (counts.early, counts.expired, counts.clicked) == (17, 17, 1)


@pytest.mark.parametrize("keyed", [False, True])
def test_a_request_that_was_refused_as_too_slow_leaves_no_page(tmp_path, monkeypatch, keyed):
    """One disk wait is too long: the pages of the waiting and of the following requests reach no user."""
    asked = {"query": "q", "rankings": LISTS}

    async def story(service):
        answer, calls = service.experiment.answer, []

        def slowly(given):
            calls.append(len(given))
            if len(calls) == 1:
                time.sleep(1.0)
            return answer(given)

        monkeypatch.setattr(service.experiment, "answer", slowly)
        headers = [{"idempotency-key": f"key {k}"} if keyed else None for k in range(30)]
        first = asyncio.create_task(service.call("POST", "/decide", asked, headers=headers[0]))
        await asyncio.sleep(0.02)
        said = await asyncio.gather(
            first, *(service.call("POST", "/decide", asked, headers=one) for one in headers[1:])
        )
        assert {one.status for one in said} == {503}
        await asyncio.sleep(1.0)
        good = await service.decide()
        assert (await service.clicks(good["token"], good["page"][:1])).status == 200
        return service.experiment.state(), service.experiment.open_pages

    state, open_pages = using(Service(tmp_path, limits={"answer_seconds": 0.2, "body_seconds": 0.2}), story)
    assert (state.compared, state.clicked, state.ties.sum(), open_pages) == (1, 1, 0, 0)
    assert state.pages == 2  # one request was already running


def test_who_asks_while_deadlines_pass_waits_for_some_of_them_only(tmp_path):
    async def story(service):
        for _ in range(20):
            service.experiment.answer([Decide("q", LISTS)] * 100)
        service.clock.now += 1801
        worker = Worker(service.experiment)
        ends = asyncio.create_task(worker.expire())
        await asyncio.sleep(0)
        await worker.ask(Decide("q", LISTS))
        open_then = service.experiment.open_pages
        await ends
        await worker.close()
        return open_then, service.experiment.open_pages

    open_then, open_now = using(Service(tmp_path), story)
    assert open_then > 1000 and open_now == 1


def test_too_many_waiting_requests_are_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.serve.worker._ROOM", 4)
    asked = {"query": "q", "rankings": LISTS}

    async def story(service):
        said = await asyncio.gather(*(service.call("POST", "/decide", asked) for _ in range(20)))
        assert {one.status for one in said} == {200, 503}
        assert service.experiment.pages == sum(one.status == 200 for one in said)

    using(Service(tmp_path), story)


def test_a_store_that_cannot_be_written_is_said_and_nothing_is_lost(tmp_path, monkeypatch):
    async def story(service):
        page = await service.decide()
        before = service.experiment.state().to_json()
        with monkeypatch.context() as full:

            def refuse(calls):
                raise StoreError("the disk is full")

            full.setattr(service.experiment, "answer", refuse)
            said = await asyncio.gather(*(service.clicks(page["token"], []) for _ in range(3)))
            assert [(one.status, one.headers["retry-after"]) for one in said] == [(503, "1")] * 3
        assert service.experiment.state().to_json() == before
        assert (await service.clicks(page["token"], [])).status == 200

    using(Service(tmp_path), story)


def test_an_error_of_its_own_is_logged_and_not_told(tmp_path, monkeypatch):
    async def story(service):
        def fail(calls):
            raise RuntimeError("secret of the house")

        monkeypatch.setattr(service.experiment, "answer", fail)
        said = await service.call("POST", "/decide", {"query": "q", "rankings": LISTS})
        assert said.status == 500 and "secret" not in said.body.decode() and "Runtime" not in said.body.decode()

    service = Service(tmp_path)
    using(service, story)
    assert "secret of the house" in service.log.getvalue()


def test_an_answer_that_takes_too_long_is_not_waited_for(tmp_path, monkeypatch):
    async def story(service):
        answer = service.experiment.answer

        def slowly(calls):
            time.sleep(0.3)
            return answer(calls)

        monkeypatch.setattr(service.experiment, "answer", slowly)
        said = await service.call("POST", "/decide", {"query": "q", "rankings": LISTS})
        assert said.status == 503
        assert (await service.call("GET", "/health")).status == 200

    using(Service(tmp_path, limits={"answer_seconds": 0.05, "body_seconds": 0.05}), story)
