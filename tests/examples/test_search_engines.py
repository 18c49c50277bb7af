"""The example for search engines: requests and answers in the formats of their manuals."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import io
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from ltr_duel.client import Shown

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "search_engines"
MODULES = ("engines", "middleware", "asgi")
RANKED = {"by-words": ["d7", "d2"], "by-titles": ["d2"], "by-date": ["d9", "d7", "d2"]}
RANKERS = {"words": "by-words", "titles": "by-titles", "newest": "by-date"}
LISTS = {name: RANKED[configuration] for name, configuration in RANKERS.items()}
QUERY = 'red {!lucene}"shoes" ]'


@pytest.fixture(scope="module")
def example():
    """Return the modules of the example, imported as by users."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(EXAMPLE))
        yield tuple(map(importlib.import_module, MODULES))
    for name in MODULES:
        del sys.modules[name]


def opensearch(ids):
    hits = [{"_index": "shop", "_id": one, "_score": 9.5 - k, "_source": {"title": one}} for k, one in enumerate(ids)]
    return {
        "took": 4,
        "timed_out": False,
        "_shards": {"total": 3, "successful": 3, "skipped": 0, "failed": 0},
        "hits": {"total": {"value": len(ids), "relation": "eq"}, "max_score": 9.5, "hits": hits},
    }


def solr(ids):
    found = {"numFound": len(ids), "start": 0, "numFoundExact": True, "docs": [{"id": one} for one in ids]}
    return {"responseHeader": {"zkConnected": True, "status": 0, "QTime": 3}, "response": found}


def vespa(ids):
    children = [
        {"id": f"index:shop/0/{one}", "relevance": 1.0 / (1 + k), "source": "shop", "fields": {"documentid": one}}
        for k, one in enumerate(ids)
    ]
    coverage = {"coverage": 100, "documents": 9, "full": True, "nodes": 1, "results": 1, "resultsFull": 1}
    root = {"id": "toplevel", "relevance": 1.0, "fields": {"totalCount": len(ids)}, "coverage": coverage}
    return {"root": {**root, **({"children": children} if children else {})}}


ANSWERS = {"opensearch": opensearch, "elasticsearch": opensearch, "solr": solr, "vespa": vespa}


def configuration(path, said):
    """Return the name of the configuration in a request."""
    if "useParams" in path:
        return parse_qs(urlsplit(path).query)["useParams"][0]
    return said["ranking"]["profile"] if "ranking" in said else said["id"]


class Fake(BaseHTTPRequestHandler):
    """Answers as its server specifies for a configuration: with a list, a status, other JSON, or late."""

    def do_POST(self):
        said = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append((self.path, said, self.headers["authorization"]))
        name = configuration(self.path, said)
        way = self.server.ways.get(name, 200)
        if way == "late":
            time.sleep(1)
        self.send_response(way if isinstance(way, int) else 200)
        self.end_headers()
        answer = way if isinstance(way, dict | list) else ANSWERS[self.server.engine](RANKED[name])
        with contextlib.suppress(BrokenPipeError):  # the client has stopped waiting for a late answer
            self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *given):
        pass


