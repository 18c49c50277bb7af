"""A service in this process, called without sockets."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, NamedTuple

from ltr_duel.live import Experiment, Keys, Settings
from ltr_duel.serve import ApiKeys, ServiceSettings, make_app
from ltr_duel.serve.lines import LOG, JsonLines

RANKERS = ("bm25", "dense", "mixed")
LISTS = {"bm25": ["a", "b", "c", "d"], "dense": ["d", "c", "b"], "mixed": ["c", "e", "a"]}
KEYS = Keys({"one": bytes(range(32))})
KEY = "0123456789abcdef"  # the API key


def log_to(stream: io.StringIO) -> None:
    """Write the log of the latest service to a stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    LOG.handlers = [handler]
    LOG.setLevel(logging.INFO)


class Clock:
    """A clock set by the test."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


class Said(NamedTuple):
    """An answer."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Service:
    """An application with its dependencies; `call` sends a request within a running loop."""

    def __init__(self, folder, *, keys=(KEY,), clock=None, limits=None, user_key=None, **settings) -> None:
        given = {"name": "test", "rankers": RANKERS, "policy": "rucb", "seed": 0, **settings}
        self.clock = clock or Clock()
        self.experiment = Experiment.open(
            folder / "live.db", Settings(**given), keys=KEYS, clock=self.clock, user_key=user_key
        )
        self.log = io.StringIO()
        self.limits = ServiceSettings(**{"log": "all", "answer_seconds": 60, **(limits or {})})
        self.app = make_app(self.experiment, self.limits, ApiKeys(list(keys)))
        log_to(self.log)

    async def call(
        self,
        method: str,
        path: str,
        body: bytes | Iterable[bytes] | dict = b"",
        *,
        headers: dict[str, str] | None = None,
        pause: float = 0.0,
    ) -> Said:
        """Send one request; each part of a body follows a pause."""
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        parts = [body] if isinstance(body, bytes) else list(body)
        said = {"authorization": f"Bearer {KEY}", "content-type": "application/json", **(headers or {})}
        raw = [(name.encode(), value.encode("latin-1")) for name, value in said.items() if value]
        messages = [
            {"type": "http.request", "body": part, "more_body": k + 1 < len(parts)} for k, part in enumerate(parts)
        ]
        sent: list[dict] = []

        async def receive() -> dict:
            if pause:
                await asyncio.sleep(pause)
            return messages.pop(0) if messages else {"type": "http.disconnect"}

        async def send(message: dict) -> None:
            sent.append(message)

        path, _, query = path.partition("?")
        scope = {
            "type": "http", "http_version": "1.1", "method": method, "path": path, "raw_path": path.encode(),
            "query_string": query.encode(), "root_path": "", "scheme": "http", "headers": raw, "state": {},
            "server": ("127.0.0.1", 8080), "client": ("127.0.0.1", 1),
        }  # fmt: skip
        await self.app(scope, receive, send)
        answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Said(sent[0]["status"], b"".join(one["body"] for one in sent[1:]), answered)

    async def decide(self, query: str = "shoes", lists: dict | None = None) -> Any:
        """Request a page."""
        said = await self.call("POST", "/decide", {"query": query, "rankings": lists or LISTS})
        assert said.status == 200, said.body
        return said.json

    async def clicks(self, token: str, clicks: list) -> Said:
        """Report clicks."""
        return await self.call("POST", "/clicks", {"token": token, "clicks": clicks})


def using(service: Service, story: Callable[[Service], Coroutine[Any, Any, Any]]) -> Any:
    """Run a scenario with a service from start to end, and close its experiment."""

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
