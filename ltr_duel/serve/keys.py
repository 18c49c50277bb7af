"""The API keys of a service: made at the first start, and compared in constant time."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path

from ltr_duel.core import InputError, places
from ltr_duel.live import make_secret

VARIABLE = "LTR_DUEL_API_KEY"
_FILE = "api.key"  # beside the settings of the experiment
_SHORTEST, _LONGEST_FILE = 16, 100_000


class ApiKeys:
    """The accepted keys.

    A request contains the key as ``Authorization: Bearer KEY`` or, from a browser, as the password of basic
    authentication.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self._digests = [hashlib.sha256(key.encode()).digest() for key in keys]

    def accept(self, header: bytes) -> bool:
        """Whether a header ``Authorization`` contains one of the keys."""
        scheme, _, given = header.partition(b" ")
        given = given.strip()
        if scheme.lower() == b"basic":
            try:
                given = base64.b64decode(given, validate=True).partition(b":")[2]
            except (binascii.Error, ValueError):
                return False
        elif scheme.lower() != b"bearer":
            return False
        digest = hashlib.sha256(given).digest()
        return sum(hmac.compare_digest(one, digest) for one in self._digests) > 0  # the time must not reveal the match


def authorization(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the header ``Authorization``, or empty bytes."""
    return next((value for name, value in headers if name == b"authorization"), b"")


def place_of_keys(folder: Path, named: str) -> Path | None:
    """Return the key file: the named file, else the file beside the settings; None if the environment has the key."""
    return None if not named and VARIABLE in os.environ else folder / (named or _FILE)


def read_api_keys(path: Path | None) -> list[str]:
    """Read keys from a file, which is made with one key if it does not exist, or from the environment.

    Raises `InputError` for a key that is too short or not ASCII.
    """
    if path is None:
        keys, where = os.environ[VARIABLE].split(), VARIABLE
    else:
        if not path.exists():
            make_secret(path, f"{secrets.token_hex(16)}\n")
        try:
            with path.open("rb") as content:
                raw = content.read(_LONGEST_FILE + 1)
        except OSError as error:
            raise InputError(f"{path}: {places.cause(error)}") from None
        if len(raw) > _LONGEST_FILE:
            raise InputError(f"{path}: an API key file has at most {_LONGEST_FILE:,} bytes")
        lines = raw.decode("utf-8", "replace").splitlines()
        keys, where = [line.strip() for line in lines if line.strip()], str(path)
    if not keys:
        raise InputError(f"{where}: contains no API key")
    for number, key in enumerate(keys, 1):
        if len(key) < _SHORTEST or not key.isascii() or not key.isprintable() or " " in key:
            raise InputError(f"{where}: key {number} must be at least {_SHORTEST} printable ASCII characters, no space")
    return keys
