"""The client keeps its deadline for any behaviour of the service, and a repeated request makes one page."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ltr_duel.client import Client, Shown
from tests.serve.asgi import LISTS, Service, using

ANSWER = (
    b'{"page": ["d"], "token": "t", "rankers": ["bm25", "dense"], "served": "experiment", "recorded": true,'
    b' "error": "full"}'
)
FALLBACK = Shown(("a", "b"), "", ("bm25",), "fallback", total=2)


class Fake(BaseHTTPRequestHandler):
    """Answers as its server specifies, keeps the client waiting, or closes the connection."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.said = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.keys.append(self.headers["idempotency-key"])
        self.server.ports.append(self.client_address[1])
        way = self.server.ways.pop(0) if self.server.ways else 200
        if way == "close":
            self.close_connection = True
            return
        if way == "slow":
            time.sleep(0.5)
        strange = {"strange": (200, b"no JSON"), "large": (413, b"<html>")}  # the second one by nginx
        strange["text"] = (200, ANSWER.replace(b'["d"]', b'"abc"'))
        strange["token"] = (200, ANSWER.replace(b'"t"', b"5"))
        status, body = (way, ANSWER) if isinstance(way, int) else strange.get(way, (200, ANSWER))
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        for k in range(len(body)):
            self.wfile.write(body[k : k + 1])
            time.sleep(0.05 if way == "drip" else 0)

    def log_message(self, *given):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Fake) as fake:
        fake.keys, fake.ports, fake.ways, fake.daemon_threads = [], [], [], True
        fake.url = f"http://127.0.0.1:{fake.server_port}"
        threading.Thread(target=fake.serve_forever, args=(0.01,), daemon=True).start()
        yield fake
        fake.shutdown()


def test_a_page_and_its_clicks(server):
    with Client(server.url, "bm25", deadline=5) as client:
        page = client.decide("q", LISTS)
        assert page == Shown(("d",), "t", ("bm25", "dense"), "experiment", total=1)
        assert client.clicks(page.token, ["d"])
        server.ways = [409, 403]  # another report closed the page
        assert [client.clicks(page.token, ["d"]) for _ in range(2)] == [False, False]
        server.ways = ["close", 409]  # this one did, and its answer was lost
        assert client.clicks(page.token, ["d"])
        assert not client.clicks("", ["d"])


def test_no_documents_are_not_all(server):
    with Client(server.url, "bm25", deadline=5) as client:
        server.ways = [400]  # the status of the service
        page = client.decide("q", LISTS, limit=0)
    assert (page.page, page.total, page.why) == ((), 4, "400: full") and server.said["limit"] == 0


@pytest.mark.parametrize("way", ["slow", "drip", "close", "strange", "text", "token", 503, 500, 401])
def test_where_the_service_does_not_answer_the_incumbents_list_is_shown_in_time(server, way):
    with Client(server.url, "bm25", deadline=0.2, top=2, pause=60) as client:
        server.ways = [way]
        began = time.monotonic()
        assert client.decide("q", LISTS)._replace(why="") == FALLBACK
        assert time.monotonic() - began < 0.4


@pytest.mark.parametrize("way, why", [("close", "closed connection"), ("strange", "Expecting"), (503, "503: full")])
def test_a_fallback_says_why(server, way, why):
    with Client(server.url, "bm25", deadline=30, top=2) as client:
        server.ways = [way]
        shown = client.decide("q", LISTS)
        assert shown._replace(why="") == FALLBACK and why in shown.why


def test_after_a_slow_search_clicks_are_sent_and_a_log_line_says_why(server, caplog):
    with Client(server.url, "bm25", deadline=0.2, pause=600) as client:
        server.ways = ["slow"]
        shown = [client.decide("q", LISTS) for _ in range(3)]
        assert client.clicks("t", ["d"], deadline=60)
    assert [one.why.partition(":")[0] for one in shown[1:]] == ["not sent, because a call failed recently"] * 2
    assert caplog.messages == ["/decide: no answer within 0.2 seconds"]


@pytest.mark.parametrize("way", ["strange", 503, 500])
def test_after_a_failure_the_service_is_left_alone_for_a_moment(server, way):
    with Client(server.url, "bm25", deadline=5, top=2, pause=0.2) as client:
        server.ways = [way]
        assert [client.decide("q", LISTS).served for _ in range(3)] == ["fallback"] * 3
        assert len(server.keys) == 1
        time.sleep(0.25)
        assert client.decide("q", LISTS).served == "experiment"


def test_after_a_report_that_failed_no_report_is_sent_for_a_moment_but_searches_are(server):
    with Client(server.url, "bm25", deadline=5, pause=60) as client:
        server.ways = [503]
        assert [client.clicks("t", ["d"], deadline=5) for _ in range(2)] == [False, False]
        assert client.decide("q", LISTS).served == "experiment"
    assert len(server.keys) == 2


