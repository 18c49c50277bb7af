"""uvicorn's HTTP connections, with limits on their number and on the time and size of each part of a request.

With these limits, a client cannot keep a connection open indefinitely. uvicorn's option ``http`` accepts a connection
class. This module extends uvicorn's default class, which is undocumented. If the installed version of the default class
lacks one of the overridden methods, uvicorn's own limits are used instead.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
from collections import Counter
from collections.abc import Callable, Sized
from functools import partial
from http import HTTPStatus
from typing import Any

from ltr_duel.serve.gate import CLOSE, RETRY
from ltr_duel.serve.metrics import Metrics
from ltr_duel.serve.settings import ServiceSettings

_LARGEST_HEAD = 16_384  # bytes
_AHEAD = 100  # requests that a connection may send before the first request is answered
_CALLBACKS = (
    "on_message_begin", "on_url", "on_header", "on_body", "on_headers_complete", "on_message_complete",
    "on_response_complete", "send_400_response",
)  # fmt: skip
PLAIN = "h11"  # uvicorn's other implementation of HTTP, which limits the size of heads
NOT_LIMITED = "this version of uvicorn does not limit the time for the head of a request or for reading an answer"


try:
    from uvicorn.protocols.http import httptools_impl
    from uvicorn.protocols.http.flow_control import FlowControl

    _Connection: Any = httptools_impl.HttpToolsProtocol
except (ImportError, AttributeError):
    _Connection = httptools_impl = FlowControl = object  # type: ignore[assignment,misc]


class _RefusedError(Exception):
    """Ends the parsing of the bytes of a connection."""


def http_options(settings: ServiceSettings, metrics: Metrics) -> dict[str, Any]:
    """Return the options of `uvicorn.Config` that enforce the limits of the settings."""
    base = getattr(httptools_impl, "HttpToolsProtocol", None)
    if base and all(hasattr(base, name) for name in _CALLBACKS) and hasattr(FlowControl, "resume_reading"):
        return {"http": partial(_Limited, _Everyone(settings, metrics))}
    return {
        "http": PLAIN,
        "limit_concurrency": settings.connections,
        "h11_max_incomplete_event_size": _LARGEST_HEAD,
    }


class _Everyone:
    """The open connections of a service, in total and by client."""

    def __init__(self, settings: ServiceSettings, metrics: Metrics) -> None:
        self.settings, self.metrics, self._peers = settings, metrics, Counter[str]()

    def comes(self, peer: str) -> bool:
        """Count a connection; return whether it exceeds a limit."""
        self._peers[peer] += 1
        self.metrics.wire.connections += 1
        return (
            self.metrics.wire.connections > self.settings.connections
            or self._peers[peer] > self.settings.connections_per_address
        )

    def goes(self, peer: str) -> None:
        """Count the end of a connection."""
        self.metrics.wire.connections -= 1
        self._peers[peer] -= 1
        if not self._peers[peer]:
            del self._peers[peer]


class _Flow(FlowControl):
    """Flow control that resumes reading only if no pipelined request is queued; uvicorn's class always resumes."""

    def __init__(self, transport: Any, waiting: Sized) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        if not self._waiting:
            super().resume_reading()


