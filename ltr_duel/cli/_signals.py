"""Treat SIGTERM, which batch systems and `kill` send, like Ctrl-C: a command stops cleanly and can be resumed."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

# Usual handlers; a signal that is ignored, or has another handler, is left alone.
_LISTENED_TO: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
_heard: list[int] = []
_AGAIN = 0.1  # seconds


@contextmanager
def interrupts_heard() -> Iterator[None]:
    """Raise KeyboardInterrupt in the main thread on SIGINT or SIGTERM, and record the signal.

    If the main thread is in a callback of a compiler, Python prints the error and continues, so the signal is sent
    again.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    mine = [number for number, usual in _LISTENED_TO.items() if signal.getsignal(number) == usual]
    hook, again = sys.unraisablehook, list[threading.Timer]()

    def swallowed(about: sys.UnraisableHookArgs) -> None:
        if isinstance(about.exc_value, KeyboardInterrupt):
            again.append(threading.Timer(_AGAIN, _send, (_heard[-1] if _heard else signal.SIGINT,)))
            again[-1].start()
        else:
            hook(about)

    for number in mine:
        signal.signal(number, _hear)
    sys.unraisablehook = swallowed
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for timer in again:
            timer.cancel()
        for number in mine:
            signal.signal(number, _LISTENED_TO[number])


def was_interrupted() -> bool:
    """Return whether a signal was received; a later error may be a consequence of the signal."""
    return bool(_heard)


def interrupted() -> tuple[int, str]:
    """Return the exit code of an interrupted command, and the word to print."""
    return (143, "terminated") if signal.SIGTERM in _heard else (130, "interrupted")


def _hear(number: int, frame: FrameType | None) -> None:
    _heard.append(number)
    raise KeyboardInterrupt


def _send(number: int) -> None:
    """Send a signal to the main thread."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:  # Windows, where a signal sent by number ends the process at once
        _thread.interrupt_main(signal.Signals(number))
