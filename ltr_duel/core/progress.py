"""Show the progress of long work: a bar on a terminal and in a notebook, elsewhere a line every 30 seconds.

If the environment variable ``LTR_DUEL_PROGRESS`` is 0, no progress is shown.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any

from tqdm import tqdm

QUICK = 0.5  # seconds; shorter work shows no bar in a notebook, because finished bars remain there


class _Bar(tqdm):  # type: ignore[type-arg]  # tqdm has no type parameters at run time
    monitor_interval = 0  # no monitor thread, which would outlive the bar


_Bar.set_lock(threading.RLock())  # tqdm's default lock fixes the start method of multiprocessing


def progress_bar(**options: Any) -> Any:
    """Return a bar of tqdm, which is drawn only if `progress_wanted`."""
    if _in_notebook():
        options = {"delay": QUICK, "file": sys.stdout} | options  # a notebook shows stderr in red, like an error
    return _Bar(disable=not progress_wanted(), **options)


def progress_wanted() -> bool:
    """Return whether to draw a bar: on a terminal and in a notebook, if the user allows it."""
    return progress_allowed() and (sys.stderr.isatty() or _in_notebook())


def progress_allowed() -> bool:
    """Return whether the user allows messages on progress."""
    return os.environ.get("LTR_DUEL_PROGRESS", "1") != "0"


_lines: set[str] = set()


def say(line: str) -> None:
    """Write a line to stderr, once in a process. Outside commands and notebooks, nothing is written."""
    if line not in _lines and progress_allowed() and ("ltr_duel.cli.main" in sys.modules or _in_notebook()):
        _lines.add(line)
        print(line, file=sys.stderr, flush=True)


class PlainLine:
    """Prints the progress of long work every 30 seconds where there is no bar."""

    EVERY = 30.0  # seconds

    def __init__(self) -> None:
        self._wanted = progress_allowed() and not progress_wanted()
        self._last = time.monotonic()

    def due(self) -> bool:
        """Return whether it is time for a line."""
        return self._wanted and time.monotonic() - self._last >= self.EVERY

    def show(self, sentence: str) -> None:
        """Write a line."""
        self._last = time.monotonic()
        print(f"{time.strftime('%H:%M:%S')} {sentence}", file=sys.stderr, flush=True)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")  # a Jupyter kernel has always imported it
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and "IPKernelApp" in shell.config
