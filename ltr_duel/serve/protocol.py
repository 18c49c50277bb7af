"""HTTP connections that cannot be held open for nothing: those of uvicorn, with limits on their heads and number."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ltr_duel.serve.settings import ServiceSettings

_LARGEST_HEAD = 16_384  # bytes


def limited_protocol(settings: ServiceSettings) -> type[asyncio.Protocol]:
    """Return the class of connections, with the limits of the settings."""

    class Limited(HttpToolsProtocol):
        """One connection. It waits for a head since `_head_begins`, and for who does not read since `pause_writing`."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._head = 0
            self._late: asyncio.TimerHandle | None = None
            self._unread: asyncio.TimerHandle | None = None
            if len(self.connections) > settings.connections:
                self._refuse(503, "too many connections are open")
            else:
                self._head_begins()

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_ends()
            self._is_read()
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._head_begins()

        def on_headers_complete(self) -> None:
            self._head_ends()
            if sum(len(name) + len(value) for name, value in self.headers) + len(self.url) > _LARGEST_HEAD:
                self._refuse_head()
            else:
                super().on_headers_complete()

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            super().data_received(data)
            if self._late is not None and not self.transport.is_closing():
                self._head += len(data)
                if self._head > _LARGEST_HEAD:
                    self._refuse_head()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._unread = self.loop.call_later(settings.answer_seconds, self.transport.abort)

        def resume_writing(self) -> None:
            self._is_read()
            super().resume_writing()

        def _is_read(self) -> None:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None

        def send_400_response(self, msg: str) -> None:
            if not self.transport.is_closing():
                self._refuse(400, "this is no request of HTTP/1.1")

        def _head_begins(self) -> None:
            self._head_ends()
            self._head = 0
            self._late = self.loop.call_later(settings.header_seconds, self._too_late)

        def _head_ends(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

        def _too_late(self) -> None:
            self._late = None
            if not self.transport.is_closing():
                self._refuse(408, f"the head of a request must come within {settings.header_seconds:g} seconds")

        def _refuse_head(self) -> None:
            self._refuse(431, f"the head of a request may have at most {_LARGEST_HEAD:,} bytes")

        def _refuse(self, status: int, sentence: str) -> None:
            body = json.dumps({"error": sentence}).encode()
            head = f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + head.encode() + body)
            self.transport.close()
            self._head_ends()

    return Limited
