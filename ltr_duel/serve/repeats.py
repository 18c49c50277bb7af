"""Repeated requests: a request sent again with the same idempotency key gets the first answer."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.datastructures import Headers

from ltr_duel.core import InputError
from ltr_duel.live import Decide, Record
from ltr_duel.serve.gate import Refusal
from ltr_duel.serve.keys import authorization

_KEPT, _LONGEST = 10_000, 100  # maximum numbers of stored answers and of characters of a key
_MOST = 50_000_000  # maximum number of bytes of the documents in stored answers


@dataclass
class _Answer:
    """An answer, finished or not."""

    body: bytes  # digest of the request body
    made: asyncio.Task[Any]
    waiting: int = 0  # number of requests waiting for the answer
    size: int = 0  # bytes of the answer's documents; 0 until it is finished

    @property
    def lost(self) -> bool:
        """Whether the answer was cancelled or failed."""
        made = self.made
        return bool(made.cancelling() or (made.done() and (made.cancelled() or made.exception())))


class Repeats:
    """The answers to the latest requests with an idempotency key, in memory only."""

    def __init__(self, ask: Callable[[Decide | Record], Coroutine[Any, Any, Any]]) -> None:
        self._ask = ask
        self._answers: dict[bytes, _Answer] = {}  # by digest of client, path and key
        self._size = 0  # bytes of the documents in all answers

    async def answer(self, path: str, headers: Headers, body: bytes, asked: Decide | Record) -> Any:
        """Return the answer to a request; refusals are not stored. A key sent again with another body is refused.

        As in `draft-ietf-httpapi-idempotency-key-header`, a key belongs to a client, a path and the bytes of a body.
        """
        key = headers.get("idempotency-key", "")
        if not key:
            return await self._ask(asked)
        if len(key) > _LONGEST:
            raise InputError(f"'idempotency-key' may have at most {_LONGEST} characters")
        asker = b"\0".join((authorization(headers.raw), path.encode(), key.encode()))
        place, content = (hashlib.sha256(one).digest() for one in (asker, body))
        answer = self._answers.get(place)
        if answer is None or answer.lost:
            self._remove(place)
            answer = self._answers[place] = _Answer(content, asyncio.create_task(self._ask(asked)))
            answer.made.add_done_callback(partial(self._weigh, place, answer))
            if len(self._answers) > _KEPT:
                self._remove(next(iter(self._answers)))
        elif answer.body != content:
            raise Refusal(422, "the 'idempotency-key' was used with another body; use a new key for each request")
        answer.waiting += 1
        try:
            return await asyncio.shield(answer.made)
        finally:
            answer.waiting -= 1
            if not answer.waiting:
                answer.made.cancel()  # no request waits any more; a finished answer is not affected
            if answer.lost and self._answers.get(place) is answer:
                self._remove(place)

    def _weigh(self, place: bytes, answer: _Answer, made: asyncio.Task[Any]) -> None:
        """Add the size of an answer, and remove the oldest answers while the total is too large."""
        if answer.lost or self._answers.get(place) is not answer:
            return
        answer.size = sum(map(sys.getsizeof, getattr(made.result(), "shown", ())))
        self._size += answer.size
        while self._size > _MOST:
            self._remove(next(iter(self._answers)))

    def _remove(self, place: bytes) -> None:
        if place in self._answers:
            self._size -= self._answers.pop(place).size
