"""Requests with a deadline as a whole, over connections that are kept; of the standard library alone."""

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
    """The part that a forked process does not share with its parent."""

    process: int
    room: BoundedSemaphore  # for requests at once
    idle: _Pool


class Connections:
    """Connections to one service, for at most so many requests at once. Threads may share them.

    A process that was forked has other connections than its parent.
    """

    def __init__(self, tls: bool, host: str, port: int | None, headers: Mapping[str, str], most: int) -> None:
        self._tls, self._host, self._port, self._headers, self._most = tls, host, port, headers, most
        self.closed, self._own = False, self._new_own()

    def close(self) -> None:
        """Send nothing more; requests that are under way are not waited for."""
        self.closed = True
        while self._own.idle:
            self._own.idle.pop().close()

    def post(self, path: str, body: bytes, ends: float) -> tuple[int, bool, bytes]:
        """Return status, whether the request was sent twice, and body; `TimeoutError` at the time ``ends``.

        A daemon thread waits for them, so that it does not keep the process.
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
                        connection.sock.shutdown(socket.SHUT_RDWR)  # a slow answer would keep the thread
            raise

    def _send(self, path: str, body: bytes, ends: float, idle: _Pool, used: _Pool) -> tuple[int, bool, bytes]:
        """Send a request; again, if the service has closed the connection, by a key that lets it count once."""
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
                response.read()  # no bytes: it frees the connection, or raises for a short answer
            except (http.client.RemoteDisconnected, ConnectionError):
                connection.close()
                if not kept:
                    raise
                again = True
            except BaseException:
                connection.close()
                raise
            else:
                if self.closed or time.monotonic() >= ends:  # the deadline may have cut it
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
