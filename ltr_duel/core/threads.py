"""Abandoned threads. Python may crash if it shuts down while one of them runs compiled code."""

from __future__ import annotations

import threading

_MOMENT = 0.2  # seconds
_abandoned: list[threading.Thread] = []


def abandon(thread: threading.Thread) -> None:
    """Stop waiting for a thread, which cannot be ended."""
    _abandoned.append(thread)


def abandoned_threads_run() -> bool:
    """Return whether an abandoned thread still runs; if so, end the process by ``os._exit``.

    A thread that is about to end, for example after a reported failure, gets a moment to do so.
    """
    for thread in _abandoned:
        thread.join(_MOMENT)
    return any(thread.is_alive() for thread in _abandoned)
