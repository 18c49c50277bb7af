"""The endpoints of the service."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from ltr_duel.live import Decide, Experiment, LiveState, Record, StoreError
from ltr_duel.serve.gate import Endpoint, Gate, Refusal
from ltr_duel.serve.keys import ApiKeys
from ltr_duel.serve.lines import write
from ltr_duel.serve.messages import read_body, read_decide, read_events, read_object, read_record, read_switch
from ltr_duel.serve.page import experiment_page
from ltr_duel.serve.repeats import Repeats
from ltr_duel.serve.settings import ServiceSettings
from ltr_duel.serve.worker import Worker

_NO_LOADING = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_OF_DECISION = ("token", "expires", "rankers", "served", "total")
_EVERY = 1.0  # seconds between checks for expired pages
_REFRESH = "10"  # seconds after which a browser loads the page again
_DAILY = 86_400.0  # seconds between checks for pages to forget


class _Service:
    """Answer requests; calls that need the store are passed to the worker."""

    def __init__(
        self,
        experiment: Experiment,
        settings: ServiceSettings,
    ) -> None:
        self._experiment, self._settings = experiment, settings
        self._switches = experiment.switches
        self.worker = Worker(experiment)
        self._warned: dict[str, float] = {"clock": experiment.delay}  # the delay before this start is not reported
        self._repeats = Repeats(self._ask)
        self._making, self._made = asyncio.Lock(), dict[Callable[[LiveState], bytes], tuple[LiveState, bytes]]()

    async def decide(self, request: Request) -> Response:
        body = await read_body(request, self._settings)
        given = read_object(body)
        experiment, later = self._experiment, given.get("offset")  # a later part requires only the incumbent's list
        needed = (experiment.settings.incumbent,) if later else experiment.needed
        dropped = experiment.switches.dropped
        asked = read_decide(given, experiment.settings.rankers, needed, dropped)
        decision: Any
        try:
            decision = await self._repeats.answer("/decide", request.headers, body, asked)
        except StoreError:
            decision = experiment.outside(asked, away=True)
        return JSONResponse({"page": decision.shown, **{name: getattr(decision, name) for name in _OF_DECISION}})

    async def clicks(self, request: Request) -> Response:
        return await self._report(request, read_record)

    async def events(self, request: Request) -> Response:
        return await self._report(request, read_events)

    async def _report(self, request: Request, read: Callable[[dict[str, Any]], Record]) -> Response:
        body = await read_body(request, self._settings)
        record = read(read_object(body))
        await self._repeats.answer(request.scope["path"], request.headers, body, record)
        return JSONResponse({"recorded": True})

    async def _ask(self, call: Decide | Record) -> Any:
        """Return the answer to a search or a report; the store is not used for searches outside of the experiment."""
        experiment, broken = self._experiment, bool(self.worker.broken)
        if not experiment.switches.idle or (broken and isinstance(call, Record)):
            outside = experiment.outside(call)
            if outside is not None:
                return outside
        if isinstance(call, Record):
            return await self.worker.ask(call)
        if broken:
            raise StoreError("the store cannot be written")
        return await self.worker.ask(call._replace(joined=True))

    async def switch(self, request: Request) -> Response:
        given = read_object(await read_body(request, self._settings))
        now = await self.worker.ask(read_switch(given))
        return JSONResponse(now._asdict())

    async def state(self, request: Request) -> Response:
        return Response(await self._from_state(self._as_json), media_type="application/json")

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        if problem := self.problem():
            raise Refusal(503, problem)
        return JSONResponse({"status": "ready"})

    def problem(self) -> str:
        """Return the reason why the service cannot work now, or an empty string."""
        if self.worker.broken:
            return "the store cannot be written"
        if self.worker.stalls:
            return "the store does not respond: its disk is stalled"
        return "too many requests are waiting for an answer" if self.worker.full else ""

    def _as_json(self, state: LiveState) -> bytes:
        counts = self._experiment.counts
        service = {
            "waiting": self.worker.waiting,
            "failed": self.worker.failed,
            "early": counts.early,
            "damaged": counts.damaged,
        }
        return json.dumps(state.to_json() | {"service": service}, ensure_ascii=False, separators=(",", ":")).encode()

    @staticmethod
    def _as_page(state: LiveState) -> bytes:
        return experiment_page(state).encode()

    async def page(self, request: Request) -> Response:
        page = await self._from_state(self._as_page)
        return HTMLResponse(page, headers={"content-security-policy": _NO_LOADING, "refresh": _REFRESH})

    async def _from_state(self, make: Callable[[LiveState], bytes]) -> bytes:
        """Return the state as formatted by ``make``, which runs once for each state, in a thread."""
        async with self._making:
            state, made = await self.worker.state(), self._made.get(make)
            if made is None or made[0] is not state:
                made = self._made[make] = state, await asyncio.to_thread(make, state)
            return made[1]

    @asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        """Close expired pages while the service runs, and answer queued requests at shutdown."""
        closing = asyncio.create_task(self._close_old_pages())
        yield
        closing.cancel()
        await self.worker.close()

    async def _close_old_pages(self) -> None:
        loop, forget = asyncio.get_running_loop(), 0.0
        while True:
            await asyncio.sleep(_EVERY)
            try:
                with suppress(StoreError):  # the worker has logged the error
                    await self.worker.expire()
                    if loop.time() >= forget:
                        await self.worker.retain()
                        forget = loop.time() + _DAILY
            except Exception:  # the loop must continue, or pages would stay open forever
                write("error", traceback=traceback.format_exc())
            if self.worker.broken:
                await self.worker.try_again()
            self._warn()

    def _warn(self) -> None:
        """Log changes that require the attention of an operator."""
        counts, delay, switches = self._experiment.counts, self._experiment.delay, self._experiment.switches
        if switches != self._switches:
            self._switches = switches
            write("switches", **switches._asdict())
        for what, value, message in (
            ("damaged pages", counts.damaged, "pages that could not be read were closed without an outcome"),
            ("early pages", counts.early, "pages were closed before their deadline because too many were open"),
            (
                "clock",
                delay,
                "seconds by which the clock stepped or no service ran; all deadlines moved by the same amount",
            ),
        ):
            if value != self._warned.get(what, 0):
                self._warned[what] = value
                write(what, amount=value, message=message)

    def routes(self) -> dict[str, tuple[str, Endpoint]]:
        """Return method and endpoint of each path."""
        return {
            "/": ("GET", self.page),
            "/decide": ("POST", self.decide),
            "/clicks": ("POST", self.clicks),
            "/events": ("POST", self.events),
            "/switch": ("POST", self.switch),
            "/state": ("GET", self.state),
            "/health": ("GET", self.health),
            "/ready": ("GET", self.ready),
        }


def make_app(experiment: Experiment, settings: ServiceSettings, keys: ApiKeys) -> Gate:
    """Return the service of an open experiment as an ASGI application."""
    service = _Service(experiment, settings)
    return Gate(service.routes(), keys, settings, service.lifespan)
