"""The example search page, with a service and without one."""

from __future__ import annotations

import importlib.util
import json
import threading
import urllib.request
from contextlib import closing
from http.client import HTTPConnection
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from ltr_duel.client import Shown
from ltr_duel.live import read_settings

ROOT = Path(__file__).resolve().parents[2]


class Service:
    """A client that shows the list of "newest", and keeps the reports."""

    def __init__(self):
        self.users, self.reports = [], []

    def decide(self, user, query, rankings):
        self.users.append(user)
        return Shown(tuple(rankings["newest"]), "token", ("newest", "words"), "experiment")

    def report(self, token, events):
        self.reports.append((token, events))
        return True


@pytest.fixture(scope="module")
def search():
    """Return the module of the example."""
    spec = importlib.util.spec_from_file_location("search", ROOT / "docs" / "search_page" / "search.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def site(search, monkeypatch):
    """Serve the example; return its address and its client."""
    monkeypatch.setattr(search.Search, "log_message", lambda *given: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), search.Search) as server:
        server.client, server.daemon_threads = Service(), True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", server.client
        server.shutdown()


def ask(address, body=None, cookie=""):
    """Return the answer, and the cookie that it sets."""
    content = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(address, content, {"cookie": cookie}), timeout=60) as answer:
        return answer.read(), (answer.headers["set-cookie"] or "").partition(";")[0]


def test_the_rankers_of_the_page_are_those_of_the_example_experiment(search):
    assert set(search.rankings("sea war")) == set(read_settings(ROOT / "examples" / "live.toml").rankers)


def test_the_searches_of_a_browser_have_one_user_and_its_clicks_are_reported(search, site):
    address, client = site
    page, cookie = ask(f"{address}/")
    assert b"<form>" in page and ask(f"{address}/", cookie=cookie)[1] == cookie
    found = [json.loads(ask(f"{address}/search", {"query": query}, cookie)[0]) for query in ("The War", "sea")]
    assert [number for number, *_ in found[0]["books"]] == search.rankings("The War")["newest"]
    assert client.users == [cookie.removeprefix("session=")] * 2
    events = [{"kind": "view"}, {"kind": "click", "document": found[0]["books"][0][0]}]
    assert json.loads(ask(f"{address}/events", {"token": found[0]["token"], "events": events})[0]) == {"recorded": True}
    assert client.reports == [("token", events)]


def test_a_search_without_results_makes_no_page(site):
    address, client = site
    assert json.loads(ask(f"{address}/search", {"query": "zeppelin"})[0]) == {"token": "", "books": []}
    assert client.users == []


@pytest.mark.parametrize("length", ["300000000", "-1", "\u00b2", "9" * 5000])
def test_a_request_that_is_too_large_is_not_read(site, length):
    with closing(HTTPConnection(site[0].removeprefix("http://"), timeout=30)) as connection:
        connection.putrequest("POST", "/search")
        connection.putheader("content-length", length.encode("latin-1"))
        connection.endheaders(b"{}")
        assert connection.getresponse().status == 413


def test_without_the_service_people_search_as_before(search, capsys, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_SERVICE", "http://127.0.0.1:1")
    with search.service() as client:
        found = search.search(client, "u1", "war")
    assert [number for number, *_ in found["books"]] == search.rankings("war")["words"] and found["token"] == ""
    assert "does not answer" in capsys.readouterr().err
