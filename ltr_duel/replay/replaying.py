"""Simulated users of a running service, who send searches and clicks over HTTP."""

from __future__ import annotations

import asyncio
import json
import time
from array import array
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ltr_duel.core import InputError, errors, stream
from ltr_duel.live import Decision
from ltr_duel.replay.client import Connection, address_of
from ltr_duel.replay.users import SimulatedUsers

_QUANTILES = (0.5, 0.9, 0.99, 0.999)


@dataclass
class Replayed:
    """Counts and times of a replay."""

    pages: int = 0
    plain: int = 0  # pages of a single ranker
    clicked: int = 0
    lost: int = 0  # pages whose clicks were never reported
    repeated: int = 0  # requests sent again after a refusal or a lost connection
    refused: Counter[tuple[int, str]] = field(default_factory=Counter)  # number of refusals by status and message
    seconds: float = 0.0
    times: dict[str, array[float]] = field(default_factory=lambda: {"/decide": array("d"), "/clicks": array("d")})

    @property
    def rate(self) -> float:
        """Answered requests per second."""
        return sum(map(len, self.times.values())) / max(self.seconds, 1e-9)

    def quantile(self, path: str, share: float) -> float:
        """Return the time, in seconds, within which a share of requests was answered; NaN without requests."""
        times = np.frombuffer(self.times[path])
        return float(np.quantile(times, share)) if len(times) else float("nan")

    def lines(self) -> list[str]:
        """Return a summary in sentences."""
        said = [f"{self.pages:,} pages in {self.seconds:,.1f} s: {self.rate:,.0f} requests per second"]
        for path, times in self.times.items():
            if times:
                milli = [f"{share:.4g} within {1000 * self.quantile(path, share):.2f} ms" for share in _QUANTILES]
                said.append(f"{path}: {', '.join(milli)}; the slowest {1000 * max(times):.2f} ms")
        said.append(f"pages: {self.clicked:,} clicked, {self.plain:,} of a single ranker, {self.lost:,} never reported")
        if self.repeated:
            said.append(f"{self.repeated:,} requests were sent again")
        for (status, sentence), times_refused in self.refused.most_common(5):
            said.append(f"refused {times_refused:,} times with {status}: {sentence}")
        return said


_TRIES, _PAUSE = 8, 0.05  # attempts if the service is busy or away; first pause in seconds, doubled each time
_AGAIN = (429, 503)
_COUNTED = 409  # status of a repeated report that was already counted


def replay(
    users: SimulatedUsers,
    url: str,
    *,
    steps: int = 10_000,
    concurrency: int = 1,
    lost: float = 0.0,
    api_key: str = "",
    allow_remote: bool = False,
    seed: int = 0,
    progress: Callable[[int], object] = lambda pages: None,
) -> Replayed:
    """Run simulated users who search and click at a service.

    With ``concurrency=1``, the service's policy takes the same path as in the first repetition of `simulate` with the
    same seed. Simulations have no pages of a single ranker; such a page is reported without clicks, and its query is
    sent again.

    Parameters
    ----------
    users : SimulatedUsers
    url : str
        Address of the service, for example ``http://127.0.0.1:8080``.
    steps : int
        Number of pages.
    concurrency : int
        Number of simultaneous users.
    lost : float
        Share of pages, sampled at random, whose clicks are never reported.
    api_key : str
    allow_remote : bool
        Whether the service may be on another machine.
    seed : int
        Seed for sampling the lost pages.
    progress : function
        Called with the number of pages after every 100 pages.

    Returns
    -------
    Replayed

    Raises
    ------
    InputError
        If a number is out of range, the address is not allowed or does not respond, or the service refuses a request.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> users = SimulatedUsers(feature_rankers(make_corpus(queries=10, documents=8, features=2)))
    >>> replay(users, "http://example.org")
    Traceback (most recent call last):
    ltr_duel.core.errors.InputError: example.org is another machine, ...
    """
    steps = errors.require_whole("the number of steps", steps, 1)
    concurrency = errors.require_whole("the number of users at once", concurrency, 1, 10_000)
    errors.require_between("the share of lost pages", lost, 0, 1)
    address = address_of(url, allow_remote=allow_remote)
    run = Replay(users, lambda: Connection(address, api_key), steps, lost, stream(seed, "replay", "lost"), progress)
    return asyncio.run(run.all(concurrency))


class Replay:
    """The users of one replay; ``losing`` is the random generator for lost pages."""

    def __init__(
        self,
        users: SimulatedUsers,
        connect: Callable[[], Connection],
        steps: int,
        lost: float,
        losing: np.random.Generator,
        progress: Callable[[int], object] = lambda pages: None,
    ) -> None:
        self._users, self._connect, self._left = users, connect, steps
        self._lost, self._losing, self._progress = lost, losing, progress
        self._found = Replayed()

    async def all(self, concurrency: int) -> Replayed:
        """Run ``concurrency`` users simultaneously."""
        began = time.perf_counter()
        users = [asyncio.create_task(self._one_after_the_other()) for _ in range(concurrency)]
        try:
            await asyncio.gather(*users)
        finally:
            for user in users:
                user.cancel()
            await asyncio.gather(*users, return_exceptions=True)
        self._found.seconds = time.perf_counter() - began
        return self._found

    async def _one_after_the_other(self) -> None:
        connection, found, query = self._connect(), self._found, -1
        try:
            while self._left > 0:
                self._left -= 1
                query = self._users.next_query() if query < 0 else query
                page = _page(await self._ask(connection, "/decide", self._users.body(query)))
                found.pages += 1
                clicks: list[int] = []
                if len(page.rankers) > 1:
                    clicks = self._users.clicks(query, page.shown)
                    query = -1
                else:
                    found.plain += 1
                if self._lost and self._losing.random() < self._lost:
                    found.lost += 1
                else:
                    found.clicked += bool(clicks)
                    report = json.dumps({"token": page.token, "clicks": clicks}).encode()
                    await self._ask(connection, "/clicks", report)
                if found.pages % 100 == 0:
                    self._progress(found.pages)
        finally:
            connection.close()

    async def _ask(self, connection: Connection, path: str, body: bytes) -> bytes:
        """Return the answer to a request, which is sent again while the service is busy or away."""
        pause, status, sentence = _PAUSE, 0, ""
        for attempt in range(_TRIES):
            began = time.perf_counter()
            try:
                status, answer = await connection.post(path, body)
            except ConnectionError as error:
                status, sentence = 0, str(error)
            except InputError as error:
                if attempt == 0:
                    raise
                status, sentence = 0, str(error)
            else:
                self._found.times[path].append(time.perf_counter() - began)
                if status == 200 or (status == _COUNTED and attempt):
                    return answer
                sentence = _sentence(answer)
                self._found.refused[status, sentence] += 1
                if status not in _AGAIN:
                    break
            self._found.repeated += 1
            await asyncio.sleep(pause)
            pause *= 2
        raise InputError(f"the service refuses {path}{f' with {status}' if status else ''}: {sentence}")


def _page(answer: bytes) -> Decision:
    """Parse an answer of ``/decide``."""
    try:
        said = json.loads(answer)
        return Decision(0, tuple(said["page"]), tuple(said["rankers"]), said["token"], float(said["expires"]))
    except (ValueError, KeyError, TypeError):
        raise InputError("this address is not the service of a live experiment") from None


def _sentence(answer: bytes) -> str:
    try:
        return str(json.loads(answer)["error"])
    except (ValueError, KeyError, TypeError):
        return "no reason given"
