"""API keys, compared in constant time, and key files, which are read again when they change."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from ltr_duel.core import InputError, places
from ltr_duel.live import Keys, signing_keys
from ltr_duel.serve.lines import write
from ltr_duel.serve.settings import ServiceSettings

VARIABLE = "LTR_DUEL_API_KEY"
ROLES = {"ask": ("ask",), "read": ("read",), "operate": ("operate", "read")}  # role -> the roles that it includes
_WITHOUT_ROLE = ("ask", "read")  # roles of a key without an explicit role
_MOST = 200_000  # maximum number of bytes of a file that are compared
_SHORTEST, _LONGEST_FILE = 16, 100_000


class ApiKeys:
    """The accepted keys, each with an optional role and name; if there are none, requests require no key.

    A request contains the key as ``Authorization: Bearer KEY`` or, from a browser, as the password of basic
    authentication.
    """

    def __init__(self, keys: Sequence[str] = ()) -> None:
        self.take(keys)

    def take(self, keys: Sequence[str]) -> None:
        """Replace the accepted keys."""
        lines = [key.split() for key in keys]
        self._digests = [hashlib.sha256(words[0].encode()).digest() for words in lines]
        self._roles = [ROLES[words[1]] if len(words) > 1 else _WITHOUT_ROLE for words in lines]
        self._names = [" ".join(words[2:]) for words in lines]

    def __len__(self) -> int:
        return len(self._digests)

    def roles(self, header: bytes) -> tuple[str, ...]:
        """Return the roles of the key in a header ``Authorization``; () for a wrong key."""
        if not self._digests:
            return _WITHOUT_ROLE
        found = self._place(header)
        return () if found is None else self._roles[found]

    def name(self, header: bytes) -> str:
        """Return the name of the key in a header ``Authorization``, or an empty string."""
        found = self._place(header)
        return "" if found is None else self._names[found]

    def _place(self, header: bytes) -> int | None:
        scheme, _, given = header.partition(b" ")
        given = given.strip()
        if scheme.lower() == b"basic":
            try:
                given = base64.b64decode(given, validate=True).partition(b":")[2]
            except (binascii.Error, ValueError):
                return None
        elif scheme.lower() != b"bearer":
            return None
        digest = hashlib.sha256(given).digest()
        found = None
        for place, one in enumerate(self._digests):  # all, because the time must not reveal the match
            found = place if hmac.compare_digest(one, digest) else found
        return found


def authorization(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the header ``Authorization``, or empty bytes; the gate refuses requests with two such headers."""
    return next((value for name, value in headers if name == b"authorization"), b"")


def read_api_keys(path: Path | None) -> list[str]:
    """Read keys from a file or the environment. Raises `InputError` for a key that is too short or not ASCII."""
    if path is None:
        given = os.environ.get(VARIABLE)
        if given is not None and not given.strip():  # the variable was set to protect the service
            raise InputError(f"{VARIABLE} is set but contains no key; unset it to serve without a key")
        return _checked([given], VARIABLE) if given else []
    try:
        with path.open("rb") as content:
            raw = content.read(_LONGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"{path}: {places.cause(error)}") from None
    if len(raw) > _LONGEST_FILE:
        raise InputError(f"{path}: an API key file has at most {_LONGEST_FILE:,} bytes")
    keys = [line.strip() for line in raw.decode("utf-8", "replace").splitlines() if line.strip()]
    if not keys:
        raise InputError(f"{path}: contains no API key; write one key per line")
    return _checked(keys, str(path))


def read_by_others(path: Path) -> bool:
    """Whether other users of this machine can read or write a file of secrets."""
    return os.name == "posix" and bool(path.stat().st_mode & 0o077)


def _checked(keys: list[str], where: str) -> list[str]:
    for number, line in enumerate(keys, 1):
        key, *more = line.split()
        if more and more[0] not in ROLES:
            raise InputError(f"{where}: the role of key {number} must be one of {', '.join(ROLES)}")
        if len(key) < _SHORTEST or not key.isascii() or not key.isprintable():
            raise InputError(f"{where}: key {number} must be at least {_SHORTEST} printable ASCII characters")
    return keys


class KeyFiles:
    """The keys of a service. If a changed file cannot be read or contains no key, the old keys stay in use."""

    def __init__(self, folder: Path, settings: ServiceSettings) -> None:
        self._api, self._signing, self._users = (
            folder / name if name else None
            for name in (settings.api_key_file, settings.key_file, settings.user_key_file)
        )
        self.api_keys, self.signing = ApiKeys(read_api_keys(self._api)), signing_keys(self._signing)
        users: Keys | None = signing_keys(self._users) if self._users else None
        self.user_key = next(iter(users.values())) if users else b""  # with another key, each user would count again
        self._seen: dict[Path, bytes] = {}
        for path in filter(None, (self._api, self._signing, self._users)):
            self._seen[path] = _digest(path)
            if read_by_others(path):
                write("keys", file=path.name, message="other users of this machine can read this file: chmod 600")
        self._latest = dict(self._seen)  # digests at the last check, when a file may have been half-written

    def look(self) -> None:
        """Read each changed file again as soon as two checks in a row find the same content, and log the result."""
        for path, before in self._seen.items():
            now = _digest(path)
            whole, self._latest[path] = now == self._latest[path], now
            if now == before or not whole:
                continue
            self._seen[path] = now
            try:
                message = self._read(path)
            except InputError as error:
                message = f"the old keys stay in use: {error}"
            write("keys", file=path.name, message=message)

    def _read(self, path: Path) -> str:
        if path == self._users:
            return "the user key is read only at the start, because with another key each user would count again"
        if path == self._api:
            self.api_keys.take(read_api_keys(path))
            return f"read again: {len(self.api_keys)} keys"
        if not path.exists():
            raise InputError(f"{path}: this file does not exist")
        self.signing.take(signing_keys(path))
        return f"read again: {', '.join(self.signing)}"


def _digest(path: Path) -> bytes:
    """Return a digest of a file, because modification times are unreliable; empty bytes if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.sha256(file.read(_MOST)).digest()
    except OSError:
        return b""
