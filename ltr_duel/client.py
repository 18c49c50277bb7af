"""A client for a search page, of the standard library alone: the experiment never stands between people and results.

Each call has a deadline. A search that is not answered in time, or not at all, gets the incumbent's list, and for a
moment after a failure no search is sent, nor, after a failed report, another report of its kind. The logger
``ltr_duel.client`` warns when calls begin to fail, and why. A process that forks may use its client in parent and
children: each has connections that no other one has.
"""

from __future__ import annotations

import http.client
import json
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ltr_duel._connections import Connections

__all__ = ["Client", "Shown"]

FALLBACK = "fallback"
_LOG = logging.getLogger(__name__)


class Shown(NamedTuple):
    """A page to show.

    Examples
    --------
    >>> Shown(("d2", "d7"), "", ("old",), "fallback").token
    ''
    """

    page: tuple[Any, ...]  # document ids, from the top
    token: str  # for `Client.clicks`; empty for a page that the service has not made
    rankers: tuple[str, ...]  # of its lists
    served: str  # "experiment"; why the search takes no part; or "fallback", if the service did not answer
    why: str = ""  # of a fallback: why the service's page is not shown
    total: int = 0  # documents of the whole page, of which these may be a part


class Client:
    """Asks a service of `ltr-duel serve`. Threads may share it.

    Parameters
    ----------
    url : str
        ``http://127.0.0.1:8080``, or ``https://...``; of one experiment among several ``http://127.0.0.1:8080/shoes``.
    incumbent : str
        The ranker whose list is shown if the service does not answer.
    key : str
        The API key, with the role ``ask``.
    deadline : float
        Seconds that `decide` may take.
    top : int
        Documents of the incumbent's list that are shown; the ``top`` of the experiment.
    pause : float
        Seconds after a failure in which no other call of that kind is sent.
    threads : int
        Requests at once.

    Raises
    ------
    ValueError
        For an address of another form.

    Examples
    --------
    >>> with Client("http://127.0.0.1:1", "old") as client:
    ...     shown = client.decide("red shoes", {"old": ["d7", "d2"], "new": ["d2"]})
    >>> shown.page, shown.served, shown.why != ""
    (('d7', 'd2'), 'fallback', True)
    """

    def __init__(
        self,
        url: str,
        incumbent: str,
        *,
        key: str = "",
        deadline: float = 0.1,
        top: int = 10,
        pause: float = 1.0,
        threads: int = 16,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"the address of a service is of the form http://127.0.0.1:8080, not '{url}'")
        self._root = parts.path.rstrip("/")
        self._incumbent, self._deadline, self._top, self._pause = incumbent, deadline, top, pause
        headers = {"content-type": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
        self._connections = Connections(parts.scheme == "https", parts.hostname, parts.port, headers, threads)
        self._asleep: dict[str, float] = {}  # address -> the time until which nothing is sent to it
        self._why: dict[str, str] = {}  # address -> why the latest call failed

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Send nothing more; requests under way are not waited for."""
        self._connections.close()

    def decide(
        self,
        query: str,
        rankings: Mapping[str, Sequence[str | int]],
        user: str = "",
        *,
        token: str | None = None,
        offset: int = 0,
        limit: int | None = None,
        context: Mapping[str, str] | None = None,
    ) -> Shown:
        """Return the page to show, or a part of it, within the deadline.

        Parameters
        ----------
        query : str
        rankings : mapping of str to sequence
            Document ids of each ranker, best first; the incumbent's list must be there.
        user : str
            Empty for an unknown user.
        token : str, optional
            Of the page to show again, or to continue. With an empty one a later part continues a fallback; without one
            it continues the user's page, where the experiment is ``sticky``.
        offset, limit : int, optional
            Documents above the part, and of the part; by default all that follow.
        context : mapping of str to str, optional
            Further facts of the search, by the names of the experiment's settings.
        """
        said: Any = None
        why = "it continues a fallback"
        if not offset or (user if token is None else token):
            asked = {"query": query, "rankings": dict(rankings), "user": user, "offset": offset, "token": token or ""}
            said, why = self._ask(
                "/decide",
                asked | ({} if limit is None else {"limit": limit}) | ({"context": dict(context)} if context else {}),
                self._deadline,
            )
        try:
            if not why:
                page, token, rankers = said["page"], said["token"], said["rankers"]
                if not (isinstance(page, list) and isinstance(token, str) and isinstance(rankers, list)):
                    raise TypeError  # a text would become a page of letters
                return Shown(tuple(page), token, tuple(rankers), said["served"], total=said.get("total", len(page)))
        except (KeyError, TypeError):
            why = "the answer is none of this service"
        shown = tuple(rankings[self._incumbent][: self._top])
        return Shown(shown[offset:][:limit], "", (self._incumbent,), FALLBACK, why, len(shown))

    def clicks(self, token: str, clicks: Sequence[str | int], *, final: bool = True, deadline: float = 2.0) -> bool:
        """Report the clicks of a page; return whether the service counts them.

        Parameters
        ----------
        token : str
            Of the page.
        clicks : sequence
            Ids of the documents that were clicked; empty if none was.
        final : bool
            Whether the report is complete, see `ltr_duel.live.Experiment.record`.
        deadline : float
            Seconds that the call may take.

        Returns
        -------
        bool
            False too if the page was closed before: by a final report, at its deadline, or to make room.
        """
        return self._report("/clicks", {"token": token, "clicks": list(clicks), "final": final}, deadline)

    def events(self, token: str, events: Sequence[Mapping[str, Any]], *, deadline: float = 2.0) -> bool:
        """Report outcomes of a page, also after it was closed; return whether the service keeps them.

        Parameters
        ----------
        token : str
            Of the page.
        events : sequence of mappings
            Each with a ``kind``, and if need be ``document``, ``value`` and ``id``. One that is repeated counts once.
        deadline : float
            Seconds that the call may take.
        """
        return self._report("/events", {"token": token, "events": list(events)}, deadline)

    def _report(self, path: str, given: dict[str, Any], deadline: float) -> bool:
        if not given["token"]:
            return False
        said, why = self._ask(path, given, deadline)
        return not why and isinstance(said, dict) and bool(said.get("recorded"))

    def _ask(self, path: str, given: dict[str, Any], deadline: float) -> tuple[Any, str]:
        """Return the answer of the service, and the reason why it is unusable; empty if it is usable."""
        if self._connections.closed:
            return None, "the client is closed"
        if time.monotonic() < self._asleep.get(path, 0.0):
            return None, f"not asked, a moment after: {self._why.get(path)}"
        said, failed = None, True
        try:
            body = json.dumps(given).encode()
        except (TypeError, ValueError, RecursionError) as error:  # no fault of the service
            return None, f"JSON cannot hold this: {error}"
        try:
            status, again, answer = self._connections.post(self._root + path, body, time.monotonic() + deadline)
            if status == http.HTTPStatus.OK:
                said, why, failed = json.loads(answer), "", False
            else:
                failed = status >= http.HTTPStatus.INTERNAL_SERVER_ERROR
                with suppress(ValueError):  # a proxy refuses in HTML
                    said = json.loads(answer)
                why = f"{status}: {said.get('error', '') if isinstance(said, dict) else ''}"
            if status == http.HTTPStatus.CONFLICT and again:  # the first sending was counted, but its answer was lost
                said, why = {"recorded": True}, ""
        except TimeoutError:
            why = f"no answer within {deadline:g} seconds"
        except (OSError, http.client.HTTPException, ValueError, RuntimeError) as error:
            why = str(error) or type(error).__name__
        if failed:
            self._asleep[path] = time.monotonic() + self._pause
        if why and not self._why.get(path):
            _LOG.warning("%s: %s", path, why)
        self._why[path] = why
        return said, why
