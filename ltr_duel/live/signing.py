"""Sign plans and tokens with secret keys, so that nobody else can make them.

The events of a page are reported with its token, which is ``<key id>.<impression>.<signature>``. The signature is the
first half of the HMAC-SHA256 of the impression, as 32 hexadecimal digits. A token contains no secret.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path

from ltr_duel.core import InputError, arguments, errors, files

_FEWEST_BYTES, _MOST_KEYS = 16, 100
_LONGEST_FILE, _LONGEST_TOKEN = 100_000, 100
_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")


class TokenError(InputError):
    """A token is invalid: no key of the experiment has signed it, or its page is not in the store.

    Examples
    --------
    >>> Keys({"2026": bytes(32)}).verified("x")
    Traceback (most recent call last):
    ltr_duel.live.signing.TokenError: this is not the token of an impression
    """


class Keys(Mapping[str, bytes]):
    """The secret keys of an experiment, by id. The first key signs, and a signature by any of the keys is valid.

    Parameters
    ----------
    secrets : mapping of str to bytes
        The secret of each key, by its id. An id has 1 to 32 letters, digits, ``_`` or ``-``. A secret has at least 16
        bytes.

    Raises
    ------
    InputError
        If there is no key, or an id or secret has the wrong form. No message contains a secret.

    Examples
    --------
    >>> keys = Keys({"2026": bytes(range(32)), "2025": bytes(32)})
    >>> list(keys), repr(keys)
    (['2026', '2025'], "Keys of '2026', '2025'")
    >>> keys.verified(keys.token("3-0123456789abcdef"))
    '3-0123456789abcdef'
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
        self._first = next(iter(self._secrets))

    def __getitem__(self, name: str) -> bytes:
        return self._secrets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._secrets)

    def __len__(self) -> int:
        return len(self._secrets)

    def __repr__(self) -> str:
        return f"Keys of {', '.join(map(repr, self))}"

    def sign(self, text: str) -> tuple[str, str]:
        """Sign an ASCII text with the first key. Return the id of the key, and the signature."""
        return self._first, _signature(self._secrets[self._first], text)

    def is_signed(self, text: str, key: str, signature: str) -> bool:
        """Whether the key with the id ``key`` has signed the text."""
        secret = self._secrets.get(key)
        return secret is not None and hmac.compare_digest(
            _signature(secret, text).encode(), signature.encode("utf-8", "replace")
        )

    def token(self, impression: str) -> str:
        """Return the token for an impression (a page)."""
        secret = self._secrets[self._first]
        return f"{self._first}.{impression}.{_signature(secret, impression)[:32]}"

    def verified(self, token: str) -> str:
        """Return the impression (the page) of a token. Raises `TokenError` if none of the keys has signed it."""
        if not isinstance(token, str) or len(token) > _LONGEST_TOKEN or not token.isascii() or token.count(".") != 2:
            raise TokenError("this is not the token of an impression")
        name, impression, mac = token.split(".")
        secret = self._secrets.get(name)
        if secret is None or not hmac.compare_digest(_signature(secret, impression)[:32], mac):
            raise TokenError("the token is not signed by a key of this experiment")
        return impression


def _signature(secret: bytes, text: str) -> str:
    return hmac.digest(secret, text.encode("ascii"), "sha256").hex()


def read_keys(path: str | Path, *, create: bool = False) -> Keys:
    """Read the keys of an experiment from their file.

    Parameters
    ----------
    path : path
        A text file. Each line of the file has the id of a key, and its secret in hexadecimal digits. ``#`` starts a
        comment.
    create : bool
        Whether to create the file with a random key if it is missing. By default False.

    Returns
    -------
    Keys
        The keys in the order of the lines. The first key signs.

    Raises
    ------
    InputError
        If there is no key, or if a line is not a key.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "live.keys"
    ...     _ = path.write_text(f"2026 {'ab' * 32}  # signs")
    ...     read_keys(path)
    Keys of '2026'
    """
    path = arguments.as_path("a file of keys", path)
    if create and not path.exists():
        write_secret(path, f"first {secrets.token_hex(32)}\n")
    try:
        with path.open(encoding="ascii") as file:
            content = file.read(_LONGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: a key file must be ASCII text") from None
    if len(content) > _LONGEST_FILE:
        raise InputError(f"{path}: a key file has at most {_LONGEST_FILE:,} characters")
    keys: dict[str, bytes] = {}
    for number, line in enumerate(content.split("\n"), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            name, digits = words
            secret = bytes.fromhex(digits)
        except ValueError:
            raise InputError(f"{path}:{number}: a key is an id and a secret in hexadecimal digits") from None
        if name in keys:
            raise InputError(f"{path}:{number}: key '{name}' is defined twice")
        keys[name] = secret
    try:
        return Keys(keys)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def write_secret(path: Path, text: str) -> None:
    """Write a secret to a new file that only its owner can read. An existing file does not change."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(temporary, path)
            except OSError:  # another process has made the file, or the file system has no links
                if not path.exists():
                    temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: {files.cause(error)}") from None
