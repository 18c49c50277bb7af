"""The service's log: a JSON object a line, on stderr. Queries, users, documents, tokens and keys are not in it."""

from __future__ import annotations

import json
import logging
import sys
import time
from contextlib import suppress
from typing import Any, TextIO


class EventLog:
    """Writes events as lines.

    Parameters
    ----------
    stream : text file, optional
        stderr if not given.

    Examples
    --------
    >>> import io
    >>> text = io.StringIO()
    >>> EventLog(text).write("start", port=8080)
    >>> json.loads(text.getvalue())["port"]
    8080
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream

    def write(self, event: str, **facts: Any) -> None:
        """Write one event."""
        line = json.dumps({"time": round(time.time(), 3), "event": event, **facts}, default=str)
        with suppress(OSError):  # nobody reads it; that must not stop the service
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
        self._log.write("server", **facts)


def forward_logging(name: str, log: EventLog) -> None:
    """Write the warnings and errors of a logger of the standard library as events."""
    logger = logging.getLogger(name)
    logger.handlers, logger.propagate = [_Forwarded(log)], False
    logger.setLevel(logging.WARNING)
