"""Claims: files by which several processes divide the runs of a store among them.

Before a process executes a block of runs, it claims the block by a file, so that other processes leave the block alone.
If the process ends, its claims become void. A claim from another machine becomes void if it is not renewed for five
minutes. If two processes execute a run nevertheless, they store the same result.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from ltr_duel.core import host
from ltr_duel.experiment.store import StoppedError, Store

_BEAT = 30.0
_SILENT = 300.0  # seconds without a renewal after which a claim from another machine is void


class Claims:
    """The claims of this process. ``ltr-duel status`` prints the ``facts``."""

    def __init__(self, store: Store, facts: dict[str, Any]) -> None:
        self._store, self._renewed = store, time.monotonic()
        self._facts = facts | {"process": host.process_identity(os.getpid()), "began": time.time()}
        self._left: dict[Path, int] = {}  # runs of each claimed block that are still to do

    def __enter__(self) -> Self:
        for path in self._store.claims.iterdir():  # removes the claims of killed processes
            self._remove_if_void(path)
        return self

    def __exit__(self, *error: object) -> None:
        for path in self._left:
            path.unlink(missing_ok=True)

    def take(self, block: str, runs: int) -> bool:
        """Claim a block of runs. Return False if another process has claimed it.

        Raises `StoppedError` if the claim cannot be written.
        """
        path = self._store.claims / block
        if path.exists() and not self._remove_if_void(path):
            return False
        try:
            with path.open("x", encoding="utf-8") as file:
                json.dump(self._facts | {"runs": runs}, file)
        except FileExistsError:
            return False
        except OSError as error:
            raise StoppedError(f"{path}: cannot be written: {error.strerror}") from None
        self._left[path] = runs
        return True

    def finish(self, block: str, runs: int) -> None:
        """Count finished runs of a block, and release the block after its last run."""
        path = self._store.claims / block
        self._left[path] -= runs
        if self._left[path] <= 0:
            del self._left[path]
            path.unlink(missing_ok=True)

    def renew(self) -> None:
        """Renew all claims if half a minute has passed since the last renewal."""
        if time.monotonic() - self._renewed > _BEAT:
            self._renewed = time.monotonic()
            for path in self._left:
                with suppress(FileNotFoundError):  # another process has removed this claim as void
                    os.utime(path)

    def _remove_if_void(self, path: Path) -> bool:
        if _holder(path) is not None:
            return False
        path.unlink(missing_ok=True)
        return True


def live_claims(store: Store) -> list[dict[str, Any]]:
    """Return the contents of all claims that are not void."""
    paths = store.claims.iterdir() if store.claims.is_dir() else ()
    return [claim for path in paths if (claim := _holder(path))]


def _holder(path: Path) -> dict[str, Any] | None:
    try:
        fresh = time.time() - path.stat().st_mtime < _SILENT
        claim: dict[str, Any] = json.loads(path.read_bytes())
        alive = host.still_runs(claim["process"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return {} if fresh else None  # another process may still be writing the claim
    return claim if (fresh if alive is None else alive) else None
