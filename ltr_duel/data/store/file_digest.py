"""The digest of what is read, computed beside the reading where there is a second core.

One file has the sha256 of its bytes; several have the sha256 of their digests, so that the digest of some parts of a
corpus can be told from those of the files.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

_MOST_WAITING = 4


def joined(digests: Sequence[str]) -> str:
    """Return the digest of several files from the digest of each."""
    return digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()


class FileDigest:
    """Digests of files that are read one after the other; a context manager.

    What it is fed with must not change any more.

    Parameters
    ----------
    jobs : int
        With more than one, the digest has a thread of its own.
    bar : tqdm, optional
        Moved on by the bytes that were fed.
    """

    def __init__(self, jobs: int, bar: Any = None) -> None:
        self.files: list[str] = []  # digests of the files that are finished
        self._sha256 = hashlib.sha256()
        self._bar = bar
        self._thread = ThreadPoolExecutor(1) if jobs > 1 else None
        self._waiting: deque[Future[None]] = deque()

    def __enter__(self) -> FileDigest:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread:
            self._thread.shutdown(cancel_futures=True)

    def update(self, data: memoryview, /) -> None:
        """Take more bytes."""
        if self._thread:
            self._waiting.append(self._thread.submit(self._sha256.update, data))
            if len(self._waiting) > _MOST_WAITING:
                self._waiting.popleft().result()
        else:
            self._sha256.update(data)
        if self._bar is not None:
            self._bar.update(len(data))

    def end_file(self) -> None:
        """Finish the digest of one file; what comes now is the next one."""
        while self._waiting:
            self._waiting.popleft().result()
        self.files.append(self._sha256.hexdigest())
        self._sha256 = hashlib.sha256()

    def hexdigest(self) -> str:
        """Return the digest of all finished files."""
        return joined(self.files)
