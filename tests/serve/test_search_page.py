"""The example of a search page works beside a service."""

from __future__ import annotations

import importlib.util
import io
import json
import threading
import urllib.request
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from ltr_duel.live import Experiment, read_settings
from ltr_duel.serve import service_settings

ROOT = Path(__file__).resolve().parents[2]
CONFIG = ROOT / "examples" / "live.toml"


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Return the module of the example, whose service is an experiment in this process, and the experiment."""
    spec = importlib.util.spec_from_file_location("search", ROOT / "docs" / "search_page" / "search.py")
    search = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(search)
    with Experiment.open(tmp_path / "live.db", read_settings(CONFIG)) as experiment:

        def ask(path, said):
            if path == "/clicks":
                experiment.record(said["token"], said["clicks"], final=said.get("final", True))
                return {"recorded": True}
            page = experiment.decide(said["query"], said["rankings"])
            return {"page": list(page.shown), "token": page.token}

        monkeypatch.setattr(search, "ask", ask)
        monkeypatch.setattr(search.Search, "log_message", lambda *args: None)
        yield search, experiment


def test_the_example_experiment_is_that_of_the_example_page(page):
    search, experiment = page
    assert set(search.rankings("sea war")) == set(experiment.settings.rankers)
    assert service_settings(experiment.settings.serve, "live.toml").loopback
    words = search.rankings("war")
    assert words["words"] != words["newest"] and sorted(words["words"]) == sorted(words["newest"])


def test_a_search_is_answered_and_its_clicks_are_counted(page):
    search, experiment = page
    server = ThreadingHTTPServer(("127.0.0.1", 0), search.Search)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()

    def send(path, said=None):
        body = None if said is None else json.dumps(said).encode()
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}{path}", body, timeout=60) as answer:
            return answer.read()

    try:
        assert b"<form>" in send("/")
        found = json.loads(send("/search", {"query": "war"}))
        assert {"War and Peace", "The War of the Worlds"} <= {title for _, title, _, _ in found["books"]}
        send("/clicks", {"token": found["token"], "clicks": [found["books"][0][0]]})
        assert json.loads(send("/search", {"query": "zeppelin"}))["books"] == []
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert experiment.state().clicked == 1


def test_the_example_gives_the_key_of_its_environment(monkeypatch):
    spec = importlib.util.spec_from_file_location("search", ROOT / "docs" / "search_page" / "search.py")
    search = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(search)
    sent = []
    monkeypatch.setattr(search, "urlopen", lambda request, timeout: sent.append(request) or io.BytesIO(b"{}"))
    for key in ("0123456789abcdef", ""):
        monkeypatch.setenv("LTR_DUEL_API_KEY", key)
        search.ask("/decide", {})
    assert [one.get_header("Authorization") for one in sent] == ["Bearer 0123456789abcdef", None]


def test_people_search_as_before_when_the_service_is_away(page, monkeypatch):
    search, _ = page

    def away(path, said):
        raise OSError

    monkeypatch.setattr(search, "ask", away)
    found = search.search("war")
    assert [k for k, *_ in found["books"]] == search.rankings("war")["words"] and found["token"] == ""
