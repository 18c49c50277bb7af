"""Simulated users behind HTTP."""

from __future__ import annotations

import asyncio
import json

import numpy as np
import pytest

from ltr_duel.core import InputError, stream
from ltr_duel.replay import SimulatedUsers, replay
from ltr_duel.replay.client import Address, Answer, Connection, address_of
from ltr_duel.replay.replaying import Replay
from tests.conftest import random_rankings

PAGE = {"page": [3, 1, 0], "token": "t", "expires": 1.0, "rankers": ["ranker 0", "ranker 1"]}


def users(seed=0):
    return SimulatedUsers(random_rankings(2, n_queries=5, n_docs=6, grades=3), "perfect", top=3, seed=seed)


class Scripted:
    """A connection with scripted answers that records the requests."""

    def __init__(self, *answers):
        self.answers, self.sent, self.closed = list(answers), [], 0

    async def post(self, path, body):
        self.sent.append((path, json.loads(body)))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        status, said = answer
        return Answer(status, json.dumps(said).encode())

    def close(self):
        self.closed += 1


def run(connection, steps=1, lost=0.0):
    return asyncio.run(Replay(users(), lambda: connection, steps, lost, np.random.default_rng(0)).all(1))


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:8080", ("127.0.0.1", 8080)),
        ("http://localhost/", ("127.0.0.1", 80)),
        ("http://[::1]:81", ("::1", 81)),
        ("http://127.9.9.9", ("127.9.9.9", 80)),
        ("https://127.0.0.1", ("127.0.0.1", 443, True)),
        ("https://localhost:8443", ("localhost", 8443, True)),
    ],
)
def test_this_machine_may_be_asked(url, address):
    assert address_of(url) == Address(*address)


@pytest.mark.parametrize(
    "url",
    ["http://example.org", "http://192.168.0.1:8080", "http://[fe80::1]", "http://127.0.0.1.example.org", "http://1.1"],
)
def test_other_machines_are_asked_only_with_leave(url):
    with pytest.raises(InputError, match="another machine"):
        replay(users(), url, steps=1)
    assert address_of(url, allow_remote=True).port in (80, 8080)


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1:8080", "ftp://127.0.0.1", "http://", "http://127.0.0.1:x", "http://127.0.0.1:99999",
     "http://127.0.0.1/decide", "http://a@127.0.0.1", "http://127.0.0.1?x=1", "http://[::1"],
)  # fmt: skip
def test_what_is_no_address_of_a_service_is_refused(url):
    with pytest.raises(InputError, match="must have the form"):
        address_of(url)


def test_nobody_there_is_one_sentence():
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(InputError, match=f"no service is available at 127.0.0.1, port {port}"):
        replay(users(), f"http://127.0.0.1:{port}", steps=1)


@pytest.mark.parametrize(
    ("answer", "error", "sentence"),
    [
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 100_000, InputError, "not the service of a live experiment"),
        (b"HTTP/1.1 200 OK\r\n", ConnectionError, "timed out before the answer"),
    ],
)
def test_what_answers_too_much_or_too_little_is_left(monkeypatch, answer, error, sentence):
    monkeypatch.setattr("ltr_duel.replay.client._LONGEST_WAIT", 0.3)

    async def story():
        async def say(reader, writer):
            writer.write(answer)
            await reader.read()
            writer.close()
            await writer.wait_closed()
            ended.set()

        ended = asyncio.Event()
        server = await asyncio.start_server(say, "127.0.0.1", 0)
        connection = Connection(Address("127.0.0.1", server.sockets[0].getsockname()[1]))
        try:
            with pytest.raises(error, match=sentence):
                await connection.post("/decide", b"{}")
        finally:
            connection.close()
            server.close()
            await asyncio.wait_for(ended.wait(), 30)

    asyncio.run(story())


def test_users_click_on_what_they_were_shown():
    connection = Scripted((200, PAGE))
    found = run(connection, steps=20)
    asked = [said for path, said in connection.sent if path == "/decide"]
    reported = [said for path, said in connection.sent if path == "/clicks"]
    assert len(asked) == len(reported) == found.pages == 20
    assert all(set(said["clicks"]) <= set(PAGE["page"]) and said["token"] == "t" for said in reported)
    assert found.clicked == sum(bool(said["clicks"]) for said in reported) > 0
    assert len({said["query"] for said in asked}) > 1
    assert all(sorted(said["rankings"]["ranker 1"]) == list(range(6)) for said in asked)


def test_a_page_of_one_ranker_is_reported_without_clicks_and_its_query_comes_again():
    alone = {**PAGE, "rankers": ["ranker 0"]}
    connection = Scripted((200, alone), (200, {}), (200, alone), (200, {}), (200, PAGE), (200, {}), (200, PAGE))
    found = run(connection, steps=4)
    queries = [said["query"] for path, said in connection.sent if path == "/decide"]
    drawn = stream(0, 0, "queries")
    expected = [str(int(drawn.random() * 5)) for _ in range(2)]
    assert queries == [expected[0]] * 3 + [expected[1]]
    assert found.plain == 2 and next(said for path, said in connection.sent if path == "/clicks")["clicks"] == []


def test_some_pages_are_never_reported():
    connection = Scripted((200, PAGE))
    found = run(connection, steps=200, lost=0.3)
    reports = sum(path == "/clicks" for path, _ in connection.sent)
    assert found.lost == 200 - reports and 30 < found.lost < 90


def test_a_busy_service_is_asked_again_and_a_refusal_ends_it(monkeypatch):
    monkeypatch.setattr("ltr_duel.replay.replaying._PAUSE", 0.0)
    busy = (503, {"error": "too much"})
    found = run(Scripted(busy, busy, (200, PAGE), busy, (200, {})))
    assert (found.pages, found.repeated, found.refused[503, "too much"]) == (1, 3, 3)
    with pytest.raises(InputError, match="refuses /decide with 401: a key is needed"):
        run(Scripted((401, {"error": "a key is needed"})))
    with pytest.raises(InputError, match="503: too much"):
        run(Scripted(busy))


def test_a_report_whose_answer_was_lost_counts_when_it_was_counted(monkeypatch):
    monkeypatch.setattr("ltr_duel.replay.replaying._PAUSE", 0.0)
    used = (409, {"error": "counted already"})
    found = run(Scripted((200, PAGE), ConnectionError("gone"), used))
    assert found.pages == 1 and found.repeated == 1
    with pytest.raises(InputError, match="409"):
        run(Scripted((200, PAGE), used))


@pytest.mark.parametrize("said", [{}, {"page": [99], "token": "t", "expires": 1, "rankers": ["a", "b"]}, [1], "x",
                                  {**PAGE, "page": [0, 1, 2, 3, 4]}, {**PAGE, "page": ["0"]}])  # fmt: skip
def test_what_is_no_page_is_said(said):
    with pytest.raises(InputError, match=r"not the service|documents of another query"):
        run(Scripted((200, said)))
