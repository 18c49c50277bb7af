"""Abandoned threads: Python may crash if it shuts down while an abandoned thread runs compiled code."""

from __future__ import annotations

import threading

_MOMENT = 0.2  # seconds
_abandoned: list[threading.Thread] = []


def abandon(thread: threading.Thread) -> None:
    """Record a thread that cannot be ended and is no longer waited for."""
    _abandoned.append(thread)


def abandoned_threads_run() -> bool:
    """Return whether an abandoned thread still runs; if so, the caller must end the process by ``os._exit``.

    The function waits 0.2 s for each thread, because a thread may be about to end, for example after a failure.
    """
    for thread in _abandoned:
        thread.join(_MOMENT)
    return any(thread.is_alive() for thread in _abandoned)
