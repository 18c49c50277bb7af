"""Page tokens: a token permits its holder to report the clicks on one page of one experiment, once and in time.

    v1.<key id>.<experiment and mark, page, deadline>.<HMAC-SHA256 of the text before it>

The last two parts are in URL-safe base64. A token contains no secrets, and it cannot be changed without a key.

After an earlier copy of a store is restored, page numbers are reused, but tokens of the lost pages must be invalid.
Therefore a random mark is chosen each time a store is opened. The tokens of all pages shown from then on depend on it.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import hmac
import json
import os
import re
import secrets
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ltr_duel.core import InputError, arguments, errors, files, places
from ltr_duel.live.calls import TokenError
from ltr_duel.live.store import LiveStore

KEYS_VARIABLE = "LTR_DUEL_LIVE_KEYS"
NO_PAGE = 0  # page number in tokens of pages outside of the experiment, whose clicks are not counted
_VERSION = "v1"
_FEWEST_BYTES, _MOST_KEYS = 16, 100
_LONGEST_FILE, _LONGEST_TOKEN = 100_000, 300
_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")
_BODY = struct.Struct(">16sQQ")  # experiment and mark, page, deadline in milliseconds
_MARKS = "marks"  # a key of ``about``
_MOST_MARKS = 1000  # maximum number of earlier marks, for pages that may still be open


class Claim(NamedTuple):
    """The content of a token."""

    experiment: bytes  # 16 bytes that identify the experiment and the mark of the page
    page: int
    expires: int  # milliseconds


class Keys(Mapping[str, bytes]):
    """Secrets by id: the first secret signs, every secret verifies, so that keys can be rotated without a gap.

    Parameters
    ----------
    secrets : mapping of str to bytes
        At least one; ids of 1 to 32 letters, digits, ``_`` and ``-``, secrets of at least 16 bytes.

    Raises
    ------
    InputError
        If there is no key, or an id or secret has the wrong form. No message contains a secret.

    Examples
    --------
    >>> keys = Keys({"2026": bytes(range(32)), "2025": bytes(32)})
    >>> list(keys), repr(keys)
    (['2026', '2025'], "Keys of '2026', '2025'")
    """

    def __init__(self, secrets: Mapping[str, bytes]) -> None:
        if not isinstance(secrets, Mapping) or not 1 <= len(secrets) <= _MOST_KEYS:
            raise InputError(f"there must be 1 to {_MOST_KEYS} keys, as a mapping of ids to secrets")
        for name, secret in secrets.items():
            if not isinstance(name, str) or not _KEY_ID.fullmatch(name):
                raise InputError(f"the id of a key is 1 to 32 letters, digits, '_' or '-', not {errors.shown(name)}")
            if not isinstance(secret, bytes) or len(secret) < _FEWEST_BYTES:
                raise InputError(f"the secret of key '{name}' must be at least {_FEWEST_BYTES} bytes")
        self._secrets = dict(secrets)

    @classmethod
    def random(cls) -> Keys:
        """Make one random key, whose tokens become invalid when the process ends."""
        return cls({"process": secrets.token_bytes(32)})

    def __getitem__(self, name: str) -> bytes:
        return self._secrets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._secrets)

    def __len__(self) -> int:
        return len(self._secrets)

    def __repr__(self) -> str:
        return f"Keys of {', '.join(map(repr, self))}"

    def sign(self, claim: Claim) -> str:
        """Return the token of a claim."""
        name, secret = next(iter(self._secrets.items()))
        said = f"{_VERSION}.{name}.{_encoded(_BODY.pack(*claim))}"
        return f"{said}.{_mac(secret, said)}"

    def verify(self, token: str) -> Claim:
        """Return the content of a token signed by one of these keys. Raises `TokenError` for any other string."""
        if not isinstance(token, str) or len(token) > _LONGEST_TOKEN or not token.isascii():
            raise TokenError("this is not a page token")
        said, _, mac = token.rpartition(".")
        parts = said.split(".")
        if len(parts) != 3 or parts[0] != _VERSION:
            raise TokenError("this is not a page token")
        secret = self._secrets.get(parts[1])
        if secret is None or not hmac.compare_digest(_mac(secret, said), mac):
            raise TokenError("the token is not signed by a key of this experiment")
        return Claim(*_BODY.unpack(_decoded(parts[2])))


def _mac(secret: bytes, said: str) -> str:
    return _encoded(hmac.digest(secret, said.encode("ascii"), "sha256"))


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def read_keys(path: str | Path | None = None) -> Keys:
    """Read keys from a file, or from the environment variable ``LTR_DUEL_LIVE_KEYS``.

    Parameters
    ----------
    path : path, optional
        A text file with one key per line: its id and its secret in hexadecimal digits; ``#`` starts a comment. The
        variable contains such lines; ``,`` may replace the end of a line, and ``:`` may separate id and secret.

    Returns
    -------
    Keys
        In the order of the lines: the first key signs.

    Raises
    ------
    InputError
        If there is no key, or a line is not a key; the message names the line but not the secret.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "keys"
    ...     _ = path.write_text(f"2026 {'ab' * 32}  # signs")
    ...     read_keys(path)
    Keys of '2026'
    """
    if path is None:
        place, content = KEYS_VARIABLE, os.environ.get(KEYS_VARIABLE, "")
        if not content:
            made = 'key_file = "live.keys" in [serve], a file that the first start creates'
            raise InputError(f"there is no key: name a key file ({made}), or set {KEYS_VARIABLE}")
    else:
        place = str(path)
        content = _content(arguments.as_path("a file of keys", path))
    found: dict[str, bytes] = {}
    for number, line in enumerate(content.replace(",", "\n").split("\n"), start=1):
        words = line.partition("#")[0].replace(":", " ").split()
        if not words:
            continue
        try:
            name, digits = words
            secret = bytes.fromhex(digits)
        except ValueError:
            raise InputError(f"{place}:{number}: a key is an id and a secret in hexadecimal digits") from None
        if name in found:
            raise InputError(f"{place}:{number}: key '{name}' is defined twice")
        found[name] = secret
    try:
        return Keys(found)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def _content(path: Path) -> str:
    try:
        with path.open(encoding="ascii") as file:
            content = file.read(_LONGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: a key file must be ASCII text") from None
    if len(content) > _LONGEST_FILE:
        raise InputError(f"{path}: a key file has at most {_LONGEST_FILE:,} characters")
    return content


def signing_keys(path: Path | None) -> Keys:
    """Return the keys that sign tokens; a missing file is created, readable only by its owner."""
    if path is not None and not path.exists():
        make_secret(path, f"first {secrets.token_hex(32)}\n")
    return read_keys(path)


def make_secret(path: Path, text: str) -> None:
    """Write a file with a secret, readable only by its owner; completely and durably, or not at all."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(temporary, path)
            except OSError:  # another service has created the file meanwhile, or the file system has no links
                if not path.exists():
                    temporary.replace(path)
            files.sync_folder(path.parent)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: {places.cause(error)}") from None


