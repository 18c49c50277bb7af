"""A closed-loop load generator: simulated users of a running service, each of whom waits for each answer.

Each page is requested by another user, who reports its view and its clicks.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from array import array
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from ltr_duel.live import Visitors

_PATIENCE = 60.0  # seconds


class Visits:
    """What the service acknowledged, and how long the answers took."""

    def __init__(self) -> None:
        self.times = {"/decide": array("d"), "/events": array("d")}  # seconds of each answer
        self.counted: Counter[str] = Counter()  # answers by path; pages outside of the experiment by `served`
        self.error = ""  # why the visits ended early

    def quantile(self, path: str, share: float) -> float:
        """Return the time, in seconds, within which a share of requests was answered."""
        return float(np.quantile(np.frombuffer(self.times[path]), share))


def visit(users: Visitors, url: str, pages: int, *, several: int = 1, key: str = "") -> Visits:
    """Request pages and report their clicks, by several users at once; the first failure ends all visits."""
    return asyncio.run(_visit(users, url, pages, several, key))


async def _visit(users: Visitors, url: str, pages: int, several: int, key: str) -> Visits:
    visits, left, name = Visits(), iter(range(pages)), secrets.token_hex(4)  # the users of each call are new

    async def one() -> None:
        connection = _Connection(url, key, visits)
        try:
            for k in left:
                query = users.next_query()
                search = {"user": f"{name} {k}", "query": str(query), "rankings": users.lists(query)}
                page = await connection.post("/decide", search)
                visits.counted["/decide" if page["token"] else page["served"]] += 1
                if page["token"]:
                    clicks = [{"kind": "click", "document": document} for document in users.clicks(query, page["page"])]
                    await connection.post("/events", {"token": page["token"], "events": [{"kind": "view"}, *clicks]})
                    visits.counted["/events"] += 1
        except (OSError, EOFError, ValueError) as error:
            visits.error = visits.error or str(error) or type(error).__name__
        finally:
            connection.close()

    tasks = [asyncio.create_task(one()) for _ in range(several)]
    while (running := [task for task in tasks if not task.done()]) and not visits.error:
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return visits


class _Connection:
    """A persistent connection, which measures the time of each answer."""

    def __init__(self, url: str, key: str, visits: Visits) -> None:
        self._address, self._visits = urlsplit(url), visits
        self._head = f"host: {self._address.netloc}\r\nauthorization: Bearer {key}\r\ncontent-type: application/json"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, given: dict[str, Any]) -> Any:
        """Return the answer. Raises `ValueError` for another status than 200."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._address.hostname, self._address.port)
        reader, writer = self._streams
        body, began = json.dumps(given, separators=(",", ":")).encode(), time.perf_counter()
        writer.write(f"POST {path} HTTP/1.1\r\n{self._head}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
        async with asyncio.timeout(_PATIENCE):
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            answer = await reader.readexactly(length)
        self._visits.times[path].append(time.perf_counter() - began)
        if head.split(b" ", 2)[1] != b"200":
            raise ValueError(f"{path}: {answer.decode()}")
        return json.loads(answer)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
