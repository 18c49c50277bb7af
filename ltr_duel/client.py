"""A client with which a search page calls the service `ltr-duel serve`. It requires only the standard library.

Each call ends within its deadline. If the service does not answer in time, the page shows the list of the incumbent,
the ranker that users see outside of the experiment. If a call of `Client.decide` or `Client.report` fails, further
calls of the same method send nothing for a second. The logger ``ltr_duel.client`` tells why calls fail. If your program
forks processes, make one client in each process, after the fork.
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
_IDLE = 5.0  # seconds; an older connection is replaced, because the service or its proxy may be closing it
_LOG = logging.getLogger(__name__)


class Shown(NamedTuple):
    """A page to show to the user of a search.

    Examples
    --------
    >>> Shown(("d2", "d7"), "", ("old",), "fallback").token
    ''
    """

    page: tuple[Any, ...]  # ids of the documents, from the top
    token: str  # for `Client.report`; empty if the page does not count
    rankers: tuple[str, ...]  # the rankers whose lists are on the page
    served: str  # "experiment", or why nothing is compared; "fallback" if there was no valid answer
    why: str = ""  # why there was no valid answer


class Client:
    """A client of a service that `ltr-duel serve` runs. Several threads may use one client.

    Parameters
    ----------
    url : str
        The address of the service, such as ``http://127.0.0.1:8080``. Behind a proxy, include the path of the service.
    incumbent : str
        The ranker whose list is shown if the service does not answer.
    key : str
        The API key of the service.
    deadline : float
        The longest time that a call may take, in seconds; 0.1 by default.
    top : int
        The number of documents on a page, as in the settings of the experiment; 10 by default.
    pause : float
        The number of seconds for which `decide` or `report` sends nothing after it failed; 1 by default.
    threads : int
        The largest number of requests that are sent at the same time; 16 by default.

    Raises
    ------
    ValueError
        If the address has an invalid form.

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
        self._idle: deque[tuple[float, http.client.HTTPConnection]] = deque()  # with the times of their last use
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
        """Return the page to show for a search. The call ends within the deadline.

        Parameters
        ----------
        user : str
            The id of the user or of the session, which must stay the same from search to search.
        query : str
        rankings : mapping of str to sequence
            A list of document ids from each ranker, with the best document first. The list of the incumbent is
            required.
        context : mapping of str to str, optional
            Further attributes of the search. Their names must be in the settings of the experiment.
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
        """Report events of a page, and return whether the service has stored them. If not, you may report them again.

        Parameters
        ----------
        token : str
            The token of the page (see `Shown`).
        events : sequence of mappings
            What the user did. An event has a ``kind``, such as ``view`` (the page was displayed) or ``click``. It may
            have a ``document``, a ``value`` and an ``id``.
        """
        return bool(token) and not self._call("/events", {"token": token, "events": list(events)})[1]

    def _call(self, path: str, fields: dict[str, Any]) -> tuple[Any, str]:
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
