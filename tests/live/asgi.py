"""A service in this process, called without sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from ltr_duel.live import Experiment, Keys, Settings
from ltr_duel.live.app import make_app

LISTS = {"bm25": ["a", "b", "c", "d"], "dense": ["d", "c", "b"], "mixed": ["c", "e", "a"]}
KEYS = Keys({"one": bytes(range(32))})
KEY = "0123456789abcdef"  # the API key
SEARCH = {"user": "u1", "query": "shoes", "rankings": LISTS}


class Answer(NamedTuple):
    """An answer."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Service:
    """An application with its experiment, whose time is `now`; `call` sends a request within a running loop."""

    def __init__(self, folder, *, limits=None, **settings) -> None:
        self.now = 1_700_000_000.0
        settings = {"name": "test", "rankers": tuple(LISTS), "policy": "random", "seed": 0, **settings}
        self.experiment = Experiment.open(folder / "live.db", Settings(**settings), keys=KEYS, clock=lambda: self.now)
        self.app = make_app(self.experiment, KEYS, KEY, **{"answer_seconds": 60, **(limits or {})})

    async def call(self, path: str, body: Any = None, *, headers: dict[str, str] | None = None, pause: float = 0.0,
                   method: str = "") -> Answer:  # fmt: skip
        """Send a request; the body is an object for JSON, bytes, or a tuple of parts, each of which follows a pause."""
        raw = json.dumps(body).encode() if isinstance(body, dict | list) else body or b""
        parts = list(raw) if isinstance(raw, tuple) else [raw]
        given = {"authorization": f"Bearer {KEY}", "content-type": "application/json", **(headers or {})}
        messages = [
            {"type": "http.request", "body": part, "more_body": k + 1 < len(parts)} for k, part in enumerate(parts)
        ]
        sent: list[dict] = []

        async def receive() -> dict:
            await asyncio.sleep(pause)
            return messages.pop(0) if messages else await asyncio.Event().wait()

        async def send(message: dict) -> None:
            sent.append(message)

        scope = {
            "type": "http", "http_version": "1.1", "method": method or ("GET" if body is None else "POST"),
            "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "scheme": "http",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items() if value],
            "server": ("127.0.0.1", 8080), "client": ("127.0.0.1", 1), "state": {},
        }  # fmt: skip
        try:
            await self.app(scope, receive, send)
        except Exception:  # raised again for the log of the server, after the answer
            assert sent[0]["status"] == 500
        answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], b"".join(message["body"] for message in sent[1:]), answered)

    async def decide(self, user: str = "u1", **more: Any) -> Any:
        """Return the page of a search."""
        answer = await self.call("/decide", SEARCH | {"user": user} | more)
        assert answer.status == 200, answer.body
        return answer.json

    async def report(self, token: str, *events: dict) -> Answer:
        """Report events of a page."""
        return await self.call("/events", {"token": token, "events": list(events)})

    def state(self, seconds: float = 2000.0) -> Any:
        """Count the pages whose window is over some seconds later, and return the state."""
        self.now += seconds
        while self.experiment.learn():
            pass
        return self.experiment.state()


def using(service: Service, story: Callable[[Service], Coroutine[Any, Any, Any]]) -> Any:
    """Run a story with a service from its start to its end, and close its experiment."""

    async def whole() -> Any:
        messages: asyncio.Queue[dict] = asyncio.Queue()
        sent: asyncio.Queue[dict] = asyncio.Queue()
        lifespan = asyncio.create_task(service.app({"type": "lifespan", "state": {}}, messages.get, sent.put))
        await messages.put({"type": "lifespan.startup"})
        assert (await sent.get())["type"] == "lifespan.startup.complete"
        try:
            return await story(service)
        finally:
            await messages.put({"type": "lifespan.shutdown"})
            await lifespan

    try:
        return asyncio.run(whole())
    finally:
        service.experiment.close()
