"""The HTTP service of a live experiment. Each request requires a key, and has a limited size and time.

request -> `Guard` (key, time) -> body -> `GroupCommit` (one transaction for all waiting calls) -> `Experiment`
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import logging
import time
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ltr_duel.core import InputError, errors
from ltr_duel.live.experiment import Experiment
from ltr_duel.live.metrics import Metrics
from ltr_duel.live.page import CONTENT_POLICY, experiment_page
from ltr_duel.live.signing import Keys, TokenError
from ltr_duel.live.state import LiveState
from ltr_duel.live.validation import Report, Search, StoreError

LOG = logging.getLogger("ltr_duel.serve")
_MOST_WAITING = 500  # calls
_LARGEST_BATCH = 64  # calls in one transaction; few, so that the next calls do not wait long
_EVERY = 1.0  # seconds after which the service looks again for pages whose window is over
_REST = 0.02  # seconds of rest after some pages were counted, in which waiting calls are answered
_STATE_SECONDS = 1.0  # a state is computed again if it is at least this old
_STATE_SHARE = 4  # and at least this multiple of its computing time old; so states take at most a fifth of a core
_OF_DECISION = "page", "token", "rankers", "served", "version"
_BROKEN_SECONDS = 10.0  # how long /health reports a failure of the store
_REFRESH = "10"  # seconds after which a browser loads the page again
_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]
_CLOSE = {"connection": "close"}  # the rest of the request is not read
_RETRY = {"retry-after": "1"}
_CHALLENGE = {"www-authenticate": 'Bearer, Basic realm="ltr-duel", charset="UTF-8"'}
_TOO_LATE = "the answer took too long; it is unknown whether the request was stored"


class GroupCommit:
    """Answers calls in groups. All calls that arrive during a transaction share the next transaction."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._thread = ThreadPoolExecutor(1, "store")
        self._waiting: deque[tuple[Search | Report, asyncio.Future[Any]]] = deque()
        self._work: asyncio.Task[None] | None = None
        self._broken_until = 0.0

    async def answer(self, call: Search | Report) -> Any:
        """Return the answer to a call when its changes are on disk, or raise the error that it caused."""
        if self.waiting >= _MOST_WAITING:
            raise StoreError("too many requests are waiting for an answer")
        future = asyncio.get_running_loop().create_future()
        self._waiting.append((call, future))
        if self._work is None:
            self._work = asyncio.create_task(self._answer_all())
        return await future

    async def _answer_all(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            entries = [self._waiting.popleft() for _ in range(min(_LARGEST_BATCH, self.waiting))]
            batch = [(call, future) for call, future in entries if not future.done()]  # done: its time was up
            try:
                calls = [call for call, _ in batch]
                answers: list[Any] = await loop.run_in_executor(self._thread, self._experiment.answer, calls)
            except Exception as error:
                answers = [error] * len(batch)
            for (_, future), answer in zip(batch, answers, strict=True):
                if isinstance(answer, StoreError):
                    self.warn(answer)
                if future.done():
                    continue
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)
        self._work = None

    def warn(self, error: StoreError) -> None:
        """Log that the store failed. Many failures in a row are logged once."""
        now = time.monotonic()
        if now >= self._broken_until:
            LOG.warning("%s", error)
        self._broken_until = now + _BROKEN_SECONDS

    @property
    def waiting(self) -> int:
        """Number of waiting calls."""
        return len(self._waiting)

    @property
    def problem(self) -> str:
        """Why the service cannot work now, or an empty string."""
        if time.monotonic() < self._broken_until:
            return "the store cannot be used"
        return "too many requests are waiting" if self.waiting >= _MOST_WAITING else ""

    async def close(self) -> None:
        """Answer the waiting calls and end the thread."""
        if self._work is not None:
            await self._work
        await asyncio.to_thread(self._thread.shutdown)


class Guard:
    """Requires the API key, limits the time of each answer, and counts the answers."""

    def __init__(self, app: ASGIApp, api_key: str, answer_seconds: float, metrics: Metrics) -> None:
        self._app, self._digest = app, hashlib.sha256(api_key.encode()).digest()
        self._seconds, self._metrics = answer_seconds, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        app = self._app
        if scope["path"] != "/health" and not self._is_authorized(scope):
            app = _error(401, "an API key is required: 'authorization: Bearer KEY'", _CHALLENGE | _CLOSE)
        try:
            async with asyncio.timeout(self._seconds):
                await app(scope, receive, sending)
        except TimeoutError:
            if not status:
                await _error(503, _TOO_LATE, _RETRY | _CLOSE)(scope, receive, sending)
        finally:
            self._metrics.count(scope["path"], status, time.perf_counter() - began)

    def _is_authorized(self, scope: Scope) -> bool:
        header: bytes = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        scheme, _, key = header.partition(b" ")
        if scheme.lower() == b"basic":  # a browser sends the key as the password
            try:
                key = base64.b64decode(key, validate=True).partition(b":")[2]
            except binascii.Error:
                return False
        elif scheme.lower() != b"bearer":
            return False
        return hmac.compare_digest(hashlib.sha256(key.strip()).digest(), self._digest)


