"""Searches that are sent again, as their answer was lost: with the same key they get the page that was made."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers

from ltr_duel.core import InputError
from ltr_duel.live import Decide
from ltr_duel.serve.refusals import Refusal

_KEPT, _LONGEST = 10_000, 100  # pages, and characters of a key


@dataclass
class _Page:
    """A page that is made, or was."""

    body: bytes  # digest
    made: asyncio.Task[Any]
    waiting: int = 0  # requests

    @property
    def lost(self) -> bool:
        """Whether no request can get it."""
        made = self.made
        return bool(made.cancelling() or (made.done() and (made.cancelled() or made.exception())))


class Repeats:
    """The pages of the latest requests with a key. They are lost with the process.

    Parameters
    ----------
    ask : function
        Makes a page.
    """

    def __init__(self, ask: Callable[[Decide], Coroutine[Any, Any, Any]]) -> None:
        self._ask = ask
        self._pages: dict[bytes, _Page] = {}  # by a client and its key

    async def page(self, headers: Headers, body: bytes, asked: Decide) -> Any:
        """Return the page of a search.

        As `draft-ietf-httpapi-idempotency-key-header` has it, a key belongs to a client and to the bytes of a body.

        Raises
        ------
        Refusal
            If the key came with another body before.
        """
        key = headers.get("idempotency-key", "")
        if not key:
            return await self._ask(asked)
        if len(key) > _LONGEST:
            raise InputError(f"'idempotency-key' may have at most {_LONGEST} characters")
        client = headers.get("authorization", "")
        place, content = (hashlib.sha256(one).digest() for one in (f"{client}\0{key}".encode(), body))
        page = self._pages.get(place)
        if page is None or page.lost:
            page = self._pages[place] = _Page(content, asyncio.create_task(self._ask(asked)))
            if len(self._pages) > _KEPT:
                del self._pages[next(iter(self._pages))]
        elif page.body != content:
            raise Refusal(422, "the 'idempotency-key' came with another body before; take a new key for each search")
        page.waiting += 1
        try:
            return await asyncio.shield(page.made)
        finally:
            page.waiting -= 1
            if not page.waiting:
                page.made.cancel()  # all were refused as too slow, so the worker must not keep it; else it is done
