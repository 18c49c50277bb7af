"""SIGTERM, by which batch systems and `kill` end a process, ends a command as Ctrl-C does: tidily, and resumably."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_heard: set[int] = set()


class Terminated(KeyboardInterrupt):
    """The process was told to end."""


@contextmanager
def termination_heard() -> Iterator[None]:
    """Raise `Terminated` where the main thread is when SIGTERM comes, unless somebody else listens to it already."""
    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def hear(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough; the tidying up is not to be disturbed
        _heard.add(number)
        raise Terminated

    signal.signal(signal.SIGTERM, hear)
    try:
        yield
    finally:
        if signal.SIGTERM not in _heard:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def interrupted() -> tuple[int, str]:
    """Return the exit code of an interrupted command, and the word for it."""
    return (143, "terminated") if signal.SIGTERM in _heard else (130, "interrupted")
