"""The folder of compiled kernels.

numba stores compiled code as pickles, and a pickle can run any code when it is loaded. The folder is therefore used
only if it belongs to the user and no other user can write to it.
"""

from __future__ import annotations

import functools
import inspect
import os
import stat
import warnings
from pathlib import Path

from ltr_duel.core.cache_folder import NoHomeError
from ltr_duel.core.cache_folder import cache_home as cache_home

_OTHERS_WRITE = 0o022
_ELSE = "; delete it, or set LTR_DUEL_HOME to a folder of yours"
_BETWEEN = ("ltr_duel", "numba", "joblib", "contextlib", "threading")


class KernelCacheWarning(UserWarning):
    """Compiled code is not kept between processes."""


@functools.cache
def kernel_folder(digest: str) -> str:
    """Return the folder for a digest of sources; if compiled code cannot be stored safely, warn and return ``""``.

    A missing folder is created, for the user alone.
    """
    try:
        top = cache_home() / "kernels"
        top.parent.mkdir(parents=True, exist_ok=True)
        for folder in (top, top / digest):
            folder.mkdir(mode=0o700, exist_ok=True)
        fault = "" if _is_of_the_user(top) else f"{top} is not a folder that only you can write to{_ELSE}"
    except NoHomeError as error:
        fault = str(error)
    except OSError as error:
        fault = f"{top}: {error.strerror}{_ELSE}"
    if fault:
        _warn_once(f"compiled code is not kept between runs: {fault}")
        return ""
    return str(folder)


def _is_of_the_user(folder: Path) -> bool:
    """Return whether the user can write to a folder, and no other user can put code into it."""
    status, user = folder.lstat(), getattr(os, "geteuid", None)
    if user is None:  # a system without user ids
        return True
    private = status.st_uid == user() and not (stat.S_ISLNK(status.st_mode) or status.st_mode & _OTHERS_WRITE)
    return private and os.access(folder, os.W_OK)


def remove_kernels() -> None:
    """Delete all compiled code, because a file is unreadable: the error names no file, and others may be too."""
    for file in (cache_home() / "kernels").rglob("*.nb[ci]"):
        file.unlink(missing_ok=True)


@functools.cache
def _warn_once(sentence: str) -> None:
    warn_of_cache(sentence)


def warn_of_cache(sentence: str) -> None:
    """Warn with the location of the nearest caller that is neither in this package nor in a library that calls it."""
    frame, level = inspect.currentframe(), 1
    while frame and frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, KernelCacheWarning, stacklevel=level)
