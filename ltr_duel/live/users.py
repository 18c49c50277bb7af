"""Users as the store keeps them: as they are given, or hashed by a key. Under another key each would count again."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError
from ltr_duel.live.store import Store

_KEY = "user key"  # in a store: the fingerprint of the key
_GIVEN = "as given"


def hashed_user(key: bytes, user: str) -> str:
    """Return a user as a store keeps users with that key; as it is given for no key."""
    return hmac.digest(key, user.encode(), "sha256").hex()[:32] if key else user


def _mark(experiment: str, key: bytes) -> str:
    return hashlib.sha256(bytes.fromhex(experiment) + key).hexdigest()[:32] if key else _GIVEN


def require_own_key(about: Mapping[str, Any], key: bytes, place: Path) -> None:
    """Refuse a key that is not the one of a store."""
    if about.get(_KEY) not in (None, _mark(about["experiment"], key)):
        if not key:
            raise InputError(f"{place}: users are kept as hashes: give --user-key-file, the key of the service")
        how = "as they are given, without a key" if about[_KEY] == _GIVEN else "as hashes by another key"
        raise InputError(f"{place}: users are kept {how} (user_key_file)")


class Users:
    """How the users of a store are kept.

    store: a store of an earlier version has no record of its key; it gets one without a comparison.
    key: by which users are hashed; empty if they are kept as they are given; None if it is not known, so users of a
        store with hashes cannot be told.
    place: of the store.

    Raises `InputError` if the users of the store were hashed by another key, or were not.
    """

    def __init__(self, store: Store, key: bytes | None, place: Path) -> None:
        kept = store.about(_KEY)
        self._key, self._hidden = key or b"", key is None and kept not in (None, _GIVEN)
        if key is None:
            return
        mark = _mark(store.about("experiment"), key)
        if kept not in (None, mark) and store.has_users():
            how = "are kept as they are given" if kept == _GIVEN else "are hashed by another key"
            raise InputError(
                f"{place}: the users in this store {how}, so each of them would count again;"
                " give the key with which it began (user_key_file), or use another store"
            )
        if kept != mark:
            with store.transaction():
                store.say(_KEY, mark)

    def kept(self, user: str) -> str:
        """Return what the store keeps of a user.

        Raises `InputError` if users are hashed by a key that is not known.
        """
        if not user or not isinstance(user, str):
            return user
        if self._hidden:
            raise InputError("the users in this store are hashed: open it with their key (user_key)")
        try:
            return hashed_user(self._key, user)
        except UnicodeEncodeError:
            return user  # which is refused as no text
