"""The service's log on stderr, one JSON object per line, written by the `logging` module of the standard library.

Lines contain no queries, users, documents, tokens or keys.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from logging.handlers import QueueHandler, QueueListener
from typing import Any, TextIO

LOG = logging.getLogger("ltr_duel.serve")
_ROOM = 10_000  # maximum number of queued lines
_LAST = 1.0  # maximum number of seconds for writing the last lines at shutdown


def write(event: str, **facts: Any) -> None:
    """Log an event."""
    LOG.info(event, extra={"facts": facts})


class JsonLines(logging.Formatter):
    """Format events, and the messages of the HTTP server, as JSON objects."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a line."""
        event, facts = record.msg, getattr(record, "facts", None)
        if facts is None:
            event, facts = "server", {"level": record.levelname.lower(), "message": record.getMessage()}
            if record.exc_info:
                facts["traceback"] = self.formatException(record.exc_info)
        return json.dumps({"time": round(record.created, 3), "event": event, **facts}, default=str)


class _Queue(QueueHandler):
    """Queue lines; a line that finds the queue full is omitted."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # a method of `logging`
        pass


def _stop(listener: QueueListener) -> None:
    """Write the queued lines; this blocks while nobody reads the stream."""
    with suppress(queue.Full):
        listener.stop()


@contextmanager
def logging_to(stream: TextIO | None = None) -> Iterator[None]:
    """Write the log to a stream, by default stderr, in a thread, so a slow reader does not block the service."""
    handler = _Queue(queue.Queue(_ROOM))
    handler.setFormatter(JsonLines())
    for logger, level in ((LOG, logging.INFO), (logging.getLogger("uvicorn.error"), logging.WARNING)):
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    listener = QueueListener(handler.queue, logging.StreamHandler(stream))
    listener.start()
    try:
        yield
    finally:
        ending = threading.Thread(target=_stop, args=(listener,), daemon=True)
        ending.start()
        ending.join(_LAST)
