"""The entry of every request: check keys and time limits, log requests, convert errors into safe answers."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Router
from starlette.types import Message, Receive, Scope, Send

from ltr_duel.core import InputError
from ltr_duel.live import BusyError, ExpiredError, StoreError, TokenError, UsedError
from ltr_duel.serve.keys import ApiKeys, authorization
from ltr_duel.serve.lines import write
from ltr_duel.serve.settings import ServiceSettings

CLOSE = {"connection": "close"}  # header of an answer that is sent before the whole request is read
RETRY = {"retry-after": "1"}  # header of each 503
_STATUS = {TokenError: 403, UsedError: 409, ExpiredError: 410, BusyError: 503, InputError: 400}  # InputError: others
_AWAY = "the store cannot be used now, so the request was not stored; try again"
HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]
_LINGER = 1.0  # seconds to continue reading after a refusal
OPEN_PATHS = ("/health", "/ready")  # paths that require no key
Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]
_ASK = {"www-authenticate": 'Bearer, Basic realm="ltr-duel", charset="UTF-8"'}


class Refusal(Exception):  # noqa: N818  # an answer, not a fault
    """The refusal of a request, with a status and a message."""

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.headers = status, sentence, RETRY if status == 503 else headers

    def response(self) -> JSONResponse:
        """Return the HTTP response."""
        return JSONResponse({"error": self.sentence}, self.status, dict(self.headers or {}))


def refusal_of(error: Exception) -> Refusal:
    """Return the refusal for an error, without details of an unexpected error."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, StoreError):  # its message is for the operator and may quote the store
        return Refusal(503, _AWAY)
    for kind, status in _STATUS.items():
        if isinstance(error, kind):
            return Refusal(status, str(error))
    if isinstance(error, TimeoutError):
        return Refusal(503, "the answer took too long; it is unknown whether the request was stored")
    return Refusal(500, "internal error of the service; see its log")


class Gate:
    """Pass admitted requests to their endpoints, and convert each error into an answer with a message."""

    def __init__(
        self,
        routes: Mapping[str, tuple[str, Endpoint]],
        keys: ApiKeys,
        settings: ServiceSettings,
        lifespan: Callable[[Any], AbstractAsyncContextManager[None]],
    ) -> None:
        self._routes, self._keys, self._router = routes, keys, Router([], lifespan=lifespan)
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def answered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *HEADERS]
            await send(message)

        try:
            async with asyncio.timeout(self._settings.answer_seconds + self._settings.body_seconds):
                self._admit(scope)
                response = await self._endpoint(scope)(Request(scope, receive))
                await response(scope, receive, answered)
        except Exception as error:
            refusal = refusal_of(error)
            if refusal.status == 500:
                write("error", traceback=traceback.format_exc())
            if status == 0:
                await _refuse(refusal, scope, receive, answered)
        path = scope["path"] if scope["path"] in self._routes else ""
        seconds = time.perf_counter() - began
        if self._settings.log == "all" or (self._settings.log == "errors" and status >= 400):
            facts = {"seconds": round(seconds, 6), "client": (scope.get("client") or ("",))[0]}
            write("request", method=scope["method"], path=path or "?", status=status, **facts)

    def _endpoint(self, scope: Scope) -> Endpoint:
        """Return the endpoint of a path; for HEAD, the server omits the body."""
        route = self._routes.get(scope["path"])
        if route is None:
            raise Refusal(404, "this path does not exist")
        methods = ("GET", "HEAD") if route[0] == "GET" else route[:1]
        if scope["method"] not in methods:
            raise Refusal(405, "this path does not accept this method", {"allow": ", ".join(methods)})
        return route[1]

    def _admit(self, scope: Scope) -> None:
        """Refuse a request without the required key."""
        if scope["path"] not in OPEN_PATHS and not self._keys.accept(authorization(scope["headers"])):
            raise Refusal(401, "an API key is required: 'authorization: Bearer KEY'", _ASK)


async def _refuse(refusal: Refusal, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a refusal; before closing a connection, continue reading for a while, so that the client gets the answer."""
    if refusal.headers is not CLOSE:
        await refusal.response()(scope, receive, send)
        return

    async def kept_open(message: Message) -> None:
        await send({**message, "more_body": True} if message["type"] == "http.response.body" else message)

    await refusal.response()(scope, receive, kept_open)
    with suppress(TimeoutError):
        async with asyncio.timeout(_LINGER):
            while (await receive()).get("more_body"):
                pass
    await send({"type": "http.response.body", "body": b""})
