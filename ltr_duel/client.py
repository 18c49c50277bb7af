"""A client for search pages; it requires only the standard library, and returns a list within a deadline.

Each call has a deadline. A search that is not answered in time gets the incumbent's list. For a short time after a
failed call, no other call of the same kind is sent. When calls begin to fail, the logger ``ltr_duel.client`` logs a
warning with the reason. After a fork, parent and children may use the same client; each opens new connections.
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
    token: str  # for `Client.clicks`; empty for a page that was not made by the service
    rankers: tuple[str, ...]  # rankers of the lists on the page
    served: str  # "experiment"; or why the search is not in the experiment; or "fallback" without a valid answer
    why: str = ""  # reason for a fallback
    total: int = 0  # number of documents on the whole page, of which ``page`` may be a part


class Client:
    """A client of a service that `ltr-duel serve` runs. Threads may share a client.

    Parameters
    ----------
    url : str
        Address, such as ``http://127.0.0.1:8080`` or ``https://...``; behind a proxy, with the path of the service.
    incumbent : str
        The ranker whose list is shown if the service does not answer.
    key : str
        The API key.
    deadline : float
        Maximum time of `decide`, in seconds.
    top : int
        Number of documents to show from the incumbent's list; use the ``top`` of the experiment.
    pause : float
        For this number of seconds after a failed call, no other call of the same kind is sent.
    threads : int
        Maximum number of simultaneous requests.

    Raises
    ------
    ValueError
        If the form of the address is invalid.

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
            raise ValueError(f"the address of a service must have the form http://127.0.0.1:8080, not '{url}'")
        self._root = parts.path.rstrip("/")
        self._incumbent, self._deadline, self._top, self._pause = incumbent, deadline, top, pause
        headers = {"content-type": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
        self._connections = Connections(parts.scheme == "https", parts.hostname, parts.port, headers, threads)
        self._asleep: dict[str, float] = {}  # path -> time until which nothing is sent to it
        self._why: dict[str, str] = {}  # path -> reason why the latest call failed

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop sending, without waiting for requests that are already sent."""
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
            Document ids of each ranker, best first; the incumbent's list is required.
        user : str
            Empty for an unknown user.
        token : str, optional
            Token of the page to show again or to continue. If ``offset`` is above 0, an empty token continues a
            fallback, and None continues the page of this user and query, provided that the experiment is ``sticky``.
        offset, limit : int, optional
            The part skips ``offset`` documents from the top, and contains at most ``limit`` documents. By default it
            begins at the top and has no limit.
        context : mapping of str to str, optional
            Further attributes of the search, named in the settings of the experiment.
        """
        said: Any = None
        why = "the search continues a fallback"
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
                    raise TypeError  # a string would become a page of letters
                return Shown(tuple(page), token, tuple(rankers), said["served"], total=said.get("total", len(page)))
        except (KeyError, TypeError):
            why = "the answer is invalid"
        shown = tuple(rankings[self._incumbent][: self._top])
        return Shown(shown[offset:][:limit], "", (self._incumbent,), FALLBACK, why, len(shown))

    def clicks(self, token: str, clicks: Sequence[str | int], *, final: bool = True, deadline: float = 2.0) -> bool:
        """Report the clicks of a page; return whether the service counted them.

        Parameters
        ----------
        token : str
            Token of the page.
        clicks : sequence
            Ids of the clicked documents; empty for a page without clicks.
        final : bool
            Whether the report is complete, see `ltr_duel.live.Experiment.record`.
        deadline : float
            Maximum time of the call, in seconds.

        Returns
        -------
        bool
            Also False if a final report, the deadline or the limit of open pages has already closed the page.
        """
        return self._report("/clicks", {"token": token, "clicks": list(clicks), "final": final}, deadline)

    def events(self, token: str, events: Sequence[Mapping[str, Any]], *, deadline: float = 2.0) -> bool:
        """Report outcomes of an open or closed page; return whether the service stored them.

        Parameters
        ----------
        token : str
            Token of the page.
        events : sequence of mappings
            Outcomes with a ``kind``, and optionally ``document``, ``value`` and ``id``. A repeated outcome counts once.
        deadline : float
            Maximum time of the call, in seconds.
        """
        return self._report("/events", {"token": token, "events": list(events)}, deadline)

    def _report(self, path: str, given: dict[str, Any], deadline: float) -> bool:
        if not given["token"]:
            return False
        said, why = self._ask(path, given, deadline)
        return not why and isinstance(said, dict) and bool(said.get("recorded"))

    def _ask(self, path: str, given: dict[str, Any], deadline: float) -> tuple[Any, str]:
        """Return the service's answer, and the reason why it cannot be used (empty for a usable answer)."""
        if self._connections.closed:
            return None, "the client is closed"
        if time.monotonic() < self._asleep.get(path, 0.0):
            return None, f"not sent, because a call failed recently: {self._why.get(path)}"
        said, failed = None, True
        try:
            body = json.dumps(given).encode()
        except (TypeError, ValueError, RecursionError) as error:  # not an error of the service
            return None, f"the request cannot be encoded as JSON: {error}"
        try:
            status, again, answer = self._connections.post(self._root + path, body, time.monotonic() + deadline)
            if status == http.HTTPStatus.OK:
                said, why, failed = json.loads(answer), "", False
            else:
                failed = status >= http.HTTPStatus.INTERNAL_SERVER_ERROR
                with suppress(ValueError):  # a proxy may answer in HTML
                    said = json.loads(answer)
                why = f"{status}: {said.get('error', '') if isinstance(said, dict) else ''}"
            if status == http.HTTPStatus.CONFLICT and again:  # the first attempt was counted, but its answer was lost
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
