"""Write files and folders completely or not at all, even if the power fails."""

from __future__ import annotations

import gzip
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
from ltr_duel.core.places import require_file_place, require_folder_place, said_of

_NAME_KEPT = 60  # characters of a name that are repeated in a temporary name, which may have at most 255 bytes


@contextmanager
def replacing(path: str | Path, temporary: Path | None = None) -> Iterator[Path]:
    """Yield the path of a temporary file; the file is renamed to ``path`` on success, and removed on failure.

    Missing folders are created, unless ``temporary`` is given; on failure these folders are removed again. Links are
    followed. Only an ordinary file can be replaced, never a folder, a pipe or a device.

    Parameters
    ----------
    path : str or Path
        The file to write or replace.
    temporary : Path, optional
        A path on the same disk; by default a new name in the same folder. If this path is given, ``path`` is not
        checked, and errors of the file system are not converted to `InputError`.

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
    if temporary is not None:
        with _removed_on_failure(temporary):
            yield temporary
            os.replace(temporary, path)  # noqa: PTH105 -- Path.replace would fill memory with interned parts of paths
        return
    target = require_file_place(path)
    with _folders_made(target.parent, path):
        with said_of(path):
            temporary = _beside(target)
        with _removed_on_failure(temporary), said_of(path, temporary):
            yield temporary
            _sync(temporary)
            temporary.replace(target)
            sync_folder(target.parent)


@contextmanager
def reading(path: Path, needed: str) -> Iterator[BufferedReader]:
    """Open a file, plain or compressed, to read its bytes.

    Raises `InputError` if the file is missing, is a directory, cannot be read, or has a damaged compressed stream. The
    message for a directory contains ``needed``, the required kind of file.
    """
    try:
        with path.open("rb") as raw:
            yield raw
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise _damaged(path, error) from None
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a directory, but {needed} is needed") from None
    except OSError as error:
        if error.errno is None:  # from the module bz2
            raise _damaged(path, error) from None
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


def _damaged(path: Path, error: Exception) -> InputError:
    with path.open("rb") as raw:
        kind = "gzip" if is_gzipped(raw) else "compressed"
    return InputError(f"{path}: the {kind} stream is damaged or cut short ({error}); get the file again")


def is_gzipped(raw: BufferedReader) -> bool:
    """Return whether the unread bytes begin like a gzip stream."""
    return raw.peek(2)[:2] == b"\x1f\x8b"


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, completely or not at all (see `replacing`)."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside ``path``; the folder is renamed to ``path`` on success, and removed on failure.

    If another process creates ``path`` in the meantime, the temporary folder is removed and ``path`` stays unchanged.
    """
    with _folders_made(path.parent, path):
        with said_of(path):
            temporary = _new_name(path, ".tmp")
            temporary.mkdir()
        try:
            with said_of(path, temporary):
                yield temporary
                for file in temporary.rglob("*"):
                    _sync(file)
                try:
                    temporary.rename(path)
                except OSError:
                    if not path.is_dir():  # no other process has created it
                        raise
                sync_folder(path.parent)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def replacing_files(folder: str | Path) -> Iterator[Path]:
    """Yield a temporary folder; on success, its files move to ``folder``, which is created if missing.

    If the ``with`` block fails, no file moves. If a move fails, the files that have already moved stay in ``folder``.
    """
    folder = Path(folder)
    require_folder_place(folder)
    with _folders_made(folder, folder):
        with said_of(folder):
            temporary = Path(tempfile.mkdtemp(prefix=".writing.", dir=folder))
        try:
            with said_of(folder, temporary):
                yield temporary
                for file in sorted(temporary.iterdir()):
                    _sync(file)
                    file.replace(folder / file.name)
                sync_folder(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk; file systems may write names and contents in any order."""
    with suppress(OSError):  # Windows opens no folders, and some file systems cannot sync them
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _sync(file: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if file.is_dir():
        sync_folder(file)
    elif file.is_file():
        with file.open("rb+") as content:
            os.fsync(content.fileno())


@contextmanager
def _folders_made(folder: Path, said: str | Path) -> Iterator[None]:
    """Create a folder and its missing parents; after a failure, remove the created folders that are empty."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    with said_of(said):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for one in missing:
                one.rmdir()
        raise


@contextmanager
def _removed_on_failure(file: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def _beside(path: Path) -> Path:
    """Make an empty file with a new name beside another file, with the default mode of the process."""
    temporary = _new_name(path, path.suffix[:20])
    temporary.touch(exist_ok=False)
    return temporary


def _new_name(path: Path, suffix: str) -> Path:
    """Return a new random hidden name in the folder of another file."""
    return path.with_name(f".{path.name[:_NAME_KEPT]}.{secrets.token_hex(8)}{suffix}")
