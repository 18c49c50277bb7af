"""Treat SIGTERM, which batch systems and `kill` send, like Ctrl-C, so that a command can stop cleanly."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

# Only these handlers are replaced. A signal that is ignored or has another handler is left alone.
_USUAL_HANDLERS: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
_received: list[int] = []


@contextmanager
def signals_as_interrupts() -> Iterator[None]:
    """Let SIGINT and SIGTERM raise KeyboardInterrupt in the main thread, and remember the signal."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [number for number, usual in _USUAL_HANDLERS.items() if signal.getsignal(number) == usual]
    for number in numbers:
        signal.signal(number, _receive)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, _USUAL_HANDLERS[number])


def was_interrupted() -> bool:
    """Return whether a signal was received. An error after a signal may be a consequence of the signal."""
    return bool(_received)


def interruption() -> tuple[int, str]:
    """Return the exit code of an interrupted command, and the word that it prints."""
    return (143, "terminated") if signal.SIGTERM in _received else (130, "interrupted")


def _receive(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise KeyboardInterrupt