class _Service:
    def __init__(self, experiment: Experiment, keys: Keys, largest_body: int) -> None:
        self._experiment, self._keys, self._largest_body = experiment, keys, largest_body
        self._commits = GroupCommit(experiment)
        self.metrics = Metrics(waiting=lambda: self._commits.waiting)
        self._reading = asyncio.Lock()
        self._state: LiveState | None = None
        self._state_ends = 0.0

    def routes(self) -> list[Route]:
        gets = {
            "/state": self.state,
            "/plan": self.plan,
            "/health": self.health,
            "/metrics": self.scrape,
            "/": self.page,
        }
        posts = {"/decide": self.decide, "/events": self.events, "/control": self.control}
        table = [("GET", *route) for route in gets.items()] + [("POST", *route) for route in posts.items()]
        return [Route(path, endpoint, methods=[method]) for method, path, endpoint in table]

    async def decide(self, request: Request) -> Response:
        body = await self._body(request, ("user", "query", "rankings"), ("context",))
        decision = await self._commits.answer(Search(**body))
        return JSONResponse({name: getattr(decision, name) for name in _OF_DECISION})

    async def events(self, request: Request) -> Response:
        body = await self._body(request, ("token", "events"))
        await self._commits.answer(Report(**body))
        return JSONResponse({"recorded": True})

    async def control(self, request: Request) -> Response:
        body = await self._body(request, ("control",), ("ranker", "share", "holdback", "who"))
        for key, value in body.items():
            kind, words = ((int, float), "a number") if key in ("share", "holdback") else ((str,), "a string")
            if type(value) not in kind:
                raise InputError(f"'{key}' must be {words}, not {errors.shown(value)}")
        action = body.pop("control")
        controls = await asyncio.to_thread(self._experiment.control, action, **{"who": "HTTP"} | body)
        LOG.info("control: %s", controls.words)
        self._state_ends = 0.0
        return JSONResponse(controls._asdict())

    async def state(self, request: Request) -> Response:
        return JSONResponse((await self._latest_state()).to_json())

    async def page(self, request: Request) -> Response:
        page = await asyncio.to_thread(experiment_page, await self._latest_state())
        return HTMLResponse(page, headers={"content-security-policy": CONTENT_POLICY, "refresh": _REFRESH})

    async def plan(self, request: Request) -> Response:
        return Response(self._experiment.plan.to_json(self._keys), media_type="application/json")

    async def health(self, request: Request) -> Response:
        if self._commits.problem:
            raise HTTPException(503, self._commits.problem, _RETRY)
        return JSONResponse({"status": "ok"})

    async def scrape(self, request: Request) -> Response:
        return Response(self.metrics.text(await self._latest_state()), media_type=self.metrics.media_type)

    async def _latest_state(self) -> LiveState:
        async with self._reading:
            began = time.monotonic()
            if self._state is None or began >= self._state_ends:
                self._state = await asyncio.to_thread(self._experiment.state)
                now = time.monotonic()
                self._state_ends = now + max(_STATE_SECONDS, _STATE_SHARE * (now - began))
            return self._state

    async def _body(
        self, request: Request, required: tuple[str, ...], optional: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """Return the JSON object in the body."""
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, "the body must be JSON, with 'content-type: application/json'", _CLOSE)
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > self._largest_body:
                raise HTTPException(413, f"the body may have at most {self._largest_body:,} bytes", _CLOSE)
        try:
            content = json.loads(body.decode())
        except (ValueError, RecursionError):
            raise InputError("the body must be a JSON object in UTF-8") from None
        if not isinstance(content, dict):
            raise InputError("the body must be a JSON object")
        if missing := [key for key in required if key not in content]:
            raise InputError(f"the key '{missing[0]}' is missing")
        if unknown := [key for key in content if key not in (*required, *optional)]:
            raise InputError(f"unknown key {errors.shown(unknown[0])}; valid keys: {', '.join((*required, *optional))}")
        return content

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Let the policy learn while the service runs. At the end, answer the waiting requests."""
        learning = asyncio.create_task(self._learn())
        yield
        learning.cancel()
        await self._commits.close()

    async def _learn(self) -> None:
        while True:
            counted = 0
            try:
                counted = await asyncio.to_thread(self._experiment.learn_some)
            except StoreError as error:  # it is tried again
                self._commits.warn(error)
            except Exception:  # without this, the policy would never learn again
                LOG.exception("the pages whose window is over cannot be counted")
            await asyncio.sleep(_REST if counted else _EVERY)


def make_app(
    experiment: Experiment, keys: Keys, api_key: str, *, largest_body: int = 250_000, answer_seconds: float = 10.0
) -> ASGIApp:
    """Return the HTTP service of an open experiment. ``keys`` sign the plans that it hands out."""
    service = _Service(experiment, keys, largest_body)
    app = Starlette(
        routes=service.routes(),
        lifespan=service.lifespan,
        exception_handlers={InputError: _refuse, HTTPException: _refuse, 500: _refuse},
    )
    app.router.redirect_slashes = False
    return Guard(app, api_key, answer_seconds, service.metrics)


def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return _error(error.status_code, error.detail, error.headers or {})
    if isinstance(error, StoreError):
        return _error(503, str(error), _RETRY)
    if isinstance(error, InputError):
        return _error(403 if isinstance(error, TokenError) else 400, str(error))
    return _error(500, "internal error of the service; see its log")  # the server logs the traceback


def _error(status: int, sentence: str, headers: Any = None) -> Response:
    return JSONResponse({"error": sentence}, status, headers)
