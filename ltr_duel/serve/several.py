"""Several experiments at one address, each with its own store, keys and limits: ``/shoes/decide`` is of ``shoes``.

Without a key of one of them, an address that begins with the name of an experiment is answered as any other one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from ltr_duel.serve.gate import HEADERS, OPEN_PATHS, Gate
from ltr_duel.serve.refusals import Refusal


class Several:
    """Passes each request to the gate of the experiment that its path names first."""

    def __init__(self, gates: Mapping[str, Gate]) -> None:
        self._gates, self._router = gates, Router([], lifespan=self._lifespan)
        self.metrics = next(iter(gates.values())).metrics
        for gate in gates.values():
            gate.is_one_of_several, gate.metrics.wire = True, self.metrics.wire

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
        path = scope["path"]
        _, name, rest = f"{path}/".split("/", 2)
        gate = self._gates.get(name)
        if path in OPEN_PATHS:
            response = self._of_all(path)
            response.raw_headers += HEADERS
            await response(scope, receive, send)
        elif gate is not None and path != f"/{name}":
            await gate({**scope, "path": f"/{rest.strip('/')}"}, receive, send)
        else:
            nowhere = {**scope, "path": f"/{path}"}
            await self._gate_to_nowhere(nowhere)(nowhere, receive, send)

    def _of_all(self, path: str) -> Response:
        """Return whether the process answers, or all experiments work."""
        problems = [gate.problem() for gate in self._gates.values()] if path == "/ready" else []
        problem = next(filter(None, problems), "")
        if problem:
            return Refusal(503, problem).response()
        return JSONResponse({"status": "ready" if path == "/ready" else "ok"})

    def _gate_to_nowhere(self, scope: Scope) -> Gate:
        """Return a gate that admits a request to an address that there is not, or one that refuses it as all do."""
        gates = [gate for gate in self._gates.values() if gate.keyed] or list(self._gates.values())
        return next((gate for gate in gates if gate.admits(scope)), gates[0])
