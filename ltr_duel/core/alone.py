"""One writer for each path: a second process gets an error, so the outputs of two processes are never mixed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

from ltr_duel.core.cache_folder import NoHomeError, cache_home
from ltr_duel.core.digest import digest_of
from ltr_duel.core.errors import InputError


class InUseError(InputError):
    """Another process is writing to the same path; a retry can succeed when that process has ended."""


@contextmanager
def sole_writer(path: str | Path, lock: Path | None = None) -> Iterator[None]:
    """Lock a file or folder against other writers; the system releases the lock when the process ends.

    The lock file is in the cache, not beside the results, and its name is a digest of the path. Without write access to
    the cache, nothing is locked. A second file contains the id of the process that holds the lock, because on Windows
    no other process can read a locked file.

    lock: the file to lock, instead of a file in the cache. If this file cannot be created, `OSError` is raised.

    Raises `InUseError` if another process is writing to the path.
    """
    from filelock import FileLock, Timeout  # imported here, because the import is slow and many commands write nothing

    with ExitStack() as held:
        with nullcontext() if lock else suppress(OSError, NoHomeError):
            file = lock or cache_home() / "writers" / digest_of(str(Path(path).resolve()))[:32]
            holder = file.with_name(f"{file.name}.pid")
            file.parent.mkdir(parents=True, exist_ok=True)
            try:
                # thread_local: another thread may release the lock
                held.enter_context(FileLock(file, timeout=0, mode=0o600, thread_local=False))
            except Timeout:
                who = ""
                with suppress(OSError):
                    who = f" ({holder.read_text(encoding='ascii')})"
                raise InUseError(
                    f"{path}: another process{who} is writing there; wait until it is done, or give another path"
                ) from None
            held.callback(_remove, holder, file)
            holder.unlink(missing_ok=True)  # it may be a link that another user created
            with os.fdopen(os.open(holder, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as text:
                text.write(str(os.getpid()))
        yield


def _remove(*files: Path) -> None:
    """Remove files; on Windows a locked file stays, and filelock removes it when it releases the lock."""
    for file in files:
        with suppress(PermissionError):
            file.unlink(missing_ok=True)
