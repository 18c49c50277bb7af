"""One writer for one place: the second process that wants to write there is told, and nothing is mixed."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO

from ltr_duel.core.digest import digest_of
from ltr_duel.core.errors import InputError
from ltr_duel.core.home import cache_home


@contextmanager
def sole_writer(path: str | Path, lock: Path | None = None) -> Iterator[None]:
    """Be the only process that writes to a file or folder; the system ends that with the process.

    The lock lies in the cache (`LTR_DUEL_HOME`), named by the place, so that nothing lies beside results. Where the
    cache cannot be written to, nobody is kept out. Where the lock is to lie somewhere else, it must be possible there.

    Raises
    ------
    InputError
        If another process is writing there.
    """
    must = lock is not None
    lock = lock or cache_home() / "writers" / digest_of(str(Path(path).resolve()))[:32]
    held = None
    with nullcontext() if must else suppress(OSError):
        held = _taken(lock)
        if held is None:
            who = lock.read_text(encoding="ascii") if lock.exists() else ""
            raise InputError(
                f"{path}: another process{f' ({who})' if who else ''} is writing there;"
                " wait until it is done, or give another place"
            )
    try:
        yield
    finally:
        if held is not None:
            lock.unlink(missing_ok=True)
            held.close()


def _taken(lock: Path) -> IO[str] | None:
    """Lock a file, and write into it who did; None if somebody else has."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    while True:
        file = lock.open("a+", encoding="ascii")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), lock.stat()):
                file.truncate(0)
                file.write(str(os.getpid()))
                file.flush()
                return file
        file.close()  # its owner removed it meanwhile
