"""Several experiments in one service: each has a separate address, store, and keys."""

from __future__ import annotations

import io
import json
import signal

import pytest

from ltr_duel.client import Client
from ltr_duel.core import InputError
from ltr_duel.live import Experiment, StoreError
from ltr_duel.serve import EventLog
from ltr_duel.serve.gate import Several
from ltr_duel.serve.run import _plans
from tests.serve.asgi import LISTS, Service, using
from tests.serve.test_process import process

KEYS = {"shoes": "0123456789abcdef", "hats": "fedcba9876543210"}
ASKED = {"query": "q", "rankings": LISTS}


class Both(Service):
    """A service of shoes, and a second service of shoes and hats."""

    def __init__(self, folder, hats=True):
        (folder / "hats").mkdir()
        self.hats = Service(folder / "hats", keys=[KEYS["hats"]] if hats else ())
        super().__init__(folder, keys=[KEYS["shoes"]])
        self.app = Several({"shoes": self.app, "hats": self.hats.app})

    async def ask(self, path, key=""):
        method, body = ("POST", ASKED) if path.endswith("decide") else ("GET", b"")
        headers = {"authorization": f"Bearer {key}"} if key else {}
        return await self.call(method, path, body, headers=headers)


def served(folder, story, **how):
    both = Both(folder, **how)
    try:
        return using(both, story)
    finally:
        both.hats.experiment.close()


def test_each_experiment_answers_at_its_name_with_its_own_store_and_keys(tmp_path):
    async def story(both):
        found = [(await both.ask(f"/{name}/decide", key)).status for name in KEYS for key in KEYS.values()]
        for _ in range(2):
            page = (await both.ask("/hats/decide", KEYS["hats"])).json
        clicked = {"token": page["token"], "clicks": []}
        headers = {"authorization": f"Bearer {KEYS['hats']}"}
        assert (await both.call("POST", "/hats/clicks", clicked, headers=headers)).status == 200
        headers = {"authorization": f"Bearer {KEYS['shoes']}"}
        assert (await both.call("POST", "/shoes/clicks", clicked, headers=headers)).status == 403
        state = (await both.ask("/hats/state", KEYS["hats"])).json
        assert (
            (await both.ask("/hats/", KEYS["hats"])).status
            == (await both.ask("/hats/docs", KEYS["hats"])).status
            == 200
        )
        return found, both.experiment.pages, state["pages"], state["unclicked"]

    assert served(tmp_path, story) == ([200, 401, 401, 200], 1, 3, 1)


@pytest.mark.parametrize(
    "path",
    ["/", "/decide", "/state", "/socks/decide", "/shoes", "//decide", "/shoes/hats/state", "/shoes/../hats/state"],
)
def test_no_other_address_leads_to_an_experiment(tmp_path, path):
    async def story(both):
        said = await both.ask(path, KEYS["shoes"])
        assert "shoes" not in said.body.decode() and "hats" not in said.body.decode()
        assert said.headers["x-frame-options"] == "DENY"
        return said.status, both.experiment.pages

    assert served(tmp_path, story) == (404, 0)  # with a key; without one see below


def test_the_service_is_ready_when_all_experiments_are(tmp_path, monkeypatch):
    async def story(both):
        found = [(await both.ask(path)).status for path in ("/health", "/ready", "/hats/ready")]

        def fail(calls):
            raise StoreError("the store cannot be written now")

        monkeypatch.setattr(both.hats.experiment, "answer", fail)
        await both.ask("/hats/decide", KEYS["hats"])
        own = [(await both.ask(f"/{name}/ready", key)).status for name, key in KEYS.items()]
        return found + [(await both.ask(path)).status for path in ("/health", "/ready")] + own

    assert served(tmp_path, story) == [200, 200, 401, 200, 503, 200, 503]


ADDRESSES = ("", "/", "/decide", "/clicks", "/state", "/metrics", "/docs", "/health", "/ready", "/nowhere", "//state")


@pytest.mark.parametrize("wrong", [{}, {"authorization": "Bearer none-of-these-keys"}, {"host": "example.org"}])
def test_without_a_key_no_name_of_an_experiment_can_be_learnt(tmp_path, wrong):
    """Existing and unknown experiments are rejected with the same bytes; both are counted and logged."""

    async def story(both):
        def said(path, method):
            return both.call(method, path, ASKED if method == "POST" else b"", headers=wrong)

        for path in ADDRESSES:
            for method in ("GET", "POST", "PUT"):
                known = [await said(f"/{name}{path}", method) for name in ("shoes", "hats")]
                assert known[0] == known[1] == await said(f"/socks{path}", method), (path, method)
                assert known[0].status == 401
                assert "shoes" not in str(known[0]) and "hats" not in str(known[0])
        return sum(gate.metrics._requests["", 401] for gate in both.app._gates.values()), both.log.getvalue()

    unknown, log = served(tmp_path, story)
    assert unknown >= 3 * len(ADDRESSES) and '"status": 401' in log


