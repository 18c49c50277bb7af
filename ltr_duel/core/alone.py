"""One writer for one path: a second process that wants to write there is refused, and nothing is mixed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path

from ltr_duel.core.digest import digest_of
from ltr_duel.core.errors import InputError
from ltr_duel.core.home import cache_home


@contextmanager
def sole_writer(path: str | Path, lock: Path | None = None) -> Iterator[None]:
    """Be the only process that writes to a file or folder; the system ends that with the process.

    The lock lies in the cache (`LTR_DUEL_HOME`), named by the path, so that nothing lies beside results. Where the
    cache cannot be written to, nothing is locked. Beside the lock lies the number of the process that holds it: Windows
    lets no other process read a locked file.

    Parameters
    ----------
    path : str or Path
    lock : Path, optional
        Another file to lock, which must be possible.

    Raises
    ------
    InputError
        If another process is writing there.
    OSError
        If ``lock`` was given and cannot be made.
    """
    from filelock import FileLock, Timeout  # slow, and many commands write nothing

    file = lock or cache_home() / "writers" / digest_of(str(Path(path).resolve()))[:32]
    holder = file.with_name(f"{file.name}.pid")
    with ExitStack() as held:
        with nullcontext() if lock else suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            try:
                held.enter_context(FileLock(file, timeout=0, thread_local=False))  # another thread may release it
            except Timeout:
                who = ""
                with suppress(OSError):
                    who = f" ({holder.read_text(encoding='ascii')})"
                raise InputError(
                    f"{path}: another process{who} is writing there; wait until it is done, or give another place"
                ) from None
            held.callback(_remove, holder, file)
            holder.write_text(str(os.getpid()), encoding="ascii")
        yield


def _remove(*files: Path) -> None:
    """Remove files; Windows keeps a locked one until it is released, and filelock removes it then."""
    for file in files:
        with suppress(PermissionError):
            file.unlink(missing_ok=True)
