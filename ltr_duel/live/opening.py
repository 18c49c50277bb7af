"""The store of an experiment, opened: made or continued, by its own rules, its own code and its own key of users."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, arguments, digest, errors, interpreted, machine, places, sources
from ltr_duel.live.calls import StoreError
from ltr_duel.live.settings import Settings, default_outcome, kept_settings, settings_text
from ltr_duel.live.store import Store
from ltr_duel.live.switches import switches_of
from ltr_duel.live.users import Users

CODE, ACCEPTED = "code", "accepted code"  # keys in a store
_SEEDS = 10**15
_MAY_CHANGE = ("margin", "deadline", "late_days", "context", "keep_days", "sticky", "max_open", "incumbent", "serve")
# a level of confidence that is chosen after looking is none


def open_store(
    path: str | Path,
    settings: Settings | None,
    clock: Callable[[], float],
    user_key: bytes | None,
    *,
    accept_new_code: bool,
) -> tuple[Store, Settings, Users, dict[str, Any] | None]:
    """Open a store, or make one; see `ltr_duel.live.Experiment.open`.

    Returns the store, the settings and the users that hold, and the change of code that was accepted.
    """
    path = arguments.as_path("a store", path)
    about = {}
    if settings is not None:
        arguments.require_type("settings", settings, Settings)
        seed = secrets.randbelow(_SEEDS) if settings.seed is None else settings.seed
        new = replace(settings, seed=seed, outcome=settings.outcome or default_outcome(settings))
        text, name = settings_text(new), secrets.token_hex(16)
        about = {"settings": text, "experiment": name, "started": clock(), "labels": "random"}
    store = Store(path, about)
    try:
        with store.reading():
            kept = kept_settings(store.about("settings"), path)
            if settings is not None:
                _require_same_law(settings, kept, path)
                settings = replace(settings, seed=kept.seed, outcome=kept.outcome)  # the same, or left open
            incumbent = (settings or kept).incumbent
            if incumbent in switches_of(store.switches(), kept, builds=False).dropped:
                raise InputError(f"{path}: incumbent: ranker '{incumbent}' was dropped; name another")
            if settings is not None and settings != kept:
                with store.transaction():
                    store.say("settings", settings_text(settings))
            accepted = go_on_with_code(store, settings or kept, path, clock(), accept=accept_new_code)
            users = Users(store, user_key, path)
        return store, settings or kept, users, accepted
    except BaseException as error:
        store.close()
        if isinstance(error, StoreError):
            raise InputError(f"{path}: {error}") from None
        raise


def _require_same_law(settings: Settings, kept: Settings, place: Path) -> None:
    """Refuse settings under which an experiment could not go on.

    Raises `InputError` saying which of them is another one.
    """
    for one in fields(settings):
        before, now = getattr(kept, one.name), getattr(settings, one.name)
        is_open = now is None or (one.name == "outcome" and not now)  # then it is as the store has it
        if one.name not in _MAY_CHANGE and before != now and not is_open:
            raise InputError(
                f"{place}: the experiment in this store began with {one.name} {_words(before)}, not {_words(now)};"
                " use another store"
            )


def _words(given: Any) -> str:
    return ", ".join(given) if isinstance(given, tuple) else errors.shown(given)


def code_of(settings: Settings) -> dict[str, Any]:
    """Return the installed code: this package's version, the policy, its numbers version and its file's SHA-256.

    The SHA-256 is empty for a policy of this package, and for a policy without a file.
    """
    policy = settings.policy_component
    file = Path(interpreted(policy.select).__code__.co_filename)
    own = file.is_relative_to(sources.ROOT) or not places.is_file(file)
    return {
        "ltr_duel": machine.own_version(),
        "policy": policy.name,
        "numbers": policy.numbers,
        "file_sha256": "" if own else digest.sha256_file(file),
    }


def go_on_with_code(store: Store, settings: Settings, place: Path, at: float, *, accept: bool) -> dict[str, Any] | None:
    """Compare the code of a store with the installed code, and record the installed code in the store.

    store: a store of an earlier version has no record of its code; it gets one without a comparison.
    place: of the store.
    at: the time.
    accept: whether to continue with other code; the event is then added to the store's ``accepted code``.

    Returns the event, if other code was accepted: ``at``, ``before`` and ``now``.

    Raises `InputError` if the policy has another numbers version or another file, and ``accept`` is False.
    """
    said, now = store.about(CODE), code_of(settings)
    before = json.loads(said) if said else now
    changed = [name for name in ("numbers", "file_sha256") if before[name] != now[name]]
    if changed and not accept:
        words = {"numbers": "numbers version", "file_sha256": "plug-in file"}
        wrong = ", ".join(f"{words[one]} {before[one] or 'none'}, now {now[one] or 'none'}" for one in changed)
        raise InputError(
            f"{place}: the experiment in this store began with another '{now['policy']}' ({wrong});"
            " go on with it by --accept-new-code (accept_new_code=True), or use another store"
        )
    event = {"at": at, "before": before, "now": now} if changed else None
    if said is None or before != now:
        with store.transaction():
            store.say(CODE, json.dumps(now))
            if event:
                store.say(ACCEPTED, json.dumps([*json.loads(store.about(ACCEPTED) or "[]"), event]))
    return event