@pytest.fixture(params=sorted(ANSWERS))
def lists(request, example):
    """Return a client of a fake engine, and its server."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Fake) as server:
        server.engine, server.asked, server.ways, server.daemon_threads = request.param, [], {}, True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url, headers = f"http://127.0.0.1:{server.server_port}/", {"authorization": "Basic abc"}
        asking = example[0].Lists(server.engine, url, "shop", RANKERS, size=7, seconds=20, headers=headers)
        yield asking, server
        asking.close()
        server.shutdown()
        thread.join()


def test_each_ranker_is_asked_for_by_its_configuration_and_gives_its_list(lists):
    asking, server = lists
    assert asking(QUERY) == (LISTS, {})
    by_template = lambda name: {"id": name, "params": {"query_string": QUERY, "size": 7}}  # noqa: E731  one of three
    path, body = {
        "opensearch": ("/shop/_search/template?filter_path=timed_out,_shards.failed,hits.hits._id", by_template),
        "solr": (
            "/solr/shop/query?useParams={}",
            lambda name: {"query": "{!edismax v=$text}", "fields": "id", "limit": 7, "params": {"text": QUERY}},
        ),
        "vespa": (
            "/search/",
            lambda name: {
                "yql": "select documentid from sources shop where userInput(@text)",
                "text": QUERY,
                "hits": 7,
                "ranking": {"profile": name},
            },
        ),
    }[server.engine.replace("elasticsearch", "opensearch")]
    wanted = [(path.format(name), body(name), "Basic abc") for name in RANKED]
    assert sorted(server.asked, key=str) == sorted(wanted, key=str)


PARTIAL = {
    "opensearch": [
        {"timed_out": True, "_shards": {"failed": 0}, "hits": {"hits": [{"_id": "d2"}]}},
        {"timed_out": False, "_shards": {"failed": 1}, "hits": {"hits": [{"_id": "d2"}]}},
    ],
    "solr": [
        {"responseHeader": {"status": 0, "partialResults": True}, "response": {"docs": [{"id": "d2"}]}},
        {"responseHeader": {"status": 400}, "error": {"code": 400, "msg": "undefined field"}},
    ],
    "vespa": [
        {"root": {"errors": [{"code": 12, "summary": "Timed out"}], "coverage": {"full": True}, "children": []}},
        {"root": {"coverage": {"full": False, "degraded": {"timeout": True}}, "children": []}},
    ],
}


@pytest.mark.parametrize("place", [0, 1])
def test_an_incomplete_answer_of_a_search_engine_is_none(lists, place):
    asking, server = lists
    server.ways = {"by-titles": PARTIAL[server.engine.replace("elasticsearch", "opensearch")][place]}
    found, failures = asking("q")
    assert found == {name: LISTS[name] for name in ("words", "newest")} and list(failures) == ["titles"]


@pytest.mark.parametrize("way", [500, [], {}, {"root": None}, "late"])
def test_a_ranker_that_fails_or_is_late_leaves_the_others_their_lists(lists, way):
    asking, server = lists
    server.ways, asking.seconds = {"by-date": way}, 0.5 if way == "late" else 20
    found, failures = asking("q")
    assert "newest" not in found and "newest" in failures
    if way != "late":  # the other reasons depend on the speed of the machine
        assert found == {name: LISTS[name] for name in ("words", "titles")} and list(failures) == ["newest"]


def test_a_search_without_hits_is_an_empty_list(lists):
    asking, server = lists
    server.ways = {"by-titles": {**ANSWERS[server.engine]([])}}
    assert asking("q") == ({**LISTS, "titles": []}, {})
    if server.engine.endswith("search"):
        server.ways = {"by-titles": {"timed_out": False, "_shards": {"failed": 0}}}  # the answer after the filter
        assert asking("q") == ({**LISTS, "titles": []}, {})


class Service:
    """Gives the same page for every search."""

    def __init__(self):
        self.asked, self.reported = [], []

    def decide(self, user, query, rankings):
        self.asked.append((user, query, rankings))
        return Shown(("d9", "d2"), "token", ("words", "newest"), "experiment")

    def report(self, token, events):
        self.reported.append((token, events))
        return True


def site(environ, start_response):
    """Show what the middleware has found."""
    start_response("200 OK", [("content-type", "application/json")])
    page = [environ.get("ltr_duel.page"), environ.get("ltr_duel.token"), environ["PATH_INFO"]]
    return [json.dumps(page).encode()]


def call_wsgi(application, method, path, body=b"", **environ):
    """Return status and body of an answer."""
    path, _, query = path.partition("?")
    said = []
    given = {"REQUEST_METHOD": method, "PATH_INFO": path, "QUERY_STRING": query, "CONTENT_LENGTH": str(len(body))}
    parts = application(
        {**given, "wsgi.input": io.BytesIO(body), **environ}, lambda status, headers: said.append(status)
    )
    return int(said[0][:3]), b"".join(parts)


async def site_in_asgi(scope, receive, send):
    """Show what the middleware has found."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    page = [scope.get("ltr_duel.page"), scope.get("ltr_duel.token"), scope["path"]]
    await send({"type": "http.response.body", "body": json.dumps(page).encode()})


def call_asgi(application, method, path, body=b"", **more):
    """Return status and body of an answer; the body of the request comes in two parts."""
    path, _, query = path.partition("?")
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), **more}
    parts = [{"body": body[:7], "more_body": True}, {"body": body[7:]}, {"type": "http.disconnect"}]
    said = []

    async def receive():
        return {"type": "http.request", **parts.pop(0)}

    async def send(message):
        said.append(message)

    asyncio.run(application(scope, receive, send))
    return said[0]["status"], b"".join(one["body"] for one in said[1:])


@pytest.fixture(params=["wsgi", "asgi"])
def made(request, example):
    """Return a function that makes the middleware for a site, and a function that calls it."""
    kind, front, call = {
        "wsgi": (example[1].Experiment, site, call_wsgi),
        "asgi": (example[2].Experiment, site_in_asgi, call_asgi),
    }[request.param]
    return lambda lists, service: kind(front, lists, service, "words", user=lambda given: given["user"]), call


def test_the_site_gets_the_page_of_the_experiment(made):
    (make, call), service = made, Service()
    application = make(lambda query: (LISTS, {}), service)
    assert call(application, "GET", "/search?q=red+sh%C3%B6es", user="u81") == (
        200,
        b'[["d9", "d2"], "token", "/search"]',
    )
    assert service.asked == [("u81", "red sh\u00f6es", LISTS)]
    assert call(application, "GET", "/search", user="") == (200, b'[null, null, "/search"]')
    assert call(application, "GET", "/other?q=red", user="") == (200, b'[null, null, "/other"]')
    assert len(service.asked) == 1


@pytest.mark.parametrize("lists", [({"words": ["a"]}, {"titles": "late"}), ({"words": ["a"], "titles": []}, {})])
def test_without_a_list_of_each_ranker_the_incumbents_is_shown_and_nothing_is_counted(made, lists):
    (make, call), service = made, Service()
    assert call(make(lambda query: lists, service), "GET", "/search?q=red", user="u81") == (
        200,
        b'[["a"], "", "/search"]',
    )
    assert service.asked == []


def test_without_the_incumbents_list_the_site_says_what_it_said_before(made):
    make, call = made
    with pytest.raises(RuntimeError, match="search engine does not answer"):
        call(make(lambda query: ({}, {"words": "late"}), Service()), "GET", "/search?q=red", user="u81")


def test_reports_are_passed_on_and_others_refused(made):
    (make, call), service = made, Service()
    application = make(lambda query: (LISTS, {}), service)
    said = json.dumps({"token": "t", "events": [{"kind": "click", "document": "d9"}]}).encode()
    assert call(application, "POST", "/events", said) == (200, b'{"recorded": true}')
    assert service.reported == [("t", [{"kind": "click", "document": "d9"}])]
    for wrong in (b"", b"no JSON", b"[]", b"{}", b"1", b"\xff", said + b" " * 100_000, b"[" * 90_000):
        assert call(application, "POST", "/events", wrong) == (400, b"")
    assert len(service.reported) == 1
