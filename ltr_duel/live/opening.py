"""Open the store of an experiment: create it, or continue with the same statistical settings, code and user key."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from ltr_duel.core import InputError, arguments, digest, errors, interpreted, machine, places, sources
from ltr_duel.live.calls import StoreError
from ltr_duel.live.settings import Settings, default_outcome, kept_settings, settings_text
from ltr_duel.live.store import LiveStore
from ltr_duel.live.switches import switches_of

CODE, ACCEPTED = "code", "accepted code"  # keys of the table ``about``
_USER_KEY = "user key"  # a key of ``about``: the fingerprint of the secret with which users are hashed
_GIVEN = "as given"  # the value of `_USER_KEY` if users are not hashed
_SEEDS = 10**15
_MAY_CHANGE = ("margin", "deadline", "context", "keep_days", "sticky", "incumbent", "serve")
# the confidence may not change: a level chosen after looking at the data is invalid


class Opened(NamedTuple):
    """An open store of an experiment."""

    store: LiveStore
    settings: Settings
    users: Users
    accepted: dict[str, Any] | None  # the accepted change of code: its time ``at``, the versions ``before`` and ``now``


def open_store(
    path: str | Path, settings: Settings | None, at: float, user_key: bytes | None, *, accept_new_code: bool
) -> Opened:
    """Open a store, or create it."""
    path = arguments.as_path("a store", path)
    about = {}
    if settings is not None:
        arguments.require_type("settings", settings, Settings)
        seed = secrets.randbelow(_SEEDS) if settings.seed is None else settings.seed
        new = replace(settings, seed=seed, outcome=settings.outcome or default_outcome(settings))
        text, name = settings_text(new), secrets.token_hex(16)
        about = {"settings": text, "experiment": name, "started": at}
    store = LiveStore(path, about)
    try:
        with store.reading():
            kept = kept_settings(store.about("settings"), path)
            if settings is not None:
                _require_same_law(settings, kept, path)
                settings = replace(settings, seed=kept.seed, outcome=kept.outcome)  # if given, they are equal to these
            incumbent = (settings or kept).incumbent
            if incumbent in switches_of(store.switches(), kept, builds=False).dropped:
                raise InputError(f"{path}: incumbent: ranker '{incumbent}' was dropped; name another incumbent")
            if settings is not None and settings != kept:
                with store.transaction():
                    store.set_about("settings", settings_text(settings))
            accepted = _continue_with_code(store, settings or kept, path, at, accept=accept_new_code)
            users = Users(store, user_key, path)
        return Opened(store, settings or kept, users, accepted)
    except BaseException as error:
        store.close()
        if isinstance(error, StoreError):
            raise InputError(f"{path}: {error}") from None
        raise


def _require_same_law(settings: Settings, kept: Settings, place: Path) -> None:
    """Refuse settings with which an experiment cannot be continued."""
    for one in fields(settings):
        before, now = getattr(kept, one.name), getattr(settings, one.name)
        is_open = now is None or (one.name == "outcome" and not now)  # then the stored value applies
        if one.name not in _MAY_CHANGE and before != now and not is_open:
            raise InputError(
                f"{place}: the experiment in this store began with {one.name} {_words(before)}, not {_words(now)};"
                " use another store"
            )


def _words(given: Any) -> str:
    return ", ".join(given) if isinstance(given, tuple) else errors.shown(given)


def _code_of(settings: Settings) -> dict[str, Any]:
    """Return the versions of package and policy, and the SHA-256 of the policy's file (empty for a built-in policy)."""
    policy = settings.policy_component
    file = Path(interpreted(policy.select).__code__.co_filename)
    own = file.is_relative_to(sources.ROOT) or not places.is_file(file)
    return {
        "ltr_duel": machine.own_version(),
        "policy": policy.name,
        "numbers": policy.numbers,
        "file_sha256": "" if own else digest.sha256_file(file),
    }


def _continue_with_code(
    store: LiveStore, settings: Settings, place: Path, at: float, *, accept: bool
) -> dict[str, Any] | None:
    """Record the installed code; return the event (``at``, ``before``, ``now``) if other code was accepted."""
    said, now = store.about(CODE), _code_of(settings)
    before = json.loads(said) if said else now
    changed = [name for name in ("numbers", "file_sha256") if before[name] != now[name]]
    if changed and not accept:
        words = {"numbers": "numbers version", "file_sha256": "plug-in file"}
        wrong = ", ".join(f"{words[one]} {before[one] or 'none'}, now {now[one] or 'none'}" for one in changed)
        raise InputError(
            f"{place}: the experiment in this store began with another version of '{now['policy']}' ({wrong});"
            " continue with --accept-new-code (accept_new_code=True), or use another store"
        )
    event = {"at": at, "before": before, "now": now} if changed else None
    if said is None or before != now:
        with store.transaction():
            store.set_about(CODE, json.dumps(now))
            if event:
                store.set_about(ACCEPTED, json.dumps([*json.loads(store.about(ACCEPTED) or "[]"), event]))
    return event


def hashed_user(key: bytes, user: str) -> str:
    """Return the stored form of a user: hashed with ``key``, or unchanged if ``key`` is empty."""
    return hmac.digest(key, user.encode(), "sha256").hex()[:32] if key else user


def _fingerprint(experiment: str, key: bytes) -> str:
    return hashlib.sha256(bytes.fromhex(experiment) + key).hexdigest()[:32] if key else _GIVEN


def require_own_key(about: Mapping[str, Any], key: bytes, place: Path) -> None:
    """Refuse a key that differs from the key of the store."""
    if about.get(_USER_KEY) not in (None, _fingerprint(about["experiment"], key)):
        if not key:
            raise InputError(f"{place}: users are stored as hashes: pass --user-key-file with the key of the service")
        how = "unhashed, without a key" if about[_USER_KEY] == _GIVEN else "as hashes by a different key"
        raise InputError(f"{place}: users are stored {how} (user_key_file)")


class Users:
    """Convert users to their stored form: hashed with ``key``, or unchanged if ``key`` is empty.

    ``key`` is None if no key was given.
    """

    def __init__(self, store: LiveStore, key: bytes | None, place: Path) -> None:
        kept = store.about(_USER_KEY)
        self._key, self._hidden = key or b"", key is None and kept not in (None, _GIVEN)
        if key is None:
            return
        fingerprint = _fingerprint(store.about("experiment"), key)
        if kept not in (None, fingerprint) and store.has_users():
            how = "are stored unhashed" if kept == _GIVEN else "are hashed by a different key"
            raise InputError(
                f"{place}: the users in this store {how}, so each user would be counted again;"
                " pass the original key (user_key_file), or use another store"
            )
        if kept != fingerprint:
            with store.transaction():
                store.set_about(_USER_KEY, fingerprint)

    def kept(self, user: str) -> str:
        """Return the stored form of a user. Raises `InputError` if users are hashed with an unknown key."""
        if not user or not isinstance(user, str):
            return user
        if self._hidden:
            raise InputError("the users in this store are hashed: open it with their key (user_key)")
        try:
            return hashed_user(self._key, user)
        except UnicodeEncodeError:
            return user  # refused later, because it is not valid text
