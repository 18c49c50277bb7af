"""The service's log: a JSON object a line, on stderr. Queries, users, documents, tokens and keys are not in it."""

from __future__ import annotations

import copy
import json
import logging
import queue
import sys
import threading
import time
from contextlib import suppress
from typing import Any, TextIO

_ROOM = 1000  # lines that wait for whoever reads them
_REFUSALS = 50  # lines a second about requests that were refused: anybody can cause them
_LAST = 1.0  # seconds that the last lines get at the end


class EventLog:
    """Writes events as lines, to stderr if no stream is given.

    waits: whether `write` returns when the line is written. If not, a thread writes: a reader that is slow, or a pipe
    that is not emptied, stops nothing. Lines without room are left out and counted.
    """

    def __init__(self, stream: TextIO | None = None, *, waits: bool = True) -> None:
        self._lines, self._facts = _Lines(stream, waits), dict[str, Any]()

    def about(self, **facts: Any) -> EventLog:
        """Return the same log, with these facts in each line."""
        other = copy.copy(self)
        other._facts = {**self._facts, **facts}
        return other

    @property
    def dropped(self) -> int:
        """Lines that were left out."""
        return self._lines.dropped

    def write(self, event: str, **facts: Any) -> None:
        """Write one event."""
        self._lines.write(event, {**self._facts, **facts})

    def refusal(self, event: str, **facts: Any) -> None:
        """Write an event that anybody can cause; too many of them in a second are left out."""
        if self._lines.has_room_for_refusal():
            self.write(event, **facts)

    def close(self) -> None:
        """Write what waits, if somebody reads it within a second."""
        self._lines.close()


class _Lines:
    """Writes lines, at once or by a thread."""

    def __init__(self, stream: TextIO | None, waits: bool) -> None:
        self._stream, self.dropped = stream, 0
        self._second, self._refusals = 0, 0
        self._queue: queue.Queue[str | None] | None = None
        if not waits:
            self._queue = queue.Queue(_ROOM)
            self._thread = threading.Thread(target=self._write_all, args=(self._queue,), daemon=True)
            self._thread.start()

    def write(self, event: str, facts: dict[str, Any]) -> None:
        line = json.dumps({"time": round(time.time(), 3), "event": event, **facts}, default=str)
        if self._queue is None:
            self._print(line)
            return
        try:
            self._queue.put_nowait(line)
        except queue.Full:
            self.dropped += 1

    def has_room_for_refusal(self) -> bool:
        second = int(time.monotonic())
        if second != self._second:
            self._second, self._refusals = second, 0
        self._refusals += 1
        if self._refusals > _REFUSALS:
            self.dropped += 1
        return self._refusals <= _REFUSALS

    def close(self) -> None:
        if self._queue is not None:
            with suppress(queue.Full):
                self._queue.put(None, timeout=_LAST)
                self._thread.join(_LAST)

    def _write_all(self, lines: queue.Queue[str | None]) -> None:
        said = 0
        while (line := lines.get()) is not None:
            self._print(line)
            if self.dropped > said and lines.empty():
                said = self.dropped
                self._print(json.dumps({"time": round(time.time(), 3), "event": "left out", "lines": said}))

    def _print(self, line: str) -> None:
        with suppress(OSError, ValueError):  # it is not read; that must not stop the service
            print(line, file=self._stream or sys.stderr, flush=True)


class _Forwarded(logging.Handler):
    """Writes what the server says about itself as events."""

    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        facts = {"level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info:
            facts["traceback"] = logging.Formatter().formatException(record.exc_info)
        self._log.refusal("server", **facts)


def forward_logging(name: str, log: EventLog) -> None:
    """Write the warnings and errors of a logger of the standard library as events."""
    logger = logging.getLogger(name)
    logger.handlers, logger.propagate = [_Forwarded(log)], False
    logger.setLevel(logging.WARNING)
