"""How far long work is: a bar on a terminal and in a notebook, a plain line now and then elsewhere.

In a notebook the bar is a widget where ipywidgets is installed, and a line of text where it is not; ``tqdm.auto`` would
choose the same, but warns of the missing package, and loads asyncio wherever it is imported.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from tqdm import tqdm

QUICK = 0.5  # seconds: what takes less leaves no bar in a notebook, where bars stay


class NoBar:
    """What stands for a bar where none is wanted. Nothing of tqdm: its lock would fix how processes are started."""

    disable = True  # as of a bar of tqdm

    def __enter__(self) -> NoBar:
        """Begin."""
        return self

    def __exit__(self, *error: object) -> None:
        """End."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Return a method that does nothing."""
        return lambda *_, **__: None


class _Bar(tqdm):  # type: ignore[type-arg]  # which are not there when this runs
    monitor_interval = 0  # no thread that outlives the bar


_Bar.set_lock(threading.RLock())  # tqdm's own is made by multiprocessing, whose context could not be chosen any more


def progress_bar(**options: Any) -> Any:
    """Return a progress bar that suits the place: ``tqdm(**options)``, or what draws nothing where none is wanted."""
    if not progress_wanted():
        return NoBar()
    if _in_notebook():
        options = {"delay": QUICK, "file": sys.stdout} | options  # stderr is red there, as if something were wrong
        if importlib.util.find_spec("ipywidgets"):
            from tqdm.notebook import tqdm as widget

            return widget(**options)
    return _Bar(**options)


def progress_wanted() -> bool:
    """Whether to draw a bar: on a terminal and in a notebook, unless ``LTR_DUEL_PROGRESS=0``."""
    return os.environ.get("LTR_DUEL_PROGRESS", "1") != "0" and (sys.stderr.isatty() or _in_notebook())


class PlainLine:
    """Where there is no bar, a line now and then says how far long work is; ``LTR_DUEL_PROGRESS=0``: none."""

    EVERY = 30.0  # seconds

    def __init__(self) -> None:
        self._wanted = os.environ.get("LTR_DUEL_PROGRESS", "1") != "0" and not progress_wanted()
        self._shown = time.monotonic()

    def due(self) -> bool:
        """Whether it is time for a line."""
        return self._wanted and time.monotonic() - self._shown >= self.EVERY

    def show(self, sentence: str) -> None:
        """Write a line."""
        self._shown = time.monotonic()
        print(f"{time.strftime('%H:%M:%S')} {sentence}", file=sys.stderr, flush=True)


def _in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this."""
    ipython = sys.modules.get("IPython")  # a kernel has loaded it
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and "IPKernelApp" in shell.config
