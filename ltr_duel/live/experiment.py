"""A live experiment: see the stub; the body follows."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path

from ltr_duel.core import InputError
from ltr_duel.live.calls import Decide, Decision, Record, Recorded
from ltr_duel.live.settings import Settings
from ltr_duel.live.state import State
from ltr_duel.live.tokens import Keys


class Experiment:
    """A live experiment in one file."""

    settings: Settings

    @classmethod
    def open(
        cls,
        path: str | Path,
        settings: Settings | None = None,
        *,
        keys: Keys | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Experiment:
        """Open a store, or make one; settings None: those of the store; keys None: random ones."""
        raise NotImplementedError

    def __enter__(self) -> Experiment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write a snapshot and let go of the file."""

    def decide(self, query: str, rankings: Mapping[str, Sequence[Hashable]], *, user: str = "") -> Decision:
        """Answer one `Decide`."""
        raise NotImplementedError

    def record(self, token: str, clicks: Iterable[Hashable]) -> Recorded:
        """Answer one `Record`."""
        raise NotImplementedError

    def answer(self, calls: Sequence[Decide | Record]) -> list[Decision | Recorded | InputError]:
        """Answer several calls in their order, all made durable at once; raise StoreError if that failed."""
        raise NotImplementedError

    def expire(self) -> int:
        """Close the pages past their deadline; how many."""
        raise NotImplementedError

    def state(self) -> State:
        """Say where the experiment stands."""
        raise NotImplementedError

    @property
    def asked(self) -> tuple[str, ...]:
        """Whom the policy wants to compare now."""
        raise NotImplementedError

    @property
    def open_pages(self) -> int:
        """Pages that wait for their clicks."""
        raise NotImplementedError

    @property
    def pages(self) -> int:
        """Pages shown."""
        raise NotImplementedError
