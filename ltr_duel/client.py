"""A client of `ltr-duel serve` for search pages; it requires only the standard library.

Each call ends within its deadline: a search that is not answered in time gets the incumbent's list. Nothing is sent
twice. For a moment after a failed call, no call to the same address is sent. The logger ``ltr_duel.client`` reports the
reason when calls begin to fail. Make a client after a process forks, not before.
"""

from __future__ import annotations

import http.client
import json
import logging
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlsplit

__all__ = ["Client", "Shown"]

FALLBACK = "fallback"
_IDLE = 5.0  # seconds after which a connection is opened anew, because the service or its proxy may be closing it
_LOG = logging.getLogger(__name__)


class Shown(NamedTuple):
    """A page to show.

    Examples
    --------
    >>> Shown(("d2", "d7"), "", ("old",), "fallback").token
    ''
    """

    page: tuple[Any, ...]  # document ids, from the top
    token: str  # for `Client.report`; empty for a page that does not count
    rankers: tuple[str, ...]  # rankers of the lists on the page
    served: str  # "experiment"; or why the search is not in the experiment; or "fallback" without a valid answer
    why: str = ""  # reason for a fallback


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
        Maximum time of a call, in seconds.
    top : int
        Number of documents to show from the incumbent's list; use the ``top`` of the experiment.
    pause : float
        For this number of seconds after a failed call, no other call to the same address is sent.
    threads : int
        Maximum number of simultaneous requests.

    Raises
    ------
    ValueError
        If the form of the address is invalid.

    Examples
    --------
    >>> with Client("http://127.0.0.1:1", "old", key="0123456789abcdef") as client:
    ...     shown = client.decide("user 7", "red shoes", {"old": ["d7", "d2"], "new": ["d2"]})
    >>> shown.page, shown.served, shown.why != ""
    (('d7', 'd2'), 'fallback', True)
    """

    def __init__(
        self, url: str, incumbent: str, *, key: str, deadline: float = 0.1, top: int = 10, pause: float = 1.0,
        threads: int = 16,
    ) -> None:  # fmt: skip
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"the address of a service must have the form http://127.0.0.1:8080, not '{url}'")
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port, self._root = parts.hostname, parts.port, parts.path.rstrip("/")
        self._headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
        self._incumbent, self._deadline, self._top, self._pause = incumbent, deadline, top, pause
        self._threads = ThreadPoolExecutor(threads, "ltr_duel")
        self._idle: deque[tuple[float, http.client.HTTPConnection]] = deque()  # with the time of the last use
        self._closed = False
        self._asleep: dict[str, float] = {}  # path -> time until which nothing is sent to it
        self._why: dict[str, str] = {}  # path -> reason why the latest call failed

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop sending, and close the connections."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        while self._idle:
            self._idle.pop()[1].close()

    def decide(
        self,
        user: str,
        query: str,
        rankings: Mapping[str, Sequence[str | int]],
        *,
        context: Mapping[str, str] | None = None,
    ) -> Shown:
        """Return the page to show within the deadline. The same search gets the same page, of which page two is a part.

        Parameters
        ----------
        user : str
            A stable id of the user, or of the session.
        query : str
        rankings : mapping of str to sequence
            Document ids of each ranker, best first; the incumbent's list is required.
        context : mapping of str to str, optional
            Further attributes of the search, named in the settings of the experiment.
        """
        body = {"user": user, "query": query, "rankings": dict(rankings), "context": dict(context or {})}
        answer, why = self._call("/decide", body)
        if not why:
            match answer:
                case {"page": list(page), "token": str(token), "rankers": list(rankers), "served": str(served)}:
                    return Shown(tuple(page), token, tuple(rankers), served)
            why = "the answer is invalid"
        return Shown(tuple(rankings[self._incumbent][: self._top]), "", (self._incumbent,), FALLBACK, why)

    def report(self, token: str, events: Sequence[Mapping[str, Any]]) -> bool:
        """Report events of a page; return whether the service has stored them. A repeated report changes nothing.

        Parameters
        ----------
        token : str
            Token of the page.
        events : sequence of mappings
            Objects with a ``kind`` (``view`` when the page is displayed, ``click``, or another word), and optionally a
            ``document``, a ``value`` and an ``id``.
        """
        return bool(token) and not self._call("/events", {"token": token, "events": list(events)})[1]

    def _call(self, path: str, fields: dict[str, Any]) -> tuple[Any, str]:
        """Return the service's answer, and the reason why it cannot be used (empty for a usable answer)."""
        if time.monotonic() < self._asleep.get(path, 0.0):
            return None, f"not sent, because a call failed recently: {self._why.get(path)}"
        answer, failed = None, True
        try:
            body = json.dumps(fields).encode()
        except (TypeError, ValueError, RecursionError) as error:  # not an error of the service
            return None, f"the request cannot be encoded as JSON: {error}"
        ends = time.monotonic() + self._deadline
        try:
            status, content = self._threads.submit(self._post, path, body, ends).result(self._deadline)
            answer = json.loads(content)
            failed = status >= http.HTTPStatus.INTERNAL_SERVER_ERROR
            why = "" if status == http.HTTPStatus.OK else f"{status}: {answer['error']}"
        except TimeoutError:
            why = f"no answer within {self._deadline:g} seconds"
        except (OSError, http.client.HTTPException, ValueError, TypeError, KeyError, RuntimeError) as error:
            why = str(error) or type(error).__name__
        if failed:
            self._asleep[path] = time.monotonic() + self._pause
        if why and not self._why.get(path):
            _LOG.warning("%s: %s", path, why)
        self._why[path] = why
        return answer, why

    def _post(self, path: str, body: bytes, ends: float) -> tuple[int, bytes]:
        """Return status and body of the answer to a request."""
        left = ends - time.monotonic()
        if left <= 0:
            raise TimeoutError
        try:
            used, connection = self._idle.pop()
            if time.monotonic() - used > _IDLE:
                connection.close()  # it is opened again
        except IndexError:
            connection = self._kind(self._host, self._port)
        connection.timeout = left
        if connection.sock is not None:
            connection.sock.settimeout(left)
        try:
            connection.request("POST", self._root + path, body, self._headers)
            response = connection.getresponse()
            content = response.read()
        except BaseException:
            connection.close()
            raise
        if self._closed:
            connection.close()
        else:
            self._idle.append((time.monotonic(), connection))
        return response.status, content
