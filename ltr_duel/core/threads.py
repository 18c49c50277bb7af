"""Threads that nobody waits for any more. Python may crash if it shuts down while one of them runs compiled code."""

from __future__ import annotations

import threading

_MOMENT = 0.2  # seconds
_abandoned: list[threading.Thread] = []


def abandon(thread: threading.Thread) -> None:
    """Wait for a thread no longer; a thread cannot be ended."""
    _abandoned.append(thread)


def abandoned_threads_run() -> bool:
    """Whether a thread that nobody waits for is still running; the process should be ended by ``os._exit`` then.

    One that is about to end, as after a failure that it has just told, gets a moment for it.
    """
    for thread in _abandoned:
        thread.join(_MOMENT)
    return any(thread.is_alive() for thread in _abandoned)
