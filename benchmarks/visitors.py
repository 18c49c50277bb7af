"""A search site whose users search, reload, go to page two, and report clicks once, in parts, or never.

Each request is due at its scheduled time, even if earlier requests have no answer yet; the response time starts then.
"""

from __future__ import annotations

import asyncio
import base64
import json
import math
import random
import secrets
import struct
import time
from array import array
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil

ASK = "soak-key-of-the-site"
DEADLINE, STICKY, TOP = 60, 30, 20
_CONNECTIONS, _LIMIT = 32, 10
_PATIENCE = 60.0  # seconds
_USERS = 50_000  # number of users that search in turn, so that no user has two pages within `STICKY`
_CLAIM = struct.Struct(">16sQQ")  # parts of a token


class Connection:
    """A persistent connection; its requests have an idempotency key, like requests of `ltr_duel.client`."""

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Return the status and the body of the answer."""
        lines = [
            f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {ASK}\r\ncontent-type: application/json",
            f"idempotency-key: {secrets.token_hex(8)}\r\ncontent-length: {len(body)}\r\n\r\n",
        ]
        try:
            async with asyncio.timeout(_PATIENCE):
                if self._streams is None:
                    self._streams = await asyncio.open_connection(self._address.hostname, self._address.port)
                reader, writer = self._streams
                writer.write("\r\n".join(lines).encode() + body)
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
                answer = await reader.readexactly(length)
        except (OSError, EOFError):
            self.close()
            raise
        if b"connection: close" in head:
            self.close()
        return int(head.split(b" ", 2)[1]), answer

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()
        self._streams = None


class Site:
    """Sends the requests of users, and records the acknowledged pages and clicks."""

    def __init__(self, url: str, rankers: list[str]) -> None:
        self._rng, self._free = random.Random(0), asyncio.Queue[Connection]()
        for _ in range(_CONNECTIONS):
            self._free.put_nowait(Connection(url))
        self._lists = [json.dumps(self._list_of(rankers)).encode() for _ in range(64)]
        self.wrong: Counter[str] = Counter()
        self.times, self.sent = array("f"), 0
        self.late = 0  # reports that a busy machine could not send before the deadline
        self.unsure: set[int] = set()  # pages whose report had no answer; the report may be counted
        self.lost = 0  # searches without an answer; the store may contain their pages
        self.clicks: dict[int, int] = {}  # page -> clicked positions, one bit each; -1 for a page without a report

    def _list_of(self, rankers: list[str]) -> dict[str, list[str]]:
        documents = [f"document {self._rng.randrange(10**6)}" for _ in range(TOP + 10)]
        return {name: self._rng.sample(documents, TOP) for name in rankers}

    def close(self) -> None:
        """End all connections."""
        while not self._free.empty():
            self._free.get_nowait().close()

    async def ask(self, path: str, body: bytes, expires: float = math.inf) -> Any:
        """Return a valid answer, otherwise None; ``expires`` is the deadline of a page."""
        due, self.sent = time.perf_counter(), self.sent + 1
        connection = await self._free.get()
        try:
            status, answer = await connection.post(path, body)
        except (OSError, EOFError, ValueError) as error:
            self.wrong[f"{path}: {error}"] += 1
            return None
        finally:
            self._free.put_nowait(connection)
            self.times.append(time.perf_counter() - due)
        if status == 410 and time.time() > expires:
            self.late += 1
            return None
        if status != 200:
            self.wrong[f"{path}: {status} {answer.decode()[:80]}"] += 1
            return None
        return json.loads(answer)

    async def search(self, number: int) -> None:
        """Request a page, look at it, and report the clicks."""
        query = {"query": f"query {number % 997}", "user": f"user {number % _USERS}", "limit": _LIMIT}
        first = await self._page(query)
        if first is None:
            self.lost += 1
            return
        page, seen = number_of(first["token"]), first["page"]
        if page in self.clicks:
            self.wrong["a page was shown to two users"] += 1
        self.clicks[page] = -1
        chance = self._rng.random()
        if chance < 0.15:  # a reload, or page two
            more = {"offset": _LIMIT, "token": first["token"]} if chance < 0.1 else {}
            again = await self._page(query | more)
            if again and again["token"] != first["token"]:
                self.wrong["a page was not shown again"] += 1
            seen = seen + again["page"] if again and more else seen
        await asyncio.sleep(min(self._rng.expovariate(0.2), DEADLINE / 3))
        places = [place for place in range(len(seen)) if self._rng.random() < 0.08]
        way = self._rng.random()
        if way < 0.8:
            await self._report(first, seen, places, final=True)
        elif way < 0.9:
            for place in places:
                await self._report(first, seen, [place], final=False)

    async def _page(self, asked: dict[str, Any]) -> Any:
        text = json.dumps(asked).encode()
        said = await self.ask("/decide", text[:-1] + b', "rankings": ' + self._rng.choice(self._lists) + b"}")
        if said and said["served"] != "experiment":
            self.wrong[f"served: {said['served']}"] += 1
            return None
        return said

    async def _report(self, first: Any, seen: list[str], places: list[int], *, final: bool) -> None:
        said = {"token": first["token"], "clicks": [seen[place] for place in places], "final": final}
        page = number_of(first["token"])
        if not await self.ask("/clicks", json.dumps(said).encode(), first["expires"]):
            self.unsure.add(page)
        else:
            before = max(self.clicks[page], 0)
            self.clicks[page] = before | sum(1 << place for place in places)


def number_of(token: str) -> int:
    said = token.split(".")[2]
    return int(_CLAIM.unpack(base64.urlsafe_b64decode(said + "=" * (-len(said) % 4)))[1])


async def users(site: Site, minutes: float, rate: float, service: psutil.Process) -> list[float]:
    """Simulate users at a rate; print a line each minute, and return the service's memory each minute, in MB."""
    searches, began, number = set[asyncio.Task[None]](), time.monotonic(), 0
    memory, cpu, done = list[float](), sum(service.cpu_times()[:2]), 0
    print("minute requests/s wrong  p50 ms  p99 ms  memory MB  CPU %", flush=True)
    while (now := time.monotonic() - began) < 60 * minutes:
        if now >= 60 * (len(memory) + 1):
            found = service.memory_info()
            memory.append((found.rss - found.shared) / 1e6)  # shared pages of programs and libraries vary
            times, used = np.array(site.times[done:]) * 1000, sum(service.cpu_times()[:2])
            p50, p99 = np.quantile(times, [0.5, 0.99])
            print(
                f"{len(memory):6} {len(times) / 60:10.0f} {site.wrong.total():5} {p50:7.1f} {p99:7.1f}"
                f" {memory[-1]:10.1f} {(used - cpu) / 0.6:6.0f}",
                flush=True,
            )
            done, cpu = len(site.times), used
        while number < now * rate / 2.1:  # requests per search
            task = asyncio.create_task(site.search(number))
            searches.add(task)
            task.add_done_callback(searches.discard)
            number += 1
        await asyncio.sleep(0.005)
    await asyncio.gather(*searches)
    return memory
