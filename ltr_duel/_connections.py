"""Send HTTP requests over persistent connections, with a deadline for each; needs only the standard library."""

from __future__ import annotations

import http.client
import os
import secrets
import socket
import time
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from threading import BoundedSemaphore, Thread
from typing import NamedTuple

_Pool = deque[http.client.HTTPConnection]


class _Own(NamedTuple):
    """The state that a forked process does not share with its parent."""

    process: int
    room: BoundedSemaphore  # limits the number of simultaneous requests
    idle: _Pool


class Connections:
    """Connections to one service, with at most ``most`` simultaneous requests. Threads may share them.

    A forked process opens separate connections.
    """

    def __init__(self, tls: bool, host: str, port: int | None, headers: Mapping[str, str], most: int) -> None:
        self._tls, self._host, self._port, self._headers, self._most = tls, host, port, headers, most
        self.closed, self._own = False, self._new_own()

    def close(self) -> None:
        """Close the idle connections, and set ``closed``; requests that are already sent continue."""
        self.closed = True
        while self._own.idle:
            self._own.idle.pop().close()

    def post(self, path: str, body: bytes, ends: float) -> tuple[int, bool, bytes]:
        """Return the status, whether the request was sent again, and the body; raise `TimeoutError` at time ``ends``.

        A daemon thread waits for the answer, so that waiting does not keep the process alive.
        """
        own = self._own
        if own.process != os.getpid():
            own = self._own = self._new_own()
        if not own.room.acquire(timeout=max(0.0, ends - time.monotonic())):
            raise TimeoutError
        done: Future[tuple[int, bool, bytes]] = Future()
        used: _Pool = deque(maxlen=1)

        def send() -> None:
            try:
                done.set_result(self._send(path, body, ends, own.idle, used))
            except BaseException as error:  # raised by `result`
                done.set_exception(error)
            finally:
                own.room.release()

        try:
            Thread(target=send, name="ltr_duel", daemon=True).start()
        except RuntimeError:
            own.room.release()
            raise
        try:
            return done.result(max(0.0, ends - time.monotonic()))
        except TimeoutError:
            for connection in used:
                if connection.sock is not None:
                    with suppress(OSError):
                        connection.sock.shutdown(socket.SHUT_RDWR)  # otherwise a slow answer would block the thread
            raise

    def _send(self, path: str, body: bytes, ends: float, idle: _Pool, used: _Pool) -> tuple[int, bool, bytes]:
        """Send a request; resend it if a reused connection was closed. Its idempotency key makes both count as one."""
        headers, again = {**self._headers, "idempotency-key": secrets.token_hex(16)}, False
        while True:
            left = _left(ends)
            try:
                connection, kept = idle.pop(), True
            except IndexError:
                connection, kept = self._connection(left), False
            used.append(connection)
            try:
                if connection.sock is not None:
                    connection.sock.settimeout(left)
                connection.request("POST", path, body, headers)
                response = connection.getresponse()
                answer = b""
                while piece := response.read1():
                    answer += piece
                    _left(ends)
                response.read()  # reads nothing, but frees the connection, or raises if the answer was truncated
            except (http.client.RemoteDisconnected, ConnectionError):
                connection.close()
                if not kept:
                    raise
                again = True
            except BaseException:
                connection.close()
                raise
            else:
                if self.closed or time.monotonic() >= ends:  # the deadline may have truncated the answer
                    connection.close()
                else:
                    idle.append(connection)
                return response.status, again, answer

    def _new_own(self) -> _Own:
        return _Own(os.getpid(), BoundedSemaphore(self._most), deque())

    def _connection(self, left: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._tls else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=left)


def _left(ends: float) -> float:
    """Return the seconds until a time, or raise `TimeoutError`."""
    left = ends - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
