"""The Python client: pages and reports, and a list within the deadline whatever the service does."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ltr_duel import client as module
from ltr_duel.client import Client, Shown
from tests.live.asgi import KEY, LISTS

PAGE = {"page": ["d"], "token": "t", "rankers": ["bm25", "dense"], "served": "experiment", "version": 1}
FALLBACK = Shown(("a", "b"), "", ("bm25",), "fallback")


class Fake(BaseHTTPRequestHandler):
    """Answers as `ways` of its server say, one for each request: with a status, with a body, or not at all."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append((self.path, body, self.headers["authorization"], self.client_address[1]))
        way = self.server.ways.pop(0) if self.server.ways else PAGE
        if way == "close":
            self.close_connection = True
            return
        if way == "slow":
            time.sleep(0.5)
        status, answer = (way, {"error": "full"}) if isinstance(way, int) else (200, way)
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *given):
        pass


@pytest.fixture
def server():
    """Return a fake service."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Fake) as fake:
        fake.asked, fake.ways, fake.daemon_threads = [], [], True
        threading.Thread(target=fake.serve_forever, args=(0.01,), daemon=True).start()
        yield fake
        fake.shutdown()


def client(server, **options):
    """Return a client of a fake service."""
    return Client(
        f"http://127.0.0.1:{server.server_port}/shoes/", "bm25", key=KEY, **{"deadline": 5, "top": 2, **options}
    )


def test_a_page_is_requested_and_its_events_are_reported(server):
    with client(server) as search:
        page = search.decide("u1", "q", LISTS, context={"device": "phone"})
        assert page == Shown(("d",), "t", ("bm25", "dense"), "experiment")
        assert search.report(page.token, [{"kind": "view"}, {"kind": "click", "document": "d"}])
    decide, report = server.asked
    assert decide[:3] == (
        "/shoes/decide",
        {"user": "u1", "query": "q", "rankings": LISTS, "context": {"device": "phone"}},
        f"Bearer {KEY}",
    )
    assert report[:2] == (
        "/shoes/events", {"token": "t", "events": [{"kind": "view"}, {"kind": "click", "document": "d"}]}
    )  # fmt: skip
    assert decide[3] == report[3]  # one connection


def test_a_fallback_has_no_token_so_its_events_are_not_sent(server):
    with client(server) as search:
        assert not search.report("", [{"kind": "view"}])
    assert server.asked == []


@pytest.mark.parametrize(
    "way, why",
    [
        ("slow", "no answer within 0.2 seconds"),
        ("close", "closed connection"),
        (503, "503: full"),
        (401, "401: full"),
        (b"<html>", "Expecting value"),
        (PAGE | {"page": "abc"}, "the answer is invalid"),
        (PAGE | {"token": 5}, "the answer is invalid"),
        ([], "the answer is invalid"),
    ],
)
def test_without_a_valid_answer_in_time_the_incumbents_list_is_shown_with_the_reason(server, way, why):
    with client(server, deadline=0.2 if way == "slow" else 20) as search:
        server.ways = [way]
        shown = search.decide("u1", "q", LISTS)
    assert shown._replace(why="") == FALLBACK and why in shown.why


def test_after_a_failure_nothing_is_sent_to_that_address_for_a_pause(server, caplog, monkeypatch):
    with client(server, pause=60) as search:
        server.ways = [503]
        shown = [search.decide("u1", "q", LISTS) for _ in range(3)]
        assert search.report("t", [{"kind": "view"}])  # another address
        assert len(server.asked) == 2
        later = time.monotonic() + 61
        monkeypatch.setattr(module.time, "monotonic", lambda: later)
        assert search.decide("u1", "q", LISTS).served == "experiment"
    assert [page.why for page in shown[1:]] == ["not sent, because a call failed recently: 503: full"] * 2
    assert caplog.messages == ["/decide: 503: full"]


def test_a_refused_request_does_not_stop_the_next_one(server):
    with client(server, pause=60) as search:
        server.ways = [400]
        assert search.decide("u1", "q", LISTS).why == "400: full"
        assert search.decide("u1", "q", LISTS).served == "experiment"


def test_a_connection_that_was_idle_is_opened_anew(server, monkeypatch):
    monkeypatch.setattr(module, "_IDLE", 0.05)
    with client(server, threads=1) as search:
        for pause in (0, 0.1):
            time.sleep(pause)
            assert search.decide("u1", "q", LISTS).served == "experiment"
    first, second = (port for *_, port in server.asked)
    assert first != second


def test_lists_that_json_cannot_contain_get_a_fallback_and_the_next_search_is_sent(server):
    with client(server) as search:
        assert "cannot be encoded as JSON" in search.decide("u1", "q", LISTS | {"dense": [{1}]}).why
        assert search.decide("u1", "q", LISTS).served == "experiment"


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "ftp://a", "http://", "http://a/b?c=d", "http://a#b"])
def test_an_address_that_is_no_service_is_refused(url):
    with pytest.raises(ValueError, match="must have the form http"):
        Client(url, "bm25", key=KEY)
