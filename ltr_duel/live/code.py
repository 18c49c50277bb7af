"""The code that chose the pages of a store: other code continues the store only after an explicit acceptance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ltr_duel.core import InputError, digest, interpreted, machine, places, sources
from ltr_duel.live.settings import Settings
from ltr_duel.live.store import Store

CODE, ACCEPTED = "code", "accepted code"  # keys in a store


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
