"""The service's log on stderr, one JSON object per line.

Lines contain no users, documents, tokens or keys; they contain queries only if ``log_queries`` is set.
"""

from __future__ import annotations

import json
import logging
import queue
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import Any, TextIO

_ROOM = 1000  # maximum number of queued lines
_REFUSALS = 50  # maximum number of lines per second about refused requests, which any client can cause
_LAST = 1.0  # maximum number of seconds for writing the last lines at shutdown


class EventLog:
    """Write events as lines, by default to stderr.

    With ``waits=False``, a thread writes the lines from a queue, so a slow reader does not block the service. Lines
    that do not fit into the queue are omitted and counted.
    """

    def __init__(self, stream: TextIO | None = None, *, waits: bool = True) -> None:
        self._stream = stream
        self._counts: Counter[str] = Counter()
        self._queue: queue.Queue[str | None] | None = None
        if not waits:
            self._queue = queue.Queue(_ROOM)
            self._thread = threading.Thread(target=self._write_all, args=(self._queue,), daemon=True)
            self._thread.start()

    @property
    def dropped(self) -> int:
        """Number of omitted lines."""
        return self._counts["dropped"]

    def write(self, event: str, **facts: Any) -> None:
        """Write one event."""
        line = json.dumps({"time": round(time.time(), 3), "event": event, **facts}, default=str)
        if self._queue is None:
            self._print(line)
            return
        try:
            self._queue.put_nowait(line)
        except queue.Full:
            self._counts["dropped"] += 1

    def refusal(self, event: str, **facts: Any) -> None:
        """Write an event that any client can cause; above a limit per second, further events are only counted."""
        second, counts = int(time.monotonic()), self._counts
        if second != counts["second"]:
            counts["second"], counts["refused"] = second, 0
        counts["refused"] += 1
        if counts["refused"] <= _REFUSALS:
            self.write(event, **facts)
        else:
            counts["dropped"] += 1

    def close(self) -> None:
        """Write the queued lines, if they are read within a second."""
        if self._queue is not None:
            with suppress(queue.Full):
                self._queue.put(None, timeout=_LAST)
                self._thread.join(_LAST)

    def _write_all(self, lines: queue.Queue[str | None]) -> None:
        reported = 0
        while (line := lines.get()) is not None:
            self._print(line)
            if self.dropped > reported and lines.empty():
                reported = self.dropped
                self._print(json.dumps({"time": round(time.time(), 3), "event": "left out", "lines": reported}))

    def _print(self, line: str) -> None:
        with suppress(OSError, ValueError):  # a closed stream must not stop the service
            print(line, file=self._stream or sys.stderr, flush=True)


class _Forwarded(logging.Handler):
    """Write log records of the server as events."""

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
