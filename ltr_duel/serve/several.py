"""Several experiments at one address, each with its own store, keys and limits: ``/shoes/decide`` is of ``shoes``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from ltr_duel.serve.gate import HEADERS, Gate
from ltr_duel.serve.refusals import Refusal


class Several:
    """Passes each request to the gate of the experiment that its path names first.

    Parameters
    ----------
    gates : mapping of str to Gate
    """

    def __init__(self, gates: Mapping[str, Gate]) -> None:
        self._gates, self._router = gates, Router([], lifespan=self._lifespan)
        self.metrics = next(iter(gates.values())).metrics  # of connections, which are of all experiments

    @asynccontextmanager
    async def _lifespan(self, app: Any) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for gate in self._gates.values():
                await stack.enter_async_context(gate.lifespan(app))
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._router(scope, receive, send)
            return
        _, name, rest = f"{scope['path']}/".split("/", 2)
        gate = self._gates.get(name)
        if gate is not None and scope["path"] != f"/{name}":
            await gate({**scope, "path": f"/{rest.removesuffix('/')}"}, receive, send)
            return
        response = self._own(scope["path"])
        response.raw_headers += HEADERS
        await response(scope, receive, send)

    def _own(self, path: str) -> Response:
        """Return what no single experiment answers; without a key no name is shown."""
        if path == "/health":
            return JSONResponse({"status": "ok"})
        if path == "/ready":
            problem = next(filter(None, (gate.problem() for gate in self._gates.values())), "")
            return Refusal(503, problem).response() if problem else JSONResponse({"status": "ready"})
        return Refusal(404, "there is nothing at this address; it begins with the name of an experiment").response()
