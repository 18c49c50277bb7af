"""An HTTP/1.1 client for thousands of simulated users on one event loop; `http.client` requires a thread per user."""

from __future__ import annotations

import asyncio
from typing import NamedTuple
from urllib.parse import urlsplit

from ltr_duel.core import InputError, errors, host, places

_LONGEST = 10_000_000  # largest number of bytes in an answer
_LONGEST_WAIT = 60.0  # seconds for a connection or an answer


class Address(NamedTuple):
    """The address of a service."""

    host: str
    port: int
    tls: bool = False


class Answer(NamedTuple):
    """The answer of a service."""

    status: int
    body: bytes


def address_of(url: str, *, allow_remote: bool = False) -> Address:
    """Read a URL. Raises `InputError` for an invalid form, and for another machine unless ``allow_remote`` is True."""
    try:
        parts = urlsplit(url)
        name, port = parts.hostname, parts.port
    except ValueError:
        name = port = None
    if (
        not name
        or parts.scheme not in ("http", "https")
        or parts.username
        or parts[2:] not in (("", "", ""), ("/", "", ""))
    ):
        raise InputError(f"the address of a service must have the form http://127.0.0.1:8080, not {errors.shown(url)}")
    tls = parts.scheme == "https"
    address = Address("127.0.0.1" if name == "localhost" and not tls else name, port or (443 if tls else 80), tls)
    if not host.is_loopback(address.host) and not allow_remote:
        raise InputError(
            f"{name} is another machine, where simulated users would be counted as real users (--allow-remote)"
        )
    return address


class Connection:
    """A connection to a service, which is opened again after it was closed."""

    def __init__(self, address: Address, api_key: str = "") -> None:
        self._address = address
        key = f"authorization: Bearer {api_key}\r\n" if api_key else ""
        name = f"[{address.host}]" if ":" in address.host else address.host
        self._head = f"host: {name}:{address.port}\r\n{key}content-type: application/json\r\n"
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes) -> Answer:
        """Send a body and return the answer. A `ConnectionError` does not tell whether the service got the request."""
        if self._streams is None:
            self._streams = await self._open()
        reader, writer = self._streams
        writer.write(f"POST {path} HTTP/1.1\r\n{self._head}content-length: {len(body)}\r\n\r\n".encode() + body)
        try:
            async with asyncio.timeout(_LONGEST_WAIT):
                head = await reader.readuntil(b"\r\n\r\n")
                status, length, stays = _read_head(head)
                answer = Answer(status, await reader.readexactly(length))
        except asyncio.LimitOverrunError:
            self.close()
            raise InputError("this address is not the service of a live experiment") from None
        except (asyncio.IncompleteReadError, OSError) as error:  # also TimeoutError
            self.close()
            raise ConnectionError("the connection ended or timed out before the answer") from error
        if not stays:
            self.close()
        return answer

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            async with asyncio.timeout(_LONGEST_WAIT):
                return await asyncio.open_connection(
                    self._address.host, self._address.port, ssl=True if self._address.tls else None
                )
        except OSError as error:
            raise InputError(
                f"no service is available at {self._address.host}, port {self._address.port}: {places.cause(error)}"
            ) from None


def _read_head(head: bytes) -> tuple[int, int, bool]:
    """Return status, length of the body, and whether the connection stays open."""
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    words = first.split(" ", 2)
    length = headers.get("content-length", "")
    if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit() or not length.isdigit():
        raise InputError("this address is not the service of a live experiment")
    if int(length) > _LONGEST:
        raise InputError(f"an answer of {int(length):,} bytes cannot come from a live experiment")
    return int(words[1]), int(length), headers.get("connection", "").lower() != "close"
