"""The one thread that uses the experiment: the requests that come in meanwhile are its next batch, one transaction."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ltr_duel.live import BusyError, Decide, Decision, Drop, Experiment, Record, State, StoreError, Switch
from ltr_duel.serve.events import EventLog
from ltr_duel.serve.metrics import Metrics

_MOST = 256  # requests of a batch, so that the next ones do not wait for long
_STATE_LASTS = 1.0  # seconds, at least
_STALL = 3.0  # seconds of one transaction after which the store counts as stalled
_PAUSE = 4  # times its computing time is a state new: states take at most a fifth of a core

_Call = Decide | Record | Drop | Switch


class Worker:
    """Takes requests from the loop, at most ``waiting``, and answers them once they are on the disk."""

    def __init__(self, experiment: Experiment, waiting: int, metrics: Metrics, log: EventLog) -> None:
        self._experiment, self._room, self._metrics, self._log = experiment, waiting, metrics, log
        self._thread = ThreadPoolExecutor(1, "experiment")
        self._waiting: deque[tuple[_Call, asyncio.Future[Any]]] = deque()
        self._runs: asyncio.Task[None] | None = None
        self._looks = ThreadPoolExecutor(1, "state")
        self._state: asyncio.Future[State] | None = None
        self.broken = ""  # why the last transaction failed, if it did
        self._began = math.inf  # the loop's time at which the transaction under way began
        self._state_ends = 0.0  # the loop's time at which it becomes old
        self._state_of = experiment.switches  # at its begin

    async def ask(self, request: _Call) -> Any:
        """Return the durable answer to a request, or raise its error; `BusyError` if too many wait."""
        if self.full:
            raise BusyError("too many requests wait for an answer")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        self._metrics.waiting = len(self._waiting)
        if self._runs is None:
            self._runs = asyncio.create_task(self._work())
        return await future

    async def state(self) -> State:
        """Return the latest state, or a new one where that is old, or was begun before a switch was used."""
        loop = asyncio.get_running_loop()
        while True:
            began, switches = loop.time(), self._experiment.switches
            is_old = began > self._state_ends or switches != self._state_of
            if self._state is None or (self._state.done() and is_old):

                def made(_: asyncio.Future[State], began: float = began) -> None:
                    self._state_ends = loop.time() + max(_STATE_LASTS, _PAUSE * (loop.time() - began))

                self._state = loop.run_in_executor(self._looks, self._experiment.state)
                self._state.add_done_callback(made)
                self._state_of = switches
            state = await asyncio.shield(self._state)
            if switches == self._state_of:  # else it was begun before a switch was used
                return state

    @property
    def full(self) -> bool:
        """Whether no further request may wait."""
        return len(self._waiting) >= self._room

    @property
    def stalls(self) -> bool:
        """Whether a transaction waits too long for the disk."""
        return asyncio.get_running_loop().time() - self._began > _STALL

    async def try_again(self) -> None:
        """Try to write to the store after a failure."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._experiment.try_store)
            self._works(None)
        except StoreError as error:
            self._works(error)

    async def expire(self) -> int:
        """Close the pages past their deadline, some at a time as requests wait meanwhile; return their number."""
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
        """Forget old users and queries, some pages at a time as requests wait meanwhile; log the number of pages."""
        loop, parts, forgotten = asyncio.get_running_loop(), self._experiment.retain(), 0

        def some() -> tuple[int, bool | None]:
            try:
                return next(parts), None
            except StopIteration as end:
                return 0, end.value

        believed = None
        while believed is None:
            part, believed = await loop.run_in_executor(self._thread, some)
            forgotten += part
        if forgotten:
            self._log.write("forgotten", pages=forgotten)
        if not believed:
            message = "the clock is days ahead of the latest look: nothing is forgotten until it stays there for a day"
            self._log.write("clock", message=message)

    def _works(self, error: Exception | None) -> None:
        """Record whether the store works; each change is logged once."""
        broken = ""
        if error:
            broken = str(error) if isinstance(error, StoreError) else "an error of the service"
            if error.__cause__:  # its sentence quotes the store
                broken = "the store cannot be read"
        if bool(broken) != bool(self.broken):
            self._log.write("store", message=broken or "the store can be written again")
        self.broken = broken

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch = self._next_batch()
            if not batch:
                continue
            began, before = loop.time(), self._experiment.counts.pages
            self._began = began
            try:
                answers: Any = await loop.run_in_executor(
                    self._thread, self._experiment.answer, [request for request, _ in batch]
                )
                self._works(None)
            except Exception as error:  # StoreError, or an unexpected one, which every waiting request receives
                answers = [error] * len(batch)
                self._works(error)
                self._metrics.failed += 1
            self._began = math.inf
            self._metrics.batch(len(batch), loop.time() - began)
            delivered = {
                answer.page
                for (_, future), answer in zip(batch, answers, strict=True)
                if isinstance(answer, Decision) and not future.done()
            }
            for (_, future), answer in zip(batch, answers, strict=True):
                if future.done():  # the client received 503, and no page
                    if isinstance(answer, Decision) and answer.page > before and answer.page not in delivered:
                        # before a later search gets the same page
                        self._waiting.appendleft((Drop(answer.page), loop.create_future()))
                    continue
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                    future.exception()  # for a page that is dropped it is not awaited
                else:
                    future.set_result(answer)
        self._runs = None

    def _next_batch(self) -> list[tuple[_Call, asyncio.Future[Any]]]:
        """Take the next requests, without those whose time has run out before they began."""
        some = [self._waiting.popleft() for _ in range(min(_MOST, len(self._waiting)))]
        self._metrics.waiting = len(self._waiting)
        return [one for one in some if not one[1].done()]

    async def close(self) -> None:
        """Answer what waits, and end the threads."""
        if self._runs is not None:
            await self._runs
        for threads in (self._thread, self._looks):
            await asyncio.to_thread(threads.shutdown)
