"""Attack a running service with half-open connections, garbage, endless bodies, and wrong keys.

    python -m benchmarks.attacks http://127.0.0.1:8080 ASK_KEY READ_KEY SECONDS

The program connects from 127.0.0.2 (Linux), so that the limit of connections per address does not affect the users at
127.0.0.1. It prints, as JSON, the number of answers by kind of request and status. ``WANTED`` contains the correct
answers; ``503`` is the answer to a connection above a limit.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

SOURCE = "127.0.0.2"
HALF_OPEN = 200  # number of half-open connections
PATIENCE = 30.0  # seconds after which a connection that is still open counts as an error
WANTED = {
    "half a head": {"408", "503"},
    "a byte after the answer": {"401", "503"},
    "garbage": {"400", "408", "431", "503", "closed"},
    "a length of 10 MB": {"413", "503"},
    "chunks without end": {"413", "503"},
    "brackets": {"400", "503"},
    "a wrong key": {"401", "503"},
    "a forged token": {"403", "503"},
    "/metrics": {"200"},
    "/": {"200"},
    "/state": {"200"},
}


def head(method: str, path: str, key: str, more: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1", f"authorization: Bearer {key}"]
    return "\r\n".join([*lines, "content-type: application/json", more, "\r\n"]).encode()


def post(path: str, key: str, body: bytes) -> bytes:
    return head("POST", path, key, f"connection: close\r\ncontent-length: {len(body)}") + body


async def exchange(address: SplitResult, source: str, *parts: bytes, pause: float = 0.0) -> str:
    """Send the parts, wait until the service closes the connection, and return the status of the first answer."""
    reader, writer = await asyncio.open_connection(address.hostname, address.port, local_addr=(source, 0))
    answer = asyncio.create_task(reader.read(65536))
    try:
        for part in parts:
            writer.write(part)
            with suppress(ConnectionError):
                await writer.drain()
            await asyncio.sleep(pause)
            if writer.is_closing():
                break
        async with asyncio.timeout(PATIENCE):
            first = await answer
            while await reader.read(65536):
                pass
        words = first.split(b" ", 2)
        return words[1].decode() if first.startswith(b"HTTP/") else "closed"
    except ConnectionError:
        return "closed" if not answer.done() or answer.exception() else answer.result().split(b" ", 2)[1].decode()
    except TimeoutError:
        return "held"
    finally:
        answer.cancel()
        writer.close()


async def attack(address: SplitResult, ask: str, read: str, seconds: float) -> Counter[tuple[str, str]]:
    """Send all kinds of requests until the time is over; return the number of answers by kind and status."""
    found: Counter[tuple[str, str]] = Counter()
    rng, ends = random.Random(1), time.monotonic() + seconds
    chunks = head("POST", "/decide", ask, "transfer-encoding: chunked")
    unread = head("POST", "/decide", "a-wrong-key-of-16", "content-length: 1000")
    forged = json.dumps({"token": f"v1.first.{'A' * 43}.{'B' * 43}", "clicks": []}).encode()

    async def again(kind: str, wait: float, parts: Callable[[], tuple[bytes, ...]], **how: float) -> None:
        source = str(address.hostname) if kind.startswith("/") else SOURCE
        while time.monotonic() < ends:
            began = time.monotonic()
            try:
                status = await exchange(address, source, *parts(), **how)
            except OSError as error:
                status = type(error).__name__
            found[kind, status] += 1
            await asyncio.sleep(max(0.0, wait - (time.monotonic() - began)))

    def scrape(path: str) -> tuple[bytes]:
        return (head("GET", path, read, "connection: close"),)

    kinds = [again("half a head", 1.0, lambda: (b"GET /metrics HTTP/1.1\r\nhost: 1",)) for _ in range(HALF_OPEN)]
    kinds += [again("a byte after the answer", 0.5, lambda: (unread, b"x", b"x"), pause=0.2) for _ in range(20)]
    kinds += [
        again("garbage", 0.2, lambda: (rng.randbytes(rng.randrange(1, 3000)),)),
        again(
            "a length of 10 MB", 0.5, lambda: (head("POST", "/decide", ask, "content-length: 10000000"), b"x" * 9999)
        ),
        again("chunks without end", 1.0, lambda: (chunks, *[b"4000\r\n" + b" " * 0x4000 + b"\r\n"] * 32)),
        again("brackets", 0.5, lambda: (post("/decide", ask, b"[" * 100_000),)),
        again("a wrong key", 0.05, lambda: (post("/decide", rng.randbytes(12).hex(), b"{}"),)),
        again("a forged token", 0.1, lambda: (post("/clicks", ask, forged),)),
        *(again(path, 1.0, lambda path=path: scrape(path)) for path in ("/metrics", "/", "/state")),
    ]
    await asyncio.gather(*kinds)
    return found


def main() -> None:
    url, ask, read, seconds = sys.argv[1:]
    found = asyncio.run(attack(urlsplit(url), ask, read, float(seconds)))
    print(json.dumps(sorted([*kind, count] for kind, count in found.items())))


if __name__ == "__main__":
    main()
