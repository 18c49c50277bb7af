"""A service for an hour: good users at a steady rate, attacks beside them, and at the end everything is counted again.

    python -m benchmarks.soak [--minutes 60] [--rate 500] [--rankers 40] [--folder FOLDER]

Users search, reload, go to page two, report their clicks once, in parts, or never. Prints a line each minute, and at
the end what is wrong: a good request without a good answer, an attack with another answer than it should have, a page
or a click that was acknowledged and is not in the store exactly once. Whoever is not answered for is not waited for:
requests are sent when they are due, and times count from then.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import math
import random
import secrets
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from array import array
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.attacks import WANTED
from ltr_duel.live import Experiment, check_store
from ltr_duel.replay.client import Address, Answer, Connection, address_of

ASK, READ = "soak-key-of-the-site", "soak-key-of-prometheus"
CONNECTIONS = 32
USERS = 50_000  # in turn, so that no user has two pages within `sticky`
DOCUMENTS, LIMIT, DEADLINE = 20, 10, 60
CONFIG = """
[experiment]
name = "soak"
rankers = {rankers}
policy = "rucb"
top = 20
deadline = {deadline}
sticky = 30

[serve]
port = 0
key_file = "live.keys"
api_key_file = "api.keys"
"""
_NUMBER = struct.Struct(">16sQQ")


class Keyed(Connection):
    """A connection whose requests have an idempotency key, as those of `ltr_duel.client` have."""

    def __init__(self, address: Address, api_key: str) -> None:
        super().__init__(address, api_key)
        self._plain = self._head

    async def post(self, path: str, body: bytes) -> Answer:
        self._head = f"{self._plain}idempotency-key: {secrets.token_hex(8)}\r\n"
        return await super().post(path, body)


class Site:
    """Sends the requests of users, and takes note of what is acknowledged."""

    def __init__(self, address: Address, rankers: list[str]) -> None:
        self._rng, self._free = random.Random(0), asyncio.Queue[Keyed]()
        for _ in range(CONNECTIONS):
            self._free.put_nowait(Keyed(address, ASK))
        self._lists = [json.dumps(self._list_of(rankers)).encode() for _ in range(64)]
        self.wrong: Counter[str] = Counter()
        self.times, self.sent = array("f"), 0
        self.late = 0  # reports that this machine was too busy to send before the deadline
        self.lost = 0  # searches without an answer, whose pages may be there
        self.clicks: dict[int, int] = {}  # page -> clicked places, a bit each, -1 for a page that was not reported

    def _list_of(self, rankers: list[str]) -> dict[str, list[str]]:
        documents = [f"document {self._rng.randrange(10**6)}" for _ in range(DOCUMENTS + 10)]
        return {name: self._rng.sample(documents, DOCUMENTS) for name in rankers}

    async def ask(self, path: str, body: bytes, expires: float = math.inf) -> Any:
        """Return an answer, None for what is no good one; ``expires`` is the deadline of a page."""
        due, self.sent = time.perf_counter(), self.sent + 1
        connection = await self._free.get()
        try:
            answer = await connection.post(path, body)
        except (OSError, ValueError) as error:
            self.wrong[f"{path}: {error}"] += 1
            return None
        finally:
            self._free.put_nowait(connection)
            self.times.append(time.perf_counter() - due)
        if answer.status == 410 and time.time() > expires:
            self.late += 1
            return None
        if answer.status != 200:
            self.wrong[f"{path}: {answer.status} {answer.body.decode()[:80]}"] += 1
            return None
        return json.loads(answer.body)

    async def search(self, number: int) -> None:
        """Ask for a page, look at it, and report."""
        query = {"query": f"query {number % 997}", "user": f"user {number % USERS}", "limit": LIMIT}
        first = await self._page(query)
        if first is None:
            self.lost += 1
            return
        page, seen = _number_of(first["token"]), first["page"]
        if page in self.clicks:
            self.wrong["a page was shown to two users"] += 1
        self.clicks[page] = -1
        chance = self._rng.random()
        if chance < 0.15:  # a reload, or page two
            more = {"offset": LIMIT, "token": first["token"]} if chance < 0.1 else {}
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
        if await self.ask("/clicks", json.dumps(said).encode(), first["expires"]):
            page = _number_of(first["token"])
            before = max(self.clicks[page], 0)
            self.clicks[page] = before | sum(1 << place for place in places)


def _number_of(token: str) -> int:
    said = token.split(".")[2]
    return int(_NUMBER.unpack(base64.urlsafe_b64decode(said + "=" * (-len(said) % 4)))[1])


async def users(site: Site, minutes: float, rate: float, service: psutil.Process) -> list[float]:
    """Let users search at a rate; print a line each minute, and return the memory of the service at each, in MB."""
    searches, began, number = set[asyncio.Task[None]](), time.monotonic(), 0
    memory, cpu, done = list[float](), sum(service.cpu_times()[:2]), 0
    print("minute requests/s wrong  p50 ms  p99 ms  memory MB  CPU %", flush=True)
    while (now := time.monotonic() - began) < 60 * minutes:
        if now >= 60 * (len(memory) + 1):
            memory.append(service.memory_info().rss / 1e6)
            times, used = np.array(site.times[done:]) * 1000, sum(service.cpu_times()[:2])
            p50, p99 = np.quantile(times, [0.5, 0.99])
            print(
                f"{len(memory):6} {len(times) / 60:10.0f} {site.wrong.total():5} {p50:7.1f} {p99:7.1f}"
                f" {memory[-1]:10.1f} {(used - cpu) / 0.6:6.0f}",
                flush=True,
            )
            done, cpu = len(site.times), used
        while number < now * rate / 2.1:  # requests of a search
            task = asyncio.create_task(site.search(number))
            searches.add(task)
            task.add_done_callback(searches.discard)
            number += 1
        await asyncio.sleep(0.005)
    await asyncio.gather(*searches)
    return memory


def miscounted(store: Path, clicks: dict[int, int], lost: int) -> list[str]:
    """Return what was acknowledged and is not in a closed store exactly once, and what else there is.

    Parameters
    ----------
    store : Path
    clicks : dict of int to int
        Page -> acknowledged places, a bit each; -1 for a page whose report was not acknowledged, or not sent.
    lost : int
        Searches that were not answered: there may be so many pages more.
    """
    found = check_store(store)
    with closing(sqlite3.connect(store)) as db:
        pages = {page for (page,) in db.execute("SELECT page FROM pages")}
        ended = Counter[int]()
        kept = dict[int, int]()
        for page, places in db.execute(
            "SELECT page, clicks FROM events WHERE kind > 0 UNION ALL SELECT page, clicks FROM gathered"
        ):
            ended[page] += 1
            kept[page] = sum(1 << place for place in array("H", places or b""))
    if missing := clicks.keys() - pages:
        found.append(f"{len(missing):,} acknowledged pages are missing, such as {min(missing)}")
    if len(pages) - len(clicks) > lost:
        found.append(f"{len(pages) - len(clicks):,} pages were acknowledged to no user, and {lost:,} answers were lost")
    if twice := [page for page, times in ended.items() if times > 1]:
        found.append(f"{len(twice):,} pages count twice, such as {twice[0]}")
    if other := [page for page, places in clicks.items() if places >= 0 and kept.get(page) != places]:
        found.append(f"{len(other):,} pages have other clicks than were acknowledged, such as {other[0]}")
    if more := [page for page, places in clicks.items() if places < 0 and kept.get(page)]:
        found.append(f"{len(more):,} pages have clicks that were not acknowledged, such as {more[0]}")
    return found


def soak(folder: Path, minutes: float, rate: float, rankers: int) -> list[str]:
    """Return what is wrong."""
    names = [f"ranker {k}" for k in range(rankers)]
    (folder / "live.toml").write_text(CONFIG.format(rankers=json.dumps(names), deadline=DEADLINE))
    (folder / "api.keys").write_text(f"{ASK} ask site\n{READ} read prometheus\n")
    words = [sys.executable, "-m", "ltr_duel.cli.main", "serve", str(folder / "live.toml")]
    with (folder / "log").open("wb") as log, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log) as child:
        assert child.stdout is not None
        try:
            url = child.stdout.readline().decode().split()[-1]
            words = [sys.executable, "-m", "benchmarks.attacks", url, ASK, READ, str(60 * minutes)]
            with subprocess.Popen(words, stdout=subprocess.PIPE) as attacks:
                site, memory = asyncio.run(_used(url, names, minutes, rate, psutil.Process(child.pid)))
                answered = json.loads(attacks.communicate()[0])
        finally:
            child.terminate()
    print(f"\n{site.sent:,} requests, {len(site.clicks):,} pages, {site.late:,} reports sent too late")
    print("p50, p99, largest (ms):", end=" ")
    print(", ".join(f"{1000 * one:.1f}" for one in np.quantile(site.times, [0.5, 0.99, 1.0])))
    if len(memory) > 3:
        half = memory[len(memory) // 2 :]
        slope = np.polyfit(np.arange(len(half)), half, 1)[0] * 60
        print(f"memory: {memory[0]:.0f} MB after a minute, {half[0]:.0f} half-way, {half[-1]:.0f} at the end;", end=" ")
        print(f"{slope:+.1f} MB an hour in the second half")
    for kind, status, count in answered:
        print(f"{count:8,} {kind}: {status}{'' if status in WANTED[kind] else '  <- wrong'}")
    with Experiment.open(folder / "live.db") as experiment:
        counts = experiment.counts
        print(
            f"{counts.pages:,} pages: {counts.clicked:,} clicked, {counts.unclicked:,} not, {counts.expired:,} expired"
        )
    return [
        *(f"{count:,} x {what}" for what, count in site.wrong.items()),
        *(f"{count:,} x {kind}: {status}" for kind, status, count in answered if status not in WANTED[kind]),
        *miscounted(folder / "live.db", site.clicks, site.lost),
    ]


async def _used(url: str, names: list[str], minutes: float, rate: float, service: psutil.Process) -> Any:
    site = Site(address_of(url), names)
    return site, await users(site, minutes, rate, service)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rate", type=float, default=500, help="good requests a second")
    parser.add_argument("--rankers", type=int, default=40)
    parser.add_argument("--folder", type=Path, help="where the store stays; by default it goes")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        wrong = soak(folder, given.minutes, given.rate, given.rankers)
    print("\n".join(["", *wrong]) if wrong else "\neverything that was acknowledged counts exactly once")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