def test_beside_an_experiment_without_keys_the_names_of_the_others_cannot_be_learnt(tmp_path):
    async def story(both):
        assert await both.ask("/shoes/state") == await both.ask("/socks/state")
        return [(await both.ask(path)).status for path in ("/shoes/state", "/hats/state", "/hats/ready")]

    assert served(tmp_path, story, hats=False) == [401, 200, 200]


def files(folder, *experiments):
    """Write settings files with the given names and stores."""
    for k, (name, store) in enumerate(experiments):
        text = f'[experiment]\nname = "{name}"\nrankers = ["bm25", "dense", "mixed"]\npolicy = "rucb"\nseed = {k}\n'
        (folder / f"{k}.toml").write_text(f'{text}[serve]\nstore = "{store}"\nport = {k}\nkey_file = "live.keys"\n')
    return [folder / f"{k}.toml" for k in range(len(experiments))]


@pytest.mark.parametrize(
    "experiments, sentence",
    [
        ([("shoes", "a.db"), ("shoes", "b.db")], "1.toml: another experiment has the same name"),
        ([("shoes", "a.db"), ("hats", "a.db")], "1.toml: another experiment has the same store"),
        ([("shoes", "a.db"), ("hats", "../{folder}/a.db")], "1.toml: another experiment has the same store"),
        ([("shoes", "a.db"), ("../hats", "b.db")], "1.toml: name: with several experiments"),
        ([("red shoes", "a.db"), ("hats", "b.db")], "0.toml: name: with several experiments"),
    ],
)
def test_two_experiments_of_one_service_have_neither_a_name_nor_a_store_in_common(tmp_path, experiments, sentence):
    paths = files(tmp_path, *((name, store.format(folder=tmp_path.name)) for name, store in experiments))
    with pytest.raises(InputError, match=sentence):
        _plans(paths, {}, EventLog(io.StringIO()))


def test_all_listen_where_the_first_does(tmp_path, monkeypatch):
    monkeypatch.setattr("ltr_duel.serve.run._compile", lambda settings: None)
    log = io.StringIO()
    plans = _plans(files(tmp_path, ("shoes", "a.db"), ("hats", "b.db")), {"host": "::1"}, EventLog(log))
    assert [(plan.service.host, plan.service.port) for plan in plans] == [("::1", 0)] * 2
    plans[1].log.write("store")
    assert json.loads(log.getvalue().splitlines()[-1])["experiment"] == "hats"


def test_a_process_serves_two_experiments(tmp_path):
    first, second = files(tmp_path, ("shoes", "a.db"), ("hats", "b.db"))
    first.rename(tmp_path / "live.toml")
    with process(tmp_path, str(second), ends_with=128 + signal.SIGTERM) as (url, running):
        with Client(f"{url}/hats", "bm25", deadline=60) as client:
            page = client.decide("q", LISTS)
            assert page.served == "experiment" and client.clicks(page.token, [], deadline=60)
        running.terminate()
    with Experiment.open(tmp_path / "a.db") as shoes, Experiment.open(tmp_path / "b.db") as hats:
        assert (shoes.pages, hats.pages, hats.state().unclicked) == (0, 1, 1)
    events = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines() if line.startswith("{")]
    assert [(one["event"], one["experiment"]) for one in events if one["event"] in ("start", "stop")] == [
        (event, name) for event in ("start", "stop") for name in ("shoes", "hats")
    ]


def test_settings_without_a_file_of_keys_are_refused_with_the_line_that_makes_one(tmp_path, monkeypatch):
    monkeypatch.delenv("LTR_DUEL_LIVE_KEYS", raising=False)
    (tmp_path / "live.toml").write_text('[experiment]\nname = "t"\nrankers = ["a", "b"]\npolicy = "rucb"\n')
    with pytest.raises(InputError, match=r'live.toml: serve: there is no key: .*key_file = "live.keys" in \[serve\]'):
        _plans([tmp_path / "live.toml"], {}, EventLog(io.StringIO()))
    (tmp_path / "live.toml").write_text((tmp_path / "live.toml").read_text() + '[serve]\nkey_file = "new.keys"\n')
    (tmp_path / "new.keys").write_text("?")
    with pytest.raises(InputError, match=r"live.toml: serve: .*new.keys:1: a key is an id and a secret"):
        _plans([tmp_path / "live.toml"], {}, EventLog(io.StringIO()))
