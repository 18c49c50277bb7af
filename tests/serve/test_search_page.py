"""The example search page works with a service, without a service, and in a browser without losing clicks."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import threading
import urllib.request
from contextlib import closing
from http.client import HTTPConnection
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from ltr_duel.live import read_settings
from ltr_duel.serve import service_settings
from tests.serve.asgi import KEY
from tests.serve.browsing import browsing, until
from tests.serve.conftest import EXAMPLE

ROOT = Path(__file__).resolve().parents[2]
LINK = "document.querySelectorAll('li a')[{}]"
WITHOUT_CACHE = "--disable-features=BackForwardCache"


@pytest.fixture(scope="module")
def search():
    spec = importlib.util.spec_from_file_location("search", ROOT / "docs" / "search_page" / "search.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def site(search, url):
    """Serve the example; yield its address and the requested paths."""
    asked = []

    class Logged(search.Search):
        def log_message(self, *given):
            asked.append(self.path)

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("LTR_DUEL_SERVICE", url)
        patched.setenv("LTR_DUEL_API_KEY", KEY)
        client = search.service(deadline=30)
    with client, ThreadingHTTPServer(("127.0.0.1", 0), Logged) as server:
        server.client, server.daemon_threads = client, True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def send(address, said=None):
    body = None if said is None else json.dumps(said).encode()
    with urllib.request.urlopen(address, body, timeout=60) as answer:
        return answer.read()


def test_the_example_experiment_is_that_of_the_example_page(search):
    settings = read_settings(EXAMPLE)
    assert set(search.rankings("sea war")) == set(settings.rankers)
    assert service_settings(settings.serve, "live.toml").loopback
    words = search.rankings("war")
    assert words["words"] != words["newest"] and sorted(words["words"]) == sorted(words["newest"])


def test_a_search_is_answered_and_its_clicks_are_counted(search, running):
    with site(search, running.url) as (address, _):
        assert b"<form>" in send(f"{address}/")
        found = json.loads(send(f"{address}/search", {"query": "The War"}))
        assert {"War and Peace", "The War of the Worlds"} <= {title for _, title, _, _ in found["books"]}
        clicked = found["books"][0][0]
        said = {"token": found["token"], "clicks": [clicked], "final": True}
        assert json.loads(send(f"{address}/clicks", said)) == {"recorded": True}
        assert json.loads(send(f"{address}/search", {"query": "zeppelin"}))["books"] == []
    assert running.counted("The War") == [[str(clicked)]]


@pytest.mark.parametrize("length", ["300000000", "-1", "\u00b2", "9" * 5000])
def test_the_example_reads_no_request_that_is_too_large(search, length):
    with site(search, "http://127.0.0.1:1") as (address, _), closing(HTTPConnection(address[7:], timeout=30)) as asking:
        asking.putrequest("POST", "/search")
        asking.putheader("content-length", length.encode("latin-1"))
        asking.endheaders(b"{}")
        assert asking.getresponse().status == 413


def test_people_search_as_before_when_the_service_is_away(search, capsys, monkeypatch):
    monkeypatch.setenv("LTR_DUEL_SERVICE", "http://127.0.0.1:1")
    with search.service() as client:
        found = search.search(client, "war")
    assert [k for k, *_ in found["books"]] == search.rankings("war")["words"] and found["token"] == ""
    assert "does not answer" in capsys.readouterr().err


def test_the_example_gives_the_key_of_its_environment_or_of_the_example_experiment(search, tmp_path, monkeypatch):
    sent = []
    monkeypatch.setattr(search, "Client", lambda *given, key, **options: sent.append(key))
    monkeypatch.setattr(search, "KEY", tmp_path / "api.key")
    monkeypatch.delenv("LTR_DUEL_API_KEY", raising=False)
    search.service()
    (tmp_path / "api.key").write_text("fedcba9876543210\n")
    search.service()
    monkeypatch.setenv("LTR_DUEL_API_KEY", "0123456789abcdef")
    search.service()
    assert sent == ["", "fedcba9876543210", "0123456789abcdef"]


class Reader:
    """A person at the page, with a browser; `ids` are the documents of the list."""

    def __init__(self, tab, address):
        self.tab = tab
        self.tab.open(f"{address}/")
        self.tab.wait("history.state?.books?.length === 0")  # the state after an empty search

    def search(self, query):
        self.tab.value("document.querySelector('input').value = ''; document.querySelector('input').focus()")
        self.tab.type(query)
        return self.at_list(query)

    def at_list(self, query):
        """Wait for the list of a search, and return its documents."""
        found = f"history.state?.books?.length && location.search == '?query={query}'"
        shown = "document.querySelectorAll('li a').length == history.state.books.length"
        self.tab.wait(f"document.readyState == 'complete' && {found} && {shown}")
        return self.tab.value("[...document.querySelectorAll('li a')].map(a => a.pathname.slice(6))")

    def read(self, place):
        """Open a result in this tab and look at it; return its document."""
        address = self.tab.value(f"{LINK.format(place)}.pathname")
        self.tab.click(LINK.format(place))
        self.tab.wait(f"location.pathname == '{address}' && document.readyState == 'complete'")
        return address.removeprefix("/book/")


@pytest.mark.parametrize("query, other, options", [("the", "jane", ()), ("The", "Jane", (WITHOUT_CACHE,))])
def test_in_a_browser_no_click_is_lost_or_counted_twice(search, running, tmp_path, query, other, options):
    with site(search, running.url) as (address, asked), browsing(tmp_path / "profile", *options) as tab:
        reader = Reader(tab, address)
        ids = reader.search(query)
        tab.value("window.same = true")
        first = reader.read(0)
        tab.go(-1)
        assert reader.at_list(query) == ids and bool(tab.value("window.same")) == (not options)
        second = reader.read(1)
        tab.go(-1)
        reader.at_list(query)
        tab.go(1)
        tab.wait(f"location.pathname == '/book/{second}'")
        tab.go(-1)
        reader.at_list(query)
        assert reader.read(0) == first  # again
        tab.go(-1)
        assert reader.at_list(query) == ids
        tab.click(LINK.format(2), "middle")
        tab.click(LINK.format(3), "right")
        assert running.counted(query) == []  # the page is open
        reader.search(other)
        until(lambda: running.counted(query), "the page of the first search is closed")
        assert running.counted(query) == [sorted([first, second, ids[2]])]

        last = reader.read(0)  # list of the second search, from which the user returns to the first
        tab.go(-1)
        reader.at_list(other)
        tab.go(-1)
        again = reader.at_list(query)
        until(lambda: running.counted(other), "the page of the second search is closed")
        assert reader.read(0) == again[0]
        tab.go(-1)
        reader.at_list(query)
        reader.search(other)
        until(lambda: running.counted(query)[1:], "the page of the third search is closed")
        assert running.counted(query)[1:] == [[again[0]]] and running.counted(other) == [[last]]
        assert asked.count("/search") == 4 + 1  # plus the search without a query when the page was opened
        assert tab.console == []
