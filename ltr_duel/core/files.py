"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ltr_duel.core.errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path in the same folder; on success it becomes ``path``, on failure it is removed.

    Missing folders are made.

    Parameters
    ----------
    path : Path
        The file to write, or to write anew.

    Yields
    ------
    Path

    Raises
    ------
    InputError
        If the folder cannot be made or written to.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "new" / "numbers.txt"
    ...     with replacing(path) as temporary:
    ...         _ = temporary.write_text("1 2 3")
    ...     path.read_text()
    '1 2 3'
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    os.close(handle)
    temporary = Path(name)
    temporary.chmod(0o666 & ~_umask())
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside ``path``; on success it becomes ``path``, on failure it is removed.

    A folder that another process has put there meanwhile stays, and the temporary one is removed. Missing parents are
    made.

    Raises
    ------
    InputError
        If the parent cannot be made or written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        try:
            temporary.rename(path)
        except OSError:
            if not path.is_dir():  # not the other process
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _umask() -> int:
    """Read the file mode creation mask; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
