"""The answers of each address of the service."""

from __future__ import annotations

import asyncio
import base64
import hmac
import io
import json
import os
import re
import shlex
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from ltr_duel.core import InputError
from ltr_duel.live import StoreError, signing_keys
from ltr_duel.serve import service_settings
from ltr_duel.serve.keys import place_of_keys, read_api_keys
from tests.serve.asgi import KEY, LISTS, Service, using

READ = ("/", "/state")


def test_a_page_is_decided_and_its_clicks_are_counted(tmp_path):
    async def story(service):
        page = await service.decide()
        assert set(page) == {"page", "token", "expires", "rankers", "served", "total"}
        assert (page["served"], page["total"]) == ("experiment", len(page["page"]))
        assert len(page["rankers"]) == 2
        assert set(page["page"]) <= {one for name in page["rankers"] for one in LISTS[name]}
        assert page["expires"] == service.clock.now + 1800
        said = await service.clicks(page["token"], page["page"][:1])
        assert (said.status, said.json) == (200, {"recorded": True})
        return (await service.call("GET", "/state")).json

    state = using(Service(tmp_path), story)
    assert (state["pages"], state["clicked"], state["open"], state["steps"]) == (1, 1, 0, 1)


def test_the_search_that_the_page_makes_with_curl_is_answered(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
    [line] = re.findall(r"^ *curl .*/decide .*$", page, re.M)
    _, url, _, key, _, header, _, body = shlex.split(line.replace("$(cat examples/api.key)", KEY))
    headers = dict(one.split(": ") for one in (key, header))

    async def story(service):
        said = await service.call("POST", "/" + url.rpartition("/")[2], body.encode(), headers=headers)
        assert said.status == 200 and said.json["served"] == "experiment"

    using(Service(tmp_path, rankers=("words", "titles", "newest")), story)


def test_ids_that_are_numbers_come_back_as_numbers(tmp_path):
    lists = {"bm25": [1, 2, 3], "dense": [3, 2], "mixed": [2, 9]}

    async def story(service):
        page = await service.decide(lists=lists)
        assert {type(one) for one in page["page"]} == {int}
        assert (await service.clicks(page["token"], page["page"][:1])).status == 200

    using(Service(tmp_path), story)


def test_an_experiment_goes_on_after_a_restart(tmp_path):
    async def first(service):
        return await service.decide()

    async def second(service):
        assert (await service.clicks(page["token"], [])).status == 200
        return (await service.call("GET", "/state")).json

    page = using(Service(tmp_path), first)
    state = using(Service(tmp_path), second)
    assert (state["pages"], state["unclicked"], state["open"]) == (1, 1, 0)


def test_only_who_brings_a_key_is_answered(tmp_path):
    as_password = base64.b64encode(f"anybody:{KEY}".encode()).decode()

    async def story(service):
        for path in READ:
            said = await service.call("GET", path, headers={"authorization": ""})
            assert said.status == 401 and "Bearer" in said.headers["www-authenticate"]
            for header in (f"Bearer {KEY}x", f"Basic {KEY}", "Bearer", "Bearer ", KEY, "Basic !!", "\xff"):
                assert (await service.call("GET", path, headers={"authorization": header})).status == 401
            for header in (f"Bearer {KEY}", f"bearer  {KEY}", f"Basic {as_password}"):
                assert (await service.call("GET", path, headers={"authorization": header})).status == 200
        for path, given in (("/decide", {"query": "q", "rankings": LISTS}), ("/switch", {"switch": "pause"})):
            assert (await service.call("POST", path, given, headers={"authorization": f"Bearer {KEY}x"})).status == 401
            assert (await service.call("POST", path, given)).status == 200
        for path in ("/health", "/ready"):
            assert (await service.call("GET", path, headers={"authorization": ""})).status == 200
        assert service.experiment.pages == 1

    using(Service(tmp_path, keys=["fedcba9876543210", KEY]), story)


def test_no_text_of_the_store_reaches_a_client(tmp_path, monkeypatch):
    """The snapshot is damaged after the start, and the experiment is then reloaded from the store."""
    monkeypatch.setattr("ltr_duel.live.running._PAUSE", 0.0)

    async def story(service):
        page = await service.decide()
        experiment, said = service.experiment, []
        file = io.BytesIO()
        np.savez(file, **experiment._actions.memory.snapshot().arrays | {"policy": np.array(["tulips"])})
        row = (1, 0, 0, file.getvalue(), "[]")
        experiment._store._db.execute("INSERT INTO snapshot VALUES (?, ?, ?, ?, ?)", row)
        for ask in (
            lambda: service.clicks(page["token"], []),
            lambda: service.call("GET", "/state"),
            lambda: service.call("POST", "/decide", {"query": "q", "rankings": LISTS}),
        ):
            experiment._actions = None
            said.append(await ask())
        with pytest.raises(StoreError, match="tulips"):  # the operator sees this text
            experiment.expire()
        return said

    service = Service(tmp_path)
    said = using(service, story)
    assert not [one for one in said if b"tulips" in one.body] and "tulips" not in service.log.getvalue()
    assert [one.status for one in said] == [503, 503, 200]


async def until_ready(service, status=200):
    """Wait until the readiness check of the service has this status."""
    for _ in range(500):
        await asyncio.sleep(0.02)
        if (await service.call("GET", "/ready")).status == status:
            return
    pytest.fail(f"/ready does not answer {status}")


def test_a_store_that_is_moved_away_is_noticed_without_a_request(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.live.running._PAUSE", 0.0)
    monkeypatch.setattr("ltr_duel.serve.app._EVERY", 0.02)

    async def story(service):
        page = await service.decide()
        (tmp_path / "live.db").rename(tmp_path / "elsewhere")
        await until_ready(service, 503)
        away = await service.decide()
        assert (away["served"], away["rankers"], away["page"]) == ("away", ["bm25"], LISTS["bm25"])
        assert (await service.clicks(away["token"], ["a"])).status == 200
        assert (await service.clicks(page["token"], [])).status == 503
        (tmp_path / "elsewhere").rename(tmp_path / "live.db")
        await until_ready(service)
        assert (await service.clicks(page["token"], [])).status == 200
        assert (await service.decide())["served"] == "experiment"
        lines = [json.loads(line) for line in service.log.getvalue().splitlines()]
        why, again = [line["message"] for line in lines if line["event"] == "store"]
        assert "moved away" in why and again == "the store can be written again"

    using(Service(tmp_path), story)


def test_a_service_whose_store_cannot_be_written_is_not_ready_and_says_so_until_it_can(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.live.running._PAUSE", 0.0)
    monkeypatch.setattr("ltr_duel.serve.app._EVERY", 0.02)

    async def story(service):
        assert (await service.call("GET", "/ready")).json == {"status": "ready"}
        db = service.experiment._store._db
        db.execute("PRAGMA query_only = 1")
        assert (await service.decide())["served"] == "away"
        await asyncio.sleep(0.1)
        said = await service.call("GET", "/ready")
        assert (said.status, said.json) == (503, {"error": "the store cannot be written"})
        assert (await service.call("GET", "/health")).status == 200
        db.execute("PRAGMA query_only = 0")
        await until_ready(service)
        known = (await service.call("GET", "/state")).json["service"]
        assert known == {"waiting": 0, "failed": 1, "early": 0, "damaged": 0}

    using(Service(tmp_path), story)


def test_a_service_whose_disk_stalls_is_not_ready_until_it_answers(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.serve.worker._STALL", 0.05)
    flows = threading.Event()

    async def story(service):
        answer = service.experiment.answer
        monkeypatch.setattr(service.experiment, "answer", lambda calls: (flows.wait(60), answer(calls))[1])
        search = asyncio.create_task(service.decide())
        await asyncio.sleep(0.2)
        said = await service.call("GET", "/ready")
        assert (said.status, said.json) == (503, {"error": "the store does not respond: its disk is stalled"})
        flows.set()
        assert (await search)["served"] == "experiment"
        assert (await service.call("GET", "/ready")).status == 200

    using(Service(tmp_path), story)


def test_users_are_hashed_before_anything_is_kept(tmp_path):
    async def story(service):
        for user in ("ann", "ann", "bob", ""):
            said = await service.call("POST", "/decide", {"query": "q", "rankings": LISTS, "user": user})
            assert said.status == 200

    using(Service(tmp_path, user_key=bytes(32)), story)
    with closing(sqlite3.connect(tmp_path / "live.db")) as db:
        users = [user for (user,) in db.execute("SELECT user FROM pages ORDER BY page")]
    first = hmac.digest(bytes(32), b"ann", "sha256").hex()[:32]
    assert users[:2] == [first, first] and users[2] not in (first, "bob", None) and users[3] is None
    assert b"ann" not in b"".join(one.read_bytes() for one in tmp_path.glob("live.db*"))


@pytest.mark.skipif(os.name != "posix", reason="files have no modes of that kind there")
def test_a_store_is_for_its_owner_alone(tmp_path):
    async def story(service):
        await service.decide()
        return {one.name: one.stat().st_mode & 0o777 for one in tmp_path.glob("live.db*") if "lock" not in one.name}

    modes = using(Service(tmp_path), story)
    assert set(modes) >= {"live.db", "live.db-wal"} and set(modes.values()) == {0o600}


def test_one_state_is_worked_out_at_a_time_and_serves_all_who_look_meanwhile(tmp_path, monkeypatch):
    import asyncio
    import threading
    import time

    monkeypatch.setattr("ltr_duel.serve.worker._STATE_LASTS", 0.0)
    running, most, made = threading.Semaphore(1), [], []

    async def story(service):
        work = service.experiment.state

        def slowly():
            most.append(running.acquire(blocking=False))
            time.sleep(0.15)
            running.release()
            made.append(1)
            return work()

        monkeypatch.setattr(service.experiment, "state", slowly)
        for _ in range(3):
            looks = [asyncio.create_task(service.call("GET", path)) for path in ("/state", "/") * 3]
            await asyncio.sleep(0.05)
        assert {one.status for one in await asyncio.gather(*looks)} == {200}

    using(Service(tmp_path), story)
    assert all(most) and len(made) <= 2


def test_the_log_holds_no_query_and_no_token(tmp_path):
    async def story(service):
        page = await service.decide("secret words")
        await service.clicks(page["token"], [])
        return page["token"]

    service = Service(tmp_path)
    token = using(service, story)
    lines = [json.loads(line) for line in service.log.getvalue().splitlines()]
    assert [(one["path"], one["status"]) for one in lines] == [("/decide", 200), ("/clicks", 200)]
    assert "secret words" not in service.log.getvalue() and token not in service.log.getvalue()


def test_pages_past_their_deadline_are_closed_without_being_asked(tmp_path, monkeypatch):
    import asyncio

    monkeypatch.setattr("ltr_duel.serve.app._EVERY", 0.01)

    async def story(service):
        page = await service.decide()
        service.clock.now += 1801
        await asyncio.sleep(0.2)
        assert service.experiment.open_pages == 0
        return (await service.clicks(page["token"], [])).status

    assert using(Service(tmp_path), story) == 410


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({"prot": 1}, "no key 'prot'; did you mean 'port'?"),
        ({"port": 70000}, "serve.port: the value must be between 0 and 65535, not 70000"),
        ({"host": "example.org"}, "must be an address such as 127.0.0.1"),
        ({"log": "some"}, "no kind of requests to log 'some'"),
        ({"answer_seconds": float("nan")}, "must be between"),
    ],
)
def test_settings_that_are_not_legal_are_named(table, sentence):
    with pytest.raises(InputError, match=re.escape(sentence)):
        service_settings(table, "live.toml")


def test_a_key_is_made_once_for_its_owner_alone(tmp_path, monkeypatch):
    monkeypatch.delenv("LTR_DUEL_API_KEY", raising=False)
    path = place_of_keys(tmp_path, "")
    [key] = read_api_keys(path)
    assert path == tmp_path / "api.key" and len(key) == 32 and path.stat().st_mode & 0o777 == 0o600
    assert read_api_keys(path) == [key]
    assert read_api_keys(place_of_keys(tmp_path, "other.key")) != [key]


def test_keys_are_read_from_files_and_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_API_KEY", KEY)
    assert place_of_keys(tmp_path, "") is None and read_api_keys(None) == [KEY]
    assert place_of_keys(tmp_path, "keys") == tmp_path / "keys"
    for blank in ("", " ", "\n"):
        monkeypatch.setenv("LTR_DUEL_API_KEY", blank)
        with pytest.raises(InputError, match="LTR_DUEL_API_KEY: contains no API key"):
            read_api_keys(None)
    path = tmp_path / "keys"
    path.write_text(f"{KEY}\n\n  {KEY[::-1]}\n")
    assert read_api_keys(path) == [KEY, KEY[::-1]]
    for content, sentence in (
        (b"", "no API key"),
        (b"short\n", "key 1 must be at least 16"),
        (b"0123456789abcdef write\n", "no space"),
        (b"\xff" * 20, "ASCII"),
        (b"k" * 10**6, "at most 100,000 bytes"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=sentence) as error:
            read_api_keys(path)
        assert "short" not in str(error.value) and "0123456789abcdef" not in str(error.value)
    with pytest.raises(InputError, match="No such file"):
        read_api_keys(tmp_path / "nowhere" / "keys")


def test_a_secret_is_whole_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """Regression: a kill between the two steps left an empty file, and the service could not start again."""
    path, seen = tmp_path / "live.keys", []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (seen.append(path.exists()), sync(handle)))
    made = signing_keys(path)
    assert seen[:2] == [False, True] and list(tmp_path.iterdir()) == [path]
    assert dict(signing_keys(path)) == dict(made)


def test_secrets_that_sign_tokens_are_made_once_and_for_their_owner(tmp_path):
    path = tmp_path / "live.keys"
    made = signing_keys(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert dict(made) == dict(signing_keys(path)) and len(made["first"]) == 32
    with pytest.raises(InputError, match="No such file"):
        signing_keys(tmp_path / "nowhere" / "live.keys")


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b'{"query": 1' + b"0" * 5000 + b"}", "a whole number with too many digits"),
        (
            b'{"query": "q", "limit": 1' + b"0" * 30 + b', "rankings": {}}',
            "'limit' must be a whole number from 1 to 92233",
        ),
        (
            b'{"query": "q", "rankings": {"bm25": ["a"], "densse": ["a"], "mixed": ["b"]}}',
            "lacks 'dense' and has 'densse'",
        ),
    ],
)
def test_a_refusal_names_what_is_wrong(tmp_path, body, sentence):
    async def story(service):
        return await service.call("POST", "/decide", body)

    said = using(Service(tmp_path), story)
    assert said.status == 400 and sentence in said.json["error"]
