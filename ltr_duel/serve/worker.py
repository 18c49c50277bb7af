"""The only thread that uses the store; requests that arrive during a transaction form the next batch."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ltr_duel.live import BusyError, Decide, Decision, Drop, Experiment, LiveState, Record, StoreError, Switch
from ltr_duel.serve.lines import write

_ROOM = 500  # maximum number of queued requests
_MOST = 256  # maximum number of requests in a batch, so that the next requests do not wait for long
_STATE_LASTS = 1.0  # minimum lifetime of a state in seconds
_STALL = 3.0  # if a transaction takes more seconds than this, the store counts as stalled
_PAUSE = 4  # lifetime of a state as a multiple of its computing time, so that states use at most a fifth of a core

_Call = Decide | Record | Drop | Switch


class Worker:
    """Queue at most `_ROOM` requests from the event loop, and answer them when their changes are on disk."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._thread = ThreadPoolExecutor(1, "experiment")
        self._waiting: deque[tuple[_Call, asyncio.Future[Any]]] = deque()
        self._runs: asyncio.Task[None] | None = None
        self._looks = ThreadPoolExecutor(1, "state")
        self._state: asyncio.Future[LiveState] | None = None
        self.failed = 0  # number of transactions that failed
        self.broken = ""  # error of the last transaction, or empty
        self._began = math.inf  # loop time at which the current transaction began
        self._state_ends = 0.0  # loop time at which the state becomes outdated
        self._state_of = experiment.switches  # switches when the computation of the state began

    async def ask(self, request: _Call) -> Any:
        """Return the answer to a request when its changes are on disk.

        Raises the error of the request, or `BusyError` if the queue is full.
        """
        if self.full:
            raise BusyError("too many requests are waiting for an answer")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._runs is None:
            self._runs = asyncio.create_task(self._work())
        return await future

    async def state(self) -> LiveState:
        """Return the latest state, or a new state if the latest is outdated or if a switch has been used since then."""
        loop = asyncio.get_running_loop()
        while True:
            began, switches = loop.time(), self._experiment.switches
            is_old = began > self._state_ends or switches != self._state_of
            if self._state is None or (self._state.done() and is_old):

                def made(_: asyncio.Future[LiveState], began: float = began) -> None:
                    self._state_ends = loop.time() + max(_STATE_LASTS, _PAUSE * (loop.time() - began))

                self._state = loop.run_in_executor(self._looks, self._experiment.state)
                self._state.add_done_callback(made)
                self._state_of = switches
            state = await asyncio.shield(self._state)
            if switches == self._state_of:  # otherwise a switch was used meanwhile
                return state

    @property
    def waiting(self) -> int:
        """Number of queued requests."""
        return len(self._waiting)

    @property
    def full(self) -> bool:
        """Whether the queue is full."""
        return self.waiting >= _ROOM

    @property
    def stalls(self) -> bool:
        """Whether the current transaction is taking too long."""
        return asyncio.get_running_loop().time() - self._began > _STALL

    async def try_again(self) -> None:
        """Try to write to the store after a failure."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._experiment.try_store)
            self._works(None)
        except StoreError as error:
            self._works(error)

    async def expire(self) -> int:
        """Close expired pages, in parts, because requests wait meanwhile; return the number of closed pages."""
        loop, closed, some = asyncio.get_running_loop(), 0, _MOST
        while some == _MOST:
            try:
                some = await loop.run_in_executor(self._thread, self._experiment.expire, _MOST)
            except StoreError as error:
                self._works(error)
                raise
            closed += some
        return closed

    async def retain(self) -> None:
        """Forget old users and queries, in parts, because requests wait meanwhile; log the number of pages."""
        loop, parts, forgotten = asyncio.get_running_loop(), self._experiment.retain(), 0

        def some() -> tuple[int, bool | None]:
            try:
                return next(parts), None
            except StopIteration as end:
                return 0, end.value

        believed = None
        while believed is None:
            try:
                part, believed = await loop.run_in_executor(self._thread, some)
            except StoreError as error:
                self._works(error)
                raise
            forgotten += part
        if forgotten:
            write("forgotten", pages=forgotten)
        if not believed:
            message = "the clock is days ahead of the previous check; nothing is forgotten until the time is confirmed"
            write("clock", message=message)

    def _works(self, error: Exception | None) -> None:
        """Record whether the store works, and log each change once."""
        broken = ""
        if error:
            broken = str(error) if isinstance(error, StoreError) else "an error of the service"
            if error.__cause__:  # the message may quote the store
                broken = "the store cannot be read"
        if bool(broken) != bool(self.broken):
            write("store", message=broken or "the store can be written again")
        self.broken = broken

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch = self._next_batch()
            if not batch:
                continue
            self._began, before = loop.time(), self._experiment.counts.pages
            try:
                answers: Any = await loop.run_in_executor(
                    self._thread, self._experiment.answer, [request for request, _ in batch]
                )
                self._works(None)
            except Exception as error:  # StoreError or an unexpected error; each request of the batch receives it
                answers = [error] * len(batch)
                self._works(error)
                self.failed += 1
            self._began = math.inf
            delivered = {
                answer.page
                for (_, future), answer in zip(batch, answers, strict=True)
                if isinstance(answer, Decision) and not future.done()
            }
            for (_, future), answer in zip(batch, answers, strict=True):
                if future.done():  # the client received 503 instead of the page
                    if isinstance(answer, Decision) and answer.page > before and answer.page not in delivered:
                        # closed first, so that no later search gets this page
                        self._waiting.appendleft((Drop(answer.page), loop.create_future()))
                    continue
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                    future.exception()  # marks the error as retrieved: no caller awaits the future of a dropped page
                else:
                    future.set_result(answer)
        self._runs = None

    def _next_batch(self) -> list[tuple[_Call, asyncio.Future[Any]]]:
        """Take the next requests from the queue, except for requests that have timed out."""
        some = [self._waiting.popleft() for _ in range(min(_MOST, len(self._waiting)))]
        return [one for one in some if not one[1].done()]

    async def close(self) -> None:
        """Answer the queued requests and end the threads."""
        if self._runs is not None:
            await self._runs
        for threads in (self._thread, self._looks):
            await asyncio.to_thread(threads.shutdown)