class _Limited(_Connection):  # type: ignore[misc]  # the base class depends on the installed uvicorn
    """A connection of uvicorn with a timer for each kind of wait.

    `_head_begins` starts the timer for the head, `on_headers_complete` for the body, `on_response_complete` for the
    next request, and `pause_writing` for a slow reader. Only the awaited event cancels a timer, whereas any byte
    cancels uvicorn's own timer.
    """

    def __init__(self, everyone: _Everyone, **options: Any) -> None:
        super().__init__(**options)
        self._everyone, self._settings = everyone, everyone.settings

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)
        self._wire, self._clock = transport, asyncio.get_running_loop()
        self._bytes = self._head = self._trailing = 0
        self._spoke = self._ended = False  # whether any bytes arrived; whether the latest bytes ended a request
        self._refusal: tuple[int, str] | None = None  # error to send after the answer to an earlier request
        self._waits: dict[str, asyncio.TimerHandle] = {}  # timers by event: "head", "body", "idle", "read"
        self._peer = _network_of(self.client[0] if self.client else "")
        if self._everyone.comes(self._peer):
            self._refuse(503, "too many connections are open")
        else:
            self._head_begins()

    def connection_lost(self, exc: Exception | None) -> None:
        self._everyone.goes(self._peer)
        self._end(*self._waits)
        super().connection_lost(exc)

    def _wait(self, what: str, seconds: float, otherwise: Callable[[], object]) -> None:
        self._end(what)
        self._waits[what] = self._clock.call_later(seconds, otherwise)

    def _end(self, *waits: str) -> None:
        for what in waits:
            if what in self._waits:
                self._waits.pop(what).cancel()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._end("idle")
        self._head_begins()

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._head += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if "head" not in self._waits:  # the head has ended, so this is a trailer after a chunked body
            self._refuse_trailer()
            raise _RefusedError
        super().on_header(name, value)
        self._head += len(name) + len(value)

    def on_body(self, body: bytes) -> None:
        self._trailing = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        self._end("head")
        self._trailing = 0
        if self._head > _LARGEST_HEAD:
            self._refuse_head()
        elif len(self.pipeline) >= _AHEAD:  # one read can contain thousands of heads
            self._refuse(503, f"at most {_AHEAD} requests may be sent before the first is answered")
        else:
            super().on_headers_complete()
            self._wait("body", self._settings.body_seconds, self._body_is_late)
            return
        raise _RefusedError  # the parser ignores all further bytes

    def on_message_complete(self) -> None:
        self._end("body")
        self._ended = True
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        if self._wire.is_closing() or self._refusal:
            return
        self._spoke, self._ended = True, False
        self._trailing += len(data)  # bytes since the last part of a body, because the parser buffers a trailer
        super().data_received(data)
        if "body" in self._waits and self._trailing > _LARGEST_HEAD and not self._wire.is_closing():
            self._refuse_trailer()
        elif "head" in self._waits and not self._ended and not self._wire.is_closing():
            self._bytes += len(data)
            if self._bytes > _LARGEST_HEAD:
                self._refuse_head()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait("read", self._settings.answer_seconds, self._wire.abort)

    def resume_writing(self) -> None:
        self._end("read")
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        if not self._wire.is_closing() and not self._refusal:
            self._refuse(400, "this is not an HTTP/1.1 request")

    def _head_begins(self) -> None:
        self._bytes = self._head = 0
        self._wait("head", self._settings.header_seconds, self._too_late)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._refusal and self.cycle.response_complete and not self._wire.is_closing():
            self._refuse(*self._refusal)
        if "head" not in self._waits and self.cycle.response_complete and not self._wire.is_closing():
            self._wait("idle", self._settings.idle_seconds, self._wire.close)

    def _body_is_late(self) -> None:
        """Close the connection if the answer was sent before the body was complete; otherwise wait again."""
        if self.cycle.response_complete:
            self._wire.close()
        else:
            self._wait("body", self._settings.body_seconds, self._body_is_late)

    def _too_late(self) -> None:
        self._end("head")
        if not self._spoke:
            self._wire.close()  # a client that has sent nothing would take an error for the answer to its next request
        elif not self._wire.is_closing():
            self._refuse(408, f"the head of a request must arrive within {self._settings.header_seconds:g} seconds")

    def _refuse_head(self) -> None:
        self._refuse(431, f"the head of a request may have at most {_LARGEST_HEAD:,} bytes")

    def _refuse_trailer(self) -> None:
        if self.cycle.response_complete:
            self._wire.close()
        else:
            self._refuse(400, "trailer fields after the body are not accepted")

    def _refuse(self, status: int, sentence: str) -> None:
        if self.cycle is not None and not self.cycle.response_complete and "body" not in self._waits:
            self._refusal = status, sentence  # an earlier request is answered first
            self._end("head")
            return
        self._everyone.metrics.refused(status)
        body = json.dumps({"error": sentence}).encode()
        more = {**(RETRY if status == 503 else {}), **CLOSE}
        head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in more.items()) + "\r\n"
        self._wire.write(f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{head}".encode() + body)
        self._wire.close()
        self._end("head")


def _network_of(address: str) -> str:
    """Return the network that counts as one client: an IPv4 address, or the /64 network of an IPv6 address."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 4:
        return address
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))