class Marks:
    """The marks of pages. Each mark is stored with the first page to which it applies.

    ``own`` is the mark of the pages shown from now on; ``pages`` is the number of the last page.
    """

    def __init__(self, store: LiveStore, keys: Keys, own: str, pages: int) -> None:
        self._store, self._keys, self._own, self._pages = store, keys, own, pages
        self._experiment = bytes.fromhex(store.about("experiment"))
        self._from: list[tuple[int, str]] = [(page, mark) for page, mark in json.loads(store.about(_MARKS) or "[]")]
        self._digest = functools.cache(self._digest_of)

    @staticmethod
    def new() -> str:
        """Return a new random mark."""
        return secrets.token_hex(16)

    def begin(self, page: int) -> None:
        """Use the current mark for ``page``, which is now the last page, and for all later pages."""
        self._pages = page
        if not self._from or self._from[-1][1] != self._own:
            self._from = [*self._from[-_MOST_MARKS:], (page, self._own)]
            self._store.set_about(_MARKS, json.dumps(self._from))

    def token(self, page: int, expires: int) -> str:
        """Return the token of a page; `NO_PAGE` stands for a page outside of the experiment."""
        return self._keys.sign(Claim(self._of(page), page, expires))

    def _of(self, page: int) -> bytes:
        """Return 16 bytes that identify the experiment and the mark of a page."""
        for first, mark in reversed(self._from):
            if page >= first:
                return self._digest(mark)
        return self._experiment  # for `NO_PAGE`

    def claim(self, token: str) -> Claim:
        """Return the content of a token without reading the store; raise `TokenError` if its page does not exist."""
        claim = self._keys.verify(token)
        if claim.experiment != self._of(claim.page):
            lost = "" if claim.page == NO_PAGE else ", or to a page that is missing from the restored store"
            raise TokenError(f"the token belongs to another experiment{lost}")
        if claim.page > self._pages:
            raise TokenError("the token belongs to a page that does not exist in this experiment")
        return claim

    def _digest_of(self, mark: str) -> bytes:
        return hashlib.sha256(self._experiment + bytes.fromhex(mark)).digest()[:16]
