"""Searches that are sent again, as their answer was lost: with the same key they get the page that was made."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.datastructures import Headers

from ltr_duel.core import InputError
from ltr_duel.live import Decide
from ltr_duel.serve.refusals import Refusal

_KEPT, _LONGEST = 10_000, 100  # pages, and characters of a key


class Repeats:
    """The pages of the latest requests with a key. They are lost with the process.

    Parameters
    ----------
    ask : function
        Makes a page.
    """

    def __init__(self, ask: Callable[[Decide], Coroutine[Any, Any, Any]]) -> None:
        self._ask = ask
        self._pages: dict[bytes, tuple[bytes, asyncio.Future[Any]]] = {}  # a client's key -> body and page

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
        before, future = self._pages.get(place, (content, None))
        if future is None or (future.done() and (future.cancelled() or future.exception())):
            future = asyncio.ensure_future(self._ask(asked))
            self._pages[place] = content, future
            if len(self._pages) > _KEPT:
                del self._pages[next(iter(self._pages))]
        elif before != content:
            raise Refusal(422, "the 'idempotency-key' came with another body before; take a new key for each search")
        return await asyncio.shield(future)
