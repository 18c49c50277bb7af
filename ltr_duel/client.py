"""A client for a search page, of the standard library alone: the experiment never stands between people and results.

Each call has a deadline. A search that is not answered in time, or not at all, gets the incumbent's list, and for a
moment after a failure the service is not asked.
"""

from __future__ import annotations

import http.client
import json
import secrets
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlsplit

__all__ = ["Client", "Shown"]

FALLBACK = "fallback"


class Shown(NamedTuple):
    """A page to show.

    Examples
    --------
    >>> Shown(("d2", "d7"), "", ("old",), "fallback").token
    ''
    """

    page: tuple[Any, ...]  # document ids, from the top
    token: str  # for `Client.clicks`; empty for a page that the service has not made
    rankers: tuple[str, ...]  # whose lists are on it
    served: str  # "experiment"; why the search takes no part; or "fallback", if the service did not answer


class Client:
    """Asks a service of `ltr-duel serve`. Threads may share it.

    Parameters
    ----------
    url : str
        ``http://127.0.0.1:8080`` or ``https://...``.
    incumbent : str
        The ranker whose list is shown where the service does not answer.
    key : str
        The API key, with the role ``ask``.
    deadline : float
        Seconds that `decide` may take.
    top : int
        Documents of the incumbent's list that are shown; the ``top`` of the experiment.
    pause : float
        Seconds after a failure in which the service is not asked.
    threads : int
        Requests at once.

    Raises
    ------
    ValueError
        For an address of another form.

    Examples
    --------
    >>> with Client("http://127.0.0.1:1", "old") as client:
    ...     client.decide("red shoes", {"old": ["d7", "d2"], "new": ["d2"]})
    Shown(page=('d7', 'd2'), token='', rankers=('old',), served='fallback')
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
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise ValueError(f"the address of a service is of the form http://127.0.0.1:8080, not '{url}'")
        self._tls, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._incumbent, self._deadline, self._top, self._pause = incumbent, deadline, top, pause
        self._headers = {"content-type": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
        self._threads, self._asleep, self._closed = ThreadPoolExecutor(threads, "ltr_duel"), 0.0, False
        self._idle: deque[http.client.HTTPConnection] = deque()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ask nothing more; requests that are under way are not waited for."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        while self._idle:
            self._idle.pop().close()

    def decide(self, query: str, rankings: Mapping[str, Sequence[str | int]], user: str = "") -> Shown:
        """Return the page to show, within the deadline.

        Parameters
        ----------
        query : str
        rankings : mapping of str to sequence
            Document ids of each ranker, best first; the incumbent's list must be there.
        user : str
            Who asked, if it is known.

        Returns
        -------
        Shown
        """
        said = self._ask("/decide", {"query": query, "rankings": dict(rankings), "user": user}, self._deadline)
        try:
            return Shown(tuple(said["page"]), said["token"], tuple(said["rankers"]), said["served"])
        except (KeyError, TypeError):
            return Shown(tuple(rankings[self._incumbent][: self._top]), "", (self._incumbent,), FALLBACK)

    def clicks(self, token: str, clicks: Sequence[str | int], *, final: bool = True, deadline: float = 2.0) -> bool:
        """Report the clicks of a page; return whether the service has them.

        Parameters
        ----------
        token : str
            Of the page.
        clicks : sequence
            Ids of the documents that were clicked; empty if none was.
        final : bool
            Whether that is all, see `ltr_duel.live.Experiment.record`.
        deadline : float
            Seconds that the call may take.

        Returns
        -------
        bool
        """
        if not token:
            return False
        said = self._ask("/clicks", {"token": token, "clicks": list(clicks), "final": final}, deadline)
        return bool(said and said.get("recorded"))

    def _ask(self, path: str, given: dict[str, Any], deadline: float) -> Any:
        """Return what the service answers, None where it does not in time."""
        if time.monotonic() < self._asleep:
            return None
        try:
            body = json.dumps(given).encode()
            ends = time.monotonic() + deadline
            status, answer = self._threads.submit(self._send, path, body, ends).result(deadline)
            said = json.loads(answer)
        except (OSError, TimeoutError, http.client.HTTPException, ValueError, RuntimeError):
            self._asleep = time.monotonic() + self._pause
            return None
        return said if status == http.HTTPStatus.OK else {"recorded": status == http.HTTPStatus.CONFLICT}

    def _send(self, path: str, body: bytes, ends: float) -> tuple[int, bytes]:
        """Send a request; again, if the service has closed the connection, by a key that lets it count once."""
        headers = {**self._headers, "idempotency-key": secrets.token_hex(16)}
        while True:
            left = ends - time.monotonic()
            if left <= 0:
                raise TimeoutError
            try:
                connection, kept = self._idle.pop(), True
            except IndexError:
                connection, kept = self._connection(left), False
            try:
                if connection.sock is not None:
                    connection.sock.settimeout(left)
                connection.request("POST", path, body, headers)
                response = connection.getresponse()
                answer = response.status, response.read()
            except (http.client.RemoteDisconnected, ConnectionError):
                connection.close()
                if not kept:
                    raise
            except BaseException:
                connection.close()
                raise
            else:
                if self._closed:
                    connection.close()
                else:
                    self._idle.append(connection)
                return answer

    def _connection(self, left: float) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._tls else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=left)
