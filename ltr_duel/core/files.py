"""Write files and folders either completely or not at all.

New contents go to a temporary file first, which then replaces the old file. If the file system reports an error, the
functions raise `InputError` with a message for the user.
"""

from __future__ import annotations

import lzma
import os
import secrets
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from io import BufferedReader
from pathlib import Path

import platformdirs

from ltr_duel.core.digest import digest_of
from ltr_duel.core.errors import InputError


def cache_home() -> Path:
    """Return the folder for files that can be made again: ``$LTR_DUEL_HOME`` or the user's cache folder.

    Returns
    -------
    Path
        The folder, which may not exist yet.

    Raises
    ------
    InputError
        If the user has no home folder.

    Examples
    --------
    >>> cache_home().name  # doctest: +SKIP
    'ltr_duel'
    """
    home = os.environ.get("LTR_DUEL_HOME")
    try:
        folder = Path(home).expanduser() if home else platformdirs.user_cache_path("ltr_duel")
    except RuntimeError:
        folder = Path("~")
    if folder.parts[:1] == ("~",):  # not expanded
        raise InputError("there is no home folder for the cache; set LTR_DUEL_HOME to a folder of yours")
    return folder


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield the path of a temporary file, which replaces ``path`` when the ``with`` block ends.

    If the ``with`` block fails, the temporary file is removed. Folders that are missing are created, and removed again
    after a failure. If ``path`` is a link, the target of the link is replaced.

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
    with _temporary(target.parent, target.suffix[:20], path) as temporary:
        temporary.touch()
        yield temporary
        temporary.replace(target)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield the path of a temporary folder, which is renamed to ``path`` when the ``with`` block ends.

    If the ``with`` block fails, the temporary folder is removed. If another process has created the folder ``path`` in
    the meantime, that folder stays.
    """
    with _temporary(path.parent, ".tmp", path) as temporary:
        temporary.mkdir()
        yield temporary
        try:
            temporary.rename(path)
        except OSError:
            if not path.is_dir():  # no other process has created it
                raise
            shutil.rmtree(temporary)


@contextmanager
def replacing_files(folder: str | Path) -> Iterator[Path]:
    """Yield a temporary folder. When the ``with`` block ends, the files in it move to ``folder``.

    If ``folder`` is missing, it is created. If the ``with`` block fails, no file moves. If a move fails, files that
    have already moved stay in ``folder``.
    """
    folder = Path(folder)
    require_folder_place(folder)
    with _temporary(folder, "", folder) as temporary:
        temporary.mkdir()
        yield temporary
        for file in sorted(temporary.iterdir()):
            file.replace(folder / file.name)
        temporary.rmdir()


def write_text(path: str | Path, text: str) -> None:
    """Write a text file either completely or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def sole_writer(path: str | Path, lock: Path | None = None) -> Iterator[None]:
    """Prevent other processes from writing to a file or folder until the ``with`` block ends.

    The other processes must use this function, too. The function locks a file in the user's cache. If the cache cannot
    be written, other processes are not stopped.

    lock: a lock file to use instead. `OSError` is raised if it cannot be created.

    Raises `InputError` if another process is writing to the path.
    """
    from filelock import FileLock, Timeout  # imported here, because the import is slow and many commands write nothing

    with ExitStack() as held:
        with nullcontext() if lock else suppress(OSError):
            file = lock or cache_home() / "writers" / digest_of(os.path.realpath(path))[:32]
            file.parent.mkdir(parents=True, exist_ok=True)
            try:
                # thread_local: another thread may release the lock
                held.enter_context(FileLock(file, timeout=0, mode=0o600, thread_local=False))
            except Timeout:
                advice = "wait until it is done, or give another path"
                raise InputError(f"{path}: another process is writing there; {advice}") from None
        yield


@contextmanager
def reading(path: Path, needed: str) -> Iterator[BufferedReader]:
    """Open a file, plain or compressed, to read its bytes.

    needed: the kind of file that is expected, for the error message if the path is a directory.

    Raises `InputError` if the file is missing, is a directory, cannot be read, or is damaged.
    """
    try:
        with path.open("rb") as raw:
            yield raw
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: this is a directory, but {needed} is needed") from None
    except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
        fault = f"the compressed stream is damaged or cut short ({error}); get the file again"
        if isinstance(error, OSError) and error.strerror:
            fault = f"cannot be read: {error.strerror}"
        raise InputError(f"{path}: {fault}") from None


def require_file_place(path: str | Path) -> Path:
    """Check that a file can be written. Return the path of the file, with all links resolved.

    Raises `InputError` if the path is not an ordinary file, or if its folder cannot be made or written to.
    """
    with named_errors(path):
        with suppress(FileNotFoundError, NotADirectoryError):
            if not stat.S_ISREG(Path(path).stat().st_mode):
                raise InputError(f"{path}: cannot be written: it is a folder, a pipe or a device, not a file")
        target = Path(os.path.realpath(path))
        require_folder_place(target.parent, path)
    return target


def require_folder_place(folder: Path, named: str | Path | None = None) -> None:
    """Check that files can be written to a folder, which may be missing. Raise `InputError` if not.

    named: the path for the error message; by default the folder.
    """
    with named_errors(named or folder):
        parent = next(parent for parent in (folder, *folder.parents) if parent.exists())
        if not parent.is_dir():
            raise InputError(f"{named or folder}: cannot be written: {parent} is not a folder")
        tempfile.TemporaryFile(dir=parent).close()


def cause(error: OSError) -> str:
    """Return what the operating system says about an error."""
    return os.strerror(error.errno) if error.errno else str(error).partition("\n")[0]


@contextmanager
def named_errors(path: str | Path, temporary: Path | None = None) -> Iterator[None]:
    """Turn errors of the file system in the ``with`` block into an `InputError` that names ``path``.

    temporary: a temporary file or folder. If it is given, only errors about paths inside it are converted.
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None and temporary and not str(error.filename).startswith(str(temporary)):
            raise
        raise InputError(f"{path}: cannot be written: {cause(error)}") from None


@contextmanager
def _temporary(folder: Path, suffix: str, named: str | Path) -> Iterator[Path]:
    temporary = folder.absolute() / f".{secrets.token_hex(8)}{suffix}"  # pyarrow takes "a:b" for an address
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        with named_errors(named):
            folder.mkdir(parents=True, exist_ok=True)
        with named_errors(named, temporary):
            yield temporary
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
            for parent in missing:
                parent.rmdir()
        raise
