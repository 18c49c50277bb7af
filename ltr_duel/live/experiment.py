"""A live experiment: lists to show, their clicks, and its state."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError
from ltr_duel.live.calls import Decide, Decision, Drop, Record, Recorded, StoreError
from ltr_duel.live.opening import open_store
from ltr_duel.live.running import Running
from ltr_duel.live.settings import Settings
from ltr_duel.live.state import State, known_of, state_of
from ltr_duel.live.switches import Switch, Switches
from ltr_duel.live.tokens import Keys

_AT_ONCE = 500  # pages past their deadline that are closed in one transaction


class Experiment(Running):
    """A live experiment in one file; made by `Experiment.open`. Threads may share it.

    Each call is durable when it returns. A call that raises has changed nothing; it raises `StoreError` if the store
    cannot be written.

    Parameters
    ----------
    opened : Opened
        The store with its settings and users.
    keys : Keys
        Secrets that sign the tokens.
    clock : callable
        Returns the time, in seconds.
    monotonic : callable, optional
        Returns seconds of a clock that never jumps, for comparison.

    Attributes
    ----------
    accepted : dict or None
        The change of code that was accepted when the store was opened: ``at``, ``before`` and ``now``.

    Examples
    --------
    >>> import tempfile
    >>> settings = Settings(name="shoes", rankers=("old", "new"), policy="rucb")
    >>> folder = tempfile.TemporaryDirectory()
    >>> with folder, Experiment.open(Path(folder.name) / "shoes.db", settings) as experiment:
    ...     page = experiment.decide("red shoes", {"old": ["a", "b", "c"], "new": ["c", "a", "d"]})
    ...     recorded = experiment.record(page.token, clicks=[page.shown[0]])
    ...     state = experiment.state()
    >>> len(page.shown), sorted(recorded.rankers), state.steps
    (4, ['new', 'old'], 1)
    """

    @classmethod
    def open(
        cls,
        path: str | Path,
        settings: Settings | None = None,
        *,
        keys: Keys | None = None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] | None = None,
        accept_new_code: bool = False,
        user_key: bytes | None = None,
    ) -> Experiment:
        """Open the store of an experiment, or make one.

        Parameters
        ----------
        path : path
        settings : Settings, optional
            By default those of the store. The guide lists those that can be changed while an experiment goes on.
        keys : Keys, optional
            Secrets that sign the tokens. By default a random one: the tokens of open pages end with the process.
        clock : callable
            Returns the time, in seconds.
        monotonic : callable, optional
            Returns seconds of a clock that never jumps; `time.monotonic` for `time.time`. After a step of ``clock`` (a
            suspended machine, a clock that is set), and while the store is closed, open pages keep the time that they
            had left. Without it each step is time that has passed.
        accept_new_code : bool
            Continue although the policy's numbers version or plug-in file differs from the store's record; the store
            records the change as an event.
        user_key : bytes, optional
            The key by which users are hashed (HMAC-SHA256) before they are kept; empty to keep them as they are given.
            Without it a store with hashes takes no searches of users.

        Raises
        ------
        InputError
            If the file is no store, another process writes to it, or settings, code or user key are of another
            experiment.
        """
        opened = open_store(path, settings, clock(), user_key, accept_new_code=accept_new_code)
        try:
            if clock is time.time:
                monotonic = monotonic or time.monotonic
            return cls(opened, keys or Keys.random(), clock, monotonic)
        except BaseException as error:
            opened.store.close()
            if isinstance(error, StoreError):
                raise InputError(f"{path}: {error}") from None
            raise

    def __enter__(self) -> Experiment:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def decide(
        self,
        query: str,
        rankings: Mapping[str, Sequence[Hashable]],
        *,
        user: str = "",
        offset: int = 0,
        limit: int | None = None,
        token: str = "",
        context: Mapping[str, str] | None = None,
    ) -> Decision:
        """Choose rankers and make the page to show; or show one again, or a later part of one.

        Parameters
        ----------
        query : str
            1 to 10,000 characters; it is kept for the log.
        rankings : mapping of str to sequence
            Document ids, best first, at least of the rankers in `asked`: texts or numbers.
        user : str
            Empty for an unknown user. For intervals a user counts once for each pair of rankers. Within ``sticky``
            seconds the same user and query see the same page.
        offset, limit : int, optional
            Documents of the page above the part to show, and of the part; by default all that follow. A later part of
            an unknown page is one of the incumbent's list, and takes no part in the experiment.
        token : str
            Token of the page to show again, or to continue, until its deadline; for the same query.
        context : mapping of str to str, optional
            Further facts of the search, by names of the settings' ``context``; columns of the log.

        Raises
        ------
        TokenError
            If the token is none of this experiment's.
        InputError
            For lists that cannot be interleaved, or unknown rankers.
        """
        return self._one(Decide(query, rankings, user, offset, limit, token, context or {}))

    def record(self, token: str, clicks: Iterable[Any], *, final: bool = True, late: bool = False) -> Recorded:
        """Count the clicks of a page, once, and keep other outcomes.

        Parameters
        ----------
        token : str
            Of the page.
        clicks : iterable of document ids, or of mappings
            In any order; empty for a page that was seen without a click. A mapping is an outcome with its ``kind``, and
            optionally ``document``, ``value`` (1) and ``id`` (to distinguish two of a kind and document).
        final : bool
            Whether the report is complete. If not, the page stays open until its deadline, and later reports add to
            these clicks; the policy learns of them when the page is closed.
        late : bool
            Whether the page may be closed already: then the outcomes are kept for the log, and change nothing else.

        Raises
        ------
        TokenError
            If the token is none of this experiment's.
        ExpiredError
            If the page's deadline has passed, or it was closed to make room.
        UsedError
            If its clicks were counted already.
        InputError
            If a document was not shown, or is below the parts of the page that were.
        """
        return self._one(Record(token, clicks, final, late))

    def switch(
        self, what: str, *, ranker: str = "", share: float = 1.0, holdback: float | None = None, by: str = ""
    ) -> Switches:
        """Use a switch.

        Parameters
        ----------
        what : {"pause", "resume", "winner", "share", "drop", "end"}
        ranker : str
            The ranker to serve as the winner, or to drop.
        share, holdback : float, optional
            Shares of the users, 0 to 1, that take part, and that always get the incumbent's list; for "share". By
            default ``holdback`` does not change.
        by : str
            Name of the operator.

        Returns
        -------
        Switches
            The new state.

        Raises
        ------
        InputError
            For a switch that is of no use now.
        """
        return self._one(Switch(what, ranker, share, holdback, by))

    def answer(
        self, calls: Sequence[Decide | Record | Drop | Switch]
    ) -> list[Decision | Recorded | Switches | InputError]:
        """Answer several calls, one after the other, with one wait for the disk.

        Parameters
        ----------
        calls : sequence of Decide, Record, Drop or Switch
            A search that takes no part in the experiment needs no disk.

        Returns
        -------
        list
            For each call its durable answer, or its error.
        """
        return self._answers(calls)

    def expire(self, most: int | None = None) -> int:
        """Close the pages whose deadline has passed; `decide` does that as well, some at a time.

        Parameters
        ----------
        most : int, optional
            Largest number of pages; other calls wait meanwhile. By default all of them.

        Returns
        -------
        int
            The number of pages.
        """
        closed, left = 0, math.inf if most is None else most
        while left > 0:
            wanted = int(min(left, _AT_ONCE))
            with self._changing() as actions:
                some = actions.expire(self._now(actions), wanted)
            closed += some
            left = left - some if some == wanted else 0
        return closed

    def state(self) -> State:
        """Return the state of the experiment."""
        with self._lock:
            memory = self._ready().memory
            known = known_of(memory)
        return state_of(self.settings, self._started, known)

    def _one(self, call: Decide | Record | Switch) -> Any:
        [answer] = self.answer([call])
        if isinstance(answer, InputError):
            raise answer
        return answer
