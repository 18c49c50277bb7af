"""A live experiment: which list to show, what was clicked, where it stands."""

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

    Each call is durable when it returns. A call that raises has changed nothing.

    Parameters
    ----------
    store : Store
        Open.
    settings : Settings
    keys : Keys
        That sign the tokens, and are believed.
    users : Users
        How users are kept.
    clock : callable
        Returns the time, in seconds.
    monotonic : callable, optional
        Returns seconds of a clock that never jumps, by which steps of the other one are noticed.

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

    accepted: dict[str, Any] | None = None

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
            Those of the store if not given. Of a store that exists only ``margin``, ``deadline``, ``max_open`` and
            ``serve`` can be changed.
        keys : Keys, optional
            That sign the tokens. Without them a key is made that ends with the process, and so do the tokens of
            pages that are open.
        clock : callable
            Returns the time, in seconds.
        monotonic : callable, optional
            Returns seconds of a clock that never jumps; `time.monotonic` for `time.time`. After a step of ``clock``
            (a suspended machine, a clock that is set) open pages keep the time that they had left, and so they do
            while the store is closed. Without it each step is time that has passed.
        accept_new_code : bool
            Continue although the policy's numbers version or plug-in file differs from the store's record; the store
            records the change as an event.
        user_key : bytes, optional
            By which users are hashed (HMAC-SHA256) before anything of them is kept; empty to keep them as they are
            given. If it is not given, a store with hashes is for looking alone.

        Raises
        ------
        InputError
            If the file is no store, another process writes to it, the settings are those of another experiment, or the
            policy or the key of the users is another one.
        """
        store, settings, users, accepted = open_store(path, settings, clock, user_key, accept_new_code=accept_new_code)
        try:
            if clock is time.time:
                monotonic = monotonic or time.monotonic
            experiment = cls(store, settings, keys or Keys.random(), users, clock, monotonic)
        except BaseException as error:
            store.close()
            if isinstance(error, StoreError):
                raise InputError(f"{path}: {error}") from None
            raise
        experiment.accepted = accepted
        return experiment

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
            Document ids of the rankers, best first: texts or numbers. Those that `asked` names must be there.
        user : str
            Who asked, if it is known: for intervals a user counts once for each pair of rankers. Within ``sticky``
            seconds the same user and query see the same page.
        offset, limit : int, optional
            Documents of the page above the part to show, and of the part; all that follow if not given. A later part of
            a page that is not known is one of the incumbent's list, and takes no part in the experiment.
        token : str
            Of the page to show again, or to continue, until its deadline; for the same query.
        context : mapping of str to str, optional
            What else is known of the search, by names of the settings' ``context``; columns of the log.

        Returns
        -------
        Decision

        Raises
        ------
        StoreError
            If the store cannot be written.
        TokenError
            If the token is none of this experiment's.
        InputError
            For lists that cannot be interleaved, or names that are no rankers.
        """
        return self._one(Decide(query, rankings, user, offset, limit, token, context or {}))

    def record(self, token: str, clicks: Iterable[Any], *, final: bool = True, late: bool = False) -> Recorded:
        """Count the clicks of a page, once, and keep other outcomes.

        Parameters
        ----------
        token : str
            Of the page.
        clicks : iterable of document ids, or of mappings
            In any order; none says that the page was seen without a click. A mapping is an outcome: its ``kind``, and
            if need be ``document``, ``value`` (1) and ``id`` (to tell two of a kind and document).
        final : bool
            Whether that is all. If not, the page stays open until its deadline, as its user may come back to it, and
            later reports add to these clicks; the policy learns of them when the page is closed.
        late : bool
            Whether the page may be closed already: then the outcomes are kept for the log, and change nothing else. A
            page that is open stays so.

        Returns
        -------
        Recorded

        Raises
        ------
        TokenError
            If the token is none of this experiment's.
        ExpiredError
            If the page's deadline has passed, or it was closed to make room.
        UsedError
            If its clicks were counted already.
        StoreError
            If the store cannot be written.
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
            Parts of the users, 0 to 1, that take part, and that always get the incumbent's list; for "share". Who are
            held back stay so if ``holdback`` is not given.
        by : str
            Who uses it, for people.

        Returns
        -------
        Switches
            What holds now.

        Raises
        ------
        StoreError
            If the store cannot be written.
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
            For each call its answer, or the error that concerns it alone. All is durable.

        Raises
        ------
        StoreError
            If the store cannot be written: then none of the calls has happened.
        """
        return self._answers(calls)

    def expire(self, most: int | None = None) -> int:
        """Close the pages whose deadline has passed; `decide` does that as well, some at a time.

        Parameters
        ----------
        most : int, optional
            How many at most; other calls wait meanwhile. All of them if not given.

        Returns
        -------
        int
            How many there were.

        Raises
        ------
        StoreError
            If the store cannot be written.
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
        """Say where the experiment stands.

        Returns
        -------
        State
        """
        with self._lock:
            memory = self._ready().memory
            known = known_of(memory)
        return state_of(self.settings, self._started, known)

    def _one(self, call: Decide | Record | Switch) -> Any:
        [answer] = self.answer([call])
        if isinstance(answer, InputError):
            raise answer
        return answer