@pytest.mark.parametrize("way, why", [(400, "400: full"), ("large", "413: ")])
def test_after_a_request_that_was_refused_the_next_one_is_sent(server, way, why):
    with Client(server.url, "bm25", deadline=5, pause=60) as client:
        server.ways = [way]
        assert client.decide("q", LISTS).why == why
        assert client.decide("q", LISTS).served == "experiment"


def test_a_connection_that_was_closed_is_opened_again_with_the_same_key(server):
    with Client(server.url, "bm25", deadline=5, threads=1) as client:
        client.decide("q", LISTS)
        server.ways = ["close"]
        assert client.decide("q", LISTS).served == "experiment"
    first, second, third = server.keys
    assert first != second == third


def run(server, *lines):
    """Return the output of a process with a client, and its end time."""
    begin = ["import os, time", "from ltr_duel.client import Client"]
    text = "\n".join([*begin, f"client = Client({server.url!r}, 'a', deadline=float(os.environ['SECONDS']))", *lines])
    deadline = "0.3" if server.ways else "5"
    said = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, "SECONDS": deadline},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert said.returncode == 0, said.stderr
    return said.stdout.split(), time.time()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot fork there")
def test_a_child_has_connections_that_its_parent_has_not(server):
    said, _ = run(
        server,
        "first = client.decide('q', {'a': ['x']}).served",
        "if (child := os.fork()) == 0:",
        "    os._exit(client.decide('q', {'a': ['x']}).served != 'experiment')",
        "print(first, os.waitpid(child, 0)[1], client.decide('q', {'a': ['x']}).served)",
    )
    assert said == ["experiment", "0", "experiment"]
    parent, child, again = server.ports
    assert parent == again != child


def test_an_answer_byte_by_byte_keeps_no_process_and_no_thread(server):
    server.ways = ["drip"]
    (served, ended), now = run(server, "print(client.decide('q', {'a': ['x']}).served, time.time())")
    assert served == "fallback" and now - float(ended) < 2
    server.ways = ["drip"]
    with Client(server.url, "bm25", deadline=0.2) as client:
        client.decide("q", LISTS)
        time.sleep(0.5)
        assert "ltr_duel" not in [one.name for one in threading.enumerate()]


@pytest.mark.parametrize("wrong", [{1}, b"x", float])
def test_lists_that_json_cannot_hold_get_the_incumbents_and_the_service_is_asked_again(server, wrong):
    with Client(server.url, "bm25", deadline=5, top=2) as client:
        shown = client.decide("q", LISTS | {"dense": ["d", wrong]})
        assert shown._replace(why="") == FALLBACK and "cannot be encoded as JSON" in shown.why
        assert not client.clicks("t", [wrong])
        assert client.decide("q", LISTS).served == "experiment"


def test_a_repeated_request_makes_one_page(tmp_path):
    asked = {"query": "q", "rankings": LISTS}

    async def story(service):
        async def ask(key, given=asked):
            return (await service.call("POST", "/decide", given, headers={"idempotency-key": key})).json

        some = await asyncio.gather(*(ask("one") for _ in range(3)))
        assert some[0] == some[1] == some[2] == await ask("one")
        assert service.experiment.pages == 1
        assert await ask("two") != some[0]
        assert (await service.call("POST", "/decide", asked, headers={"idempotency-key": "k" * 101})).status == 400
        return service.experiment.pages

    assert using(Service(tmp_path), story) == 2


@pytest.mark.parametrize("other", [{"query": "other"}, {"user": "u2"}, {"rankings": {**LISTS, "dense": ["z"]}}])
def test_a_key_that_came_with_another_search_is_refused(tmp_path, other):
    """The status is 422, as in the IETF draft for this header."""
    asked, keys = {"query": "q", "user": "u1", "rankings": LISTS}, ["0123456789abcdef", "fedcba9876543210"]

    async def story(service):
        async def ask(given, key):
            headers = {"idempotency-key": "one", "authorization": f"Bearer {key}"}
            return await service.call("POST", "/decide", given, headers=headers)

        first, again = await ask(asked, keys[0]), await ask({**asked, **other}, keys[0])
        assert (first.status, again.status) == (200, 422) and "another body" in again.json["error"]
        assert (await ask(asked, keys[0])).json == first.json
        return (await ask({**asked, **other}, keys[1])).status  # for another client

    assert using(Service(tmp_path, keys=keys), story) == 200


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://a", "http://", "http://a/b?c=d", "http://a#b"])
def test_another_address_is_refused(url):
    with pytest.raises(ValueError, match="must have the form http"):
        Client(url, "bm25")
