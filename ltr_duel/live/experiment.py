"""A live experiment: make the pages to show, count their clicks, report the state."""

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
from ltr_duel.live.state import LiveState, known_of, state_of
from ltr_duel.live.switches import Switch, Switches
from ltr_duel.live.tokens import Keys

_AT_ONCE = 500  # maximum number of expired pages closed in one transaction


class Experiment(Running):
    """A live experiment in one file, opened by `Experiment.open`. Threads may share it.

    The changes of a call are on disk when the call returns. A call that raises an error has changed nothing; the error
    is `StoreError` if the store cannot be read or written.

    Parameters
    ----------
    opened : Opened
        The store with its settings and users.
    keys : Keys
        Secrets that sign the tokens.
    clock : callable
        Returns the time, in seconds.
    monotonic : callable, optional
        Returns seconds of a clock that never jumps, for comparison with ``clock``, see `Experiment.open`.

    Attributes
    ----------
    accepted : dict or None
        The change of code that was accepted when the store was opened: its time ``at``, and the versions ``before`` and
        ``now``.

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
        """Open the store of an experiment, or create it.

        Parameters
        ----------
        path : path
        settings : Settings, optional
            By default the stored settings. The guide lists the settings that can be changed during an experiment.
        keys : Keys, optional
            Secrets that sign the tokens. By default a random secret, so all tokens become invalid when the process
            ends.
        clock : callable
            Returns the time, in seconds.
        monotonic : callable, optional
            Returns seconds of a clock that never jumps; by default `time.monotonic` if ``clock`` is `time.time`. With
            this second clock, open pages keep their remaining time while the store is closed, and after a step of
            ``clock`` (when the machine was suspended, or the clock adjusted). Without it, each step counts as elapsed
            time.
        accept_new_code : bool
            Continue although the policy's plug-in file or its numbers version (see `ltr_duel.core.numbering`) differs
            from the record in the store; the store then records the change.
        user_key : bytes, optional
            The key with which users are hashed (HMAC-SHA256) before they are stored; empty to store them unhashed.
            If no key is given, a store with hashed users refuses searches with a user.

        Raises
        ------
        InputError
            If the file is not a store; if another process writes to it; or if the settings, code or user key belong to
            another experiment.
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
        """Return the page for a search: a new page of the rankers that the policy requests, or an earlier page again.

        Parameters
        ----------
        query : str
            1 to 10,000 characters; stored for the log.
        rankings : mapping of str to sequence
            Document ids (strings or numbers), best first, for the rankers in `asked`; once a switch was
            used, also for those in `needed`.
        user : str
            Empty for an unknown user. The intervals count each user once for each pair of rankers. Within ``sticky``
            seconds, the same user and query get the same page.
        offset, limit : int, optional
            The part to show begins after ``offset`` documents of the page, and contains ``limit`` documents, by default
            all that follow. A later part of an unknown page comes from the incumbent's list, outside of the experiment.
        token : str
            Token of the page to show again or to continue, for the same query and before its deadline.
        context : mapping of str to str, optional
            Further attributes of the search, named in the settings' ``context``; they become columns of the log.

        Raises
        ------
        TokenError
            If the token does not belong to this experiment.
        InputError
            For unknown rankers, or lists that are missing or cannot be interleaved.
        """
        return self._one(Decide(query, rankings, user, offset, limit, token, context or {}))

    def record(self, token: str, clicks: Iterable[Any], *, final: bool = True, late: bool = False) -> Recorded:
        """Count the clicks of a page once, and store other outcomes.

        Parameters
        ----------
        token : str
            Token of the page.
        clicks : iterable of document ids, or of mappings
            In any order; empty for a page that was seen without a click. A mapping is an outcome with a ``kind``, and
            optionally ``document``, ``value`` (default 1) and ``id``; the ``id`` distinguishes outcomes of the same
            kind and document.
        final : bool
            Whether the report is complete. If not, the page stays open until its deadline, and later reports can
            add clicks; the policy receives the outcome when the page is closed.
        late : bool
            If True, the page may already be closed, and the outcomes are stored for the log only.

        Raises
        ------
        TokenError
            If the token does not belong to this experiment.
        ExpiredError
            If the page's deadline (for late reports: 30 days) has passed, or the page was closed early because
            too many pages were open.
        UsedError
            If the clicks of the page were counted already.
        InputError
            If a document was not shown, or is below the shown parts of the page.
        """
        return self._one(Record(token, clicks, final, late))

    def switch(
        self, what: str, *, ranker: str = "", share: float = 1.0, holdback: float | None = None, by: str = ""
    ) -> Switches:
        """Use a switch: pause, resume, serve a winner, set the share of users, drop a ranker, or end the experiment.

        Parameters
        ----------
        what : {"pause", "resume", "winner", "share", "drop", "end"}
        ranker : str
            The ranker to serve as the winner, or to drop.
        share, holdback : float, optional
            For "share": the share of users in the experiment, and the share of users who are always served the
            incumbent's list, each 0 to 1. By default ``holdback`` does not change.
        by : str
            Name of the operator.

        Returns
        -------
        Switches
            The new state.

        Raises
        ------
        InputError
            If the switch is invalid, or has no effect in the current state.
        """
        return self._one(Switch(what, ranker, share, holdback, by))

    def answer(
        self, calls: Sequence[Decide | Record | Drop | Switch]
    ) -> list[Decision | Recorded | Switches | InputError]:
        """Execute several calls in order, in one durable transaction.

        Parameters
        ----------
        calls : sequence of Decide, Record, Drop or Switch
            Searches outside of the experiment are not written to disk.

        Returns
        -------
        list
            The result or the error of each call; the changes are on disk.
        """
        return self._answers(calls)

    def expire(self, most: int | None = None) -> int:
        """Close the pages whose deadline has passed; each `decide` also closes up to 20 of these pages.

        Parameters
        ----------
        most : int, optional
            Maximum number of pages to close, by default all. Other calls may run after every 500 pages.

        Returns
        -------
        int
            The number of pages closed.
        """
        closed, left = 0, math.inf if most is None else most
        while left > 0:
            wanted = int(min(left, _AT_ONCE))
            with self._changing() as actions:
                some = actions.expire(self._now(actions), wanted)
            closed += some
            left = left - some if some == wanted else 0
        return closed

    def state(self) -> LiveState:
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
