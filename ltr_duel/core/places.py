"""Output paths: check them before any work is done, and report errors of the file system in one sentence."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ltr_duel.core.errors import InputError


def require_file_place(path: str | Path) -> Path:
    """Check that a file can be written, before any work is done; return its path, with links followed.

    Raises `InputError` if something other than an ordinary file is at the path, or if a parent is not a folder or
    cannot be written to.
    """
    path = Path(path)
    if "\0" in str(path):
        raise InputError(f"{path}: cannot be written: a file name cannot contain a null character")
    with said_of(path):
        target = _followed(path)
        if target.exists() and not target.is_file():
            raise InputError(f"{path}: cannot be written: there is {_kind(target)}, not a file")
        require_folder_place(target.parent, path)
    return target


def require_folder_place(folder: Path, said: Path | None = None) -> None:
    """Raise `InputError` unless a folder can be written to, or can be made if it is missing.

    said: the path that the user gave, for the message; by default the folder.
    """
    with said_of(said or folder):
        there = _followed(folder)
        while not there.exists() and there != there.parent:
            there = there.parent
        if not there.is_dir():
            raise InputError(f"{said or folder}: cannot be written: {there} is {_kind(there)}, not a folder")
        if not os.access(there, os.W_OK | os.X_OK):
            raise InputError(f"{said or folder}: cannot be written: no permission to write in {there}")
        tempfile.TemporaryFile(dir=there).close()  # the folder of a virtual file system takes no file


def is_file(path: Path) -> bool:
    """Return whether a path is a file. Raise `InputError` if the system cannot look it up."""
    return is_there(path) and path.is_file()


def is_there(path: Path) -> bool:
    """Return whether a path exists. Raise `InputError` if the system cannot look it up (circular links)."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise InputError(f"{path}: {cause(error)}") from None
    return True


def cause(error: OSError) -> str:
    """Return the system's message for an error."""
    return os.strerror(error.errno) if error.errno else f"{error or 'error of the file system'}".splitlines()[0]


@contextmanager
def said_of(path: str | Path, temporary: Path | None = None) -> Iterator[None]:
    """Convert file-system errors to `InputError` for ``path``, except errors that name a file outside ``temporary``."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and temporary and not str(error.filename).startswith(str(temporary)):
            raise
        raise InputError(f"{path}: cannot be written: {cause(error)}") from None


def _followed(path: Path) -> Path:
    """Follow links. Raise OSError if links are circular."""
    if path.is_symlink():
        with suppress(FileNotFoundError):  # the target of the link may be missing
            path.stat()
        return Path(os.path.realpath(path))
    return path


def _kind(path: Path) -> str:
    mode = path.stat().st_mode
    kinds = {stat.S_ISREG: "a file", stat.S_ISDIR: "a folder", stat.S_ISFIFO: "a pipe", stat.S_ISSOCK: "a socket"}
    return next((name for test, name in kinds.items() if test(mode)), "a device")
