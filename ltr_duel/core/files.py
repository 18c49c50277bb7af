"""Output paths are checked before any work; files and folders are written completely or not at all.

A file gets its name after its content is on the disk, so this also holds if the power fails.
"""

from __future__ import annotations

import lzma
import os
import secrets
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from ltr_duel.core.errors import InputError

_NAME_KEPT = 60  # characters of a name that are repeated in a temporary name, which may have at most 255 bytes


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield the path of a temporary file; the file is renamed to ``path`` on success, and removed on failure.

    Missing folders are created; on failure these folders are removed again. Links are followed.

    Parameters
    ----------
    path : str or Path
        The file to write or replace.

    Yields
    ------
    Path

    Raises
    ------
    InputError
        If the path cannot be written: it is not an ordinary file, permission is missing, or the disk is full.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "new" / "numbers.txt"
    ...     with replacing(path) as temporary:
    ...         _ = temporary.write_text("1 2 3")
    ...     path.read_text()
    '1 2 3'
    """
    target = require_file_place(path)
    temporary = _temporary_name(target, target.suffix[:20])
    with _writing(temporary, target.parent, path):
        temporary.touch(exist_ok=False)
        yield temporary
        _sync(temporary)
        temporary.replace(target)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside ``path``; the folder is renamed to ``path`` on success, and removed on failure.

    If another process creates ``path`` in the meantime, the temporary folder is removed and ``path`` stays unchanged.
    """
    temporary = _temporary_name(path, ".tmp")
    with _writing(temporary, path.parent, path):
        temporary.mkdir()
        yield temporary
        for file in temporary.rglob("*"):
            _sync(file)
        try:
            temporary.rename(path)
        except OSError:
            if not path.is_dir():  # no other process has created it
                raise
            shutil.rmtree(temporary)


@contextmanager
def replacing_files(folder: str | Path) -> Iterator[Path]:
    """Yield a temporary folder; on success, its files move to ``folder``, which is created if missing.

    If the ``with`` block fails, no file moves. If a move fails, the files that have already moved stay in ``folder``.
    """
    folder = Path(folder)
    require_folder_place(folder)
    temporary = _temporary_name(folder / "writing", "")
    with _writing(temporary, folder, folder):
        temporary.mkdir()
        yield temporary
        for file in sorted(temporary.iterdir()):
            _sync(file)
            file.replace(folder / file.name)
        temporary.rmdir()


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, completely or not at all (see `replacing`)."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def reading(path: Path, needed: str) -> Iterator[BufferedReader]:
    """Open a file, plain or compressed, to read its bytes.

    Raises `InputError` if the file is missing, is a directory, cannot be read, or has a damaged compressed stream. The
    message for a directory contains ``needed``, the required kind of file.
    """
    try:
        with path.open("rb") as raw:
            yield raw
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a directory, but {needed} is needed") from None
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(f"{path}: cannot be read: {error.strerror}") from None
        raise InputError(
            f"{path}: the compressed stream is damaged or cut short ({error}); get the file again"
        ) from None


def require_file_place(path: str | Path) -> Path:
    """Check that a file can be written, before any work is done; return its path, with links followed.

    Raises `InputError` if something other than an ordinary file is at the path, or if a parent is not a folder or
    cannot be written to.
    """
    path = Path(path)
    if "\0" in str(path):
        raise InputError(f"{path}: cannot be written: a file name cannot contain a null character")
    with named_errors(path):
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
        if target.exists() and not target.is_file():
            raise InputError(f"{path}: cannot be written: it is a folder, a pipe or a device, not a file")
        require_folder_place(target.parent, path)
    return target


def require_folder_place(folder: Path, named: Path | None = None) -> None:
    """Raise `InputError` unless a folder can be written to, or can be made if it is missing.

    named: the path that the user gave, for the message; by default the folder.
    """
    with named_errors(named or folder):
        there = folder
        while not there.exists() and there != there.parent:
            there = there.parent
        if not there.is_dir():
            raise InputError(f"{named or folder}: cannot be written: {there} is not a folder")
        if not os.access(there, os.W_OK | os.X_OK):
            raise InputError(f"{named or folder}: cannot be written: no permission to write in {there}")
        tempfile.TemporaryFile(dir=there).close()  # the folder of a virtual file system takes no file


def cause(error: OSError) -> str:
    """Return the system's message for an error."""
    return os.strerror(error.errno) if error.errno else f"{error or 'error of the file system'}".splitlines()[0]


@contextmanager
def named_errors(path: str | Path, temporary: Path | None = None) -> Iterator[None]:
    """Convert file-system errors to `InputError` for ``path``, except errors that name a file outside ``temporary``."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and temporary and not str(error.filename).startswith(str(temporary)):
            raise
        raise InputError(f"{path}: cannot be written: {cause(error)}") from None


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk; file systems may write names and contents in any order."""
    with suppress(OSError):  # Windows opens no folders, and some file systems cannot sync them
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _writing(temporary: Path, folder: Path, named: str | Path) -> Iterator[None]:
    """Create a folder with its parents; after a failure, remove the temporary path and the folders that were made."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    with named_errors(named):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        with named_errors(named, temporary):
            yield
            sync_folder(folder)
    except BaseException:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        temporary.unlink(missing_ok=True)
        with suppress(OSError):
            for parent in missing:
                parent.rmdir()
        raise


def _sync(file: Path) -> None:
    if file.is_dir():
        sync_folder(file)
    elif file.is_file():
        with file.open("rb+") as content:
            os.fsync(content.fileno())


def _temporary_name(path: Path, suffix: str) -> Path:
    """Return a new hidden name in the folder of another file."""
    return path.with_name(f".{path.name[:_NAME_KEPT]}.{secrets.token_hex(8)}{suffix}")
