"""Places to write to: refused before work is spent, and errors of the file system in one sentence."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ltr_duel.core.errors import InputError


def require_file_place(path: str | Path) -> Path:
    """Refuse a place where no file can be written, before work is spent; return the file that links lead to.

    Raises `InputError` if there is something but an ordinary file, or a folder on the way is none or cannot be written
    to.
    """
    path = Path(path)
    if "\0" in str(path):
        raise InputError(f"{path}: cannot be written: a name of a file has no null character")
    with said_of(path):
        target = _followed(path)
        if target.exists() and not target.is_file():
            raise InputError(f"{path}: cannot be written: there is {_kind(target)}, not a file")
        require_folder_place(target.parent, path)
    return target


def require_folder_place(folder: Path, said: Path | None = None) -> None:
    """Refuse a place where no folder is nor can be made, before work is spent.

    said: what the user named, if not the folder itself.
    """
    with said_of(said or folder):
        there = _followed(folder)
        while not there.exists() and there != there.parent:
            there = there.parent
        if not there.is_dir():
            raise InputError(f"{said or folder}: cannot be written: {there} is {_kind(there)}, not a folder")
        if not os.access(there, os.W_OK | os.X_OK):
            raise InputError(f"{said or folder}: cannot be written: no permission to write in {there}")


def is_file(path: Path) -> bool:
    """Whether there is a file; a name that the file system cannot even look up is an error in one sentence."""
    return is_there(path) and path.is_file()


def is_there(path: Path) -> bool:
    """Whether there is anything; what cannot even be looked up, as a circle of links, is an error in one sentence."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise InputError(f"{path}: {cause(error)}") from None
    return True


def cause(error: OSError) -> str:
    """Return what went wrong, in the words of the system."""
    return os.strerror(error.errno) if error.errno else f"{error or 'error of the file system'}".splitlines()[0]


@contextmanager
def said_of(path: str | Path, temporary: Path | None = None) -> Iterator[None]:
    """Say an error of the file system in one sentence, unless it is about another file."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and temporary and not str(error.filename).startswith(str(temporary)):
            raise
        raise InputError(f"{path}: cannot be written: {cause(error)}") from None


def _followed(path: Path) -> Path:
    """Follow links; a circle of them is an OSError."""
    if path.is_symlink():
        with suppress(FileNotFoundError):  # where it leads to, a file can be made
            path.stat()
        return Path(os.path.realpath(path))
    return path


def _kind(path: Path) -> str:
    mode = path.stat().st_mode
    kinds = {stat.S_ISREG: "a file", stat.S_ISDIR: "a folder", stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket"}
    return next((name for test, name in kinds.items() if test(mode)), "a device")
