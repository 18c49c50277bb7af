"""Sign and verify the file of a plan, which is JSON with a signature."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ltr_duel.core import InputError, errors
from ltr_duel.interleaving import METHODS
from ltr_duel.live import Keys

FORMAT = "ltr-duel plan 1"
_MOST_SHOWN, _LARGEST = 1000, 1 << 53
_LONGEST = 50_000_000  # largest number of characters in a file
_TEXTS = ("experiment", "policy", "method", "outcome", "salt", "recommended", "incumbent", "settings", "log")
_WHOLE = ("version", "at", "until", "top", "draws", "learned")
FIELDS = (*_TEXTS, *_WHOLE)


def signed(fields: Mapping[str, Any], keys: Keys) -> str:
    """Return a plan as JSON, signed with the first key."""
    plan, key = {**fields, "format": FORMAT}, next(iter(keys))
    found = {"key": key, "plan": plan, "signature": _signature(keys[key], plan)}
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


def verified(text: str, keys: Keys, place: str) -> dict[str, Any]:
    """Return `FIELDS` and ``sets`` of a plan. Raises `InputError` if it is invalid or not signed by one of the keys."""
    try:
        if len(text) > _LONGEST:
            raise ValueError
        given = json.loads(text)
        plan, key, signature = given["plan"], given["key"], given["signature"]
        if not isinstance(key, str) or not isinstance(signature, str) or not isinstance(plan, dict):
            raise TypeError
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InputError(f"{place}: not a plan of 'ltr-duel live plan'") from None
    if key not in keys:
        raise InputError(f"{place}: signed by key {errors.shown(key)}, which is not among {', '.join(keys)}")
    if not hmac.compare_digest(_signature(keys[key], plan).encode(), signature.encode("utf-8", "replace")):
        raise InputError(f"{place}: changed since it was signed by key '{key}'")
    if plan.get("format") != FORMAT:
        raise InputError(f"{place}: a plan of a different format: {errors.shown(plan.get('format'))}, not '{FORMAT}'")
    try:
        fields = {name: plan[name] for name in (*FIELDS, "sets")}
        _require_legal(fields, [(tuple(one["rankers"]), one["draws"]) for one in fields["sets"]])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{place}: signed, but not a valid plan ({error})") from None
    return fields


def _require_legal(fields: Mapping[str, Any], sets: Sequence[tuple[tuple[Any, ...], Any]]) -> None:
    """Raise `ValueError` or `TypeError` unless types and ranges of fields and sets fit `LivePlan`."""
    for name in _TEXTS:
        if type(fields[name]) is not str:
            raise ValueError(name)
    for name in _WHOLE:
        if type(fields[name]) is not int or not 0 <= fields[name] <= _LARGEST:
            raise ValueError(name)
    draws = [count for _, count in sets]
    if not draws or not all(type(count) is int and count > 0 for count in draws) or sum(draws) != fields["draws"]:
        raise ValueError("draws")
    for names, _ in sets:
        if not names or len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
            raise ValueError("rankers")
    if not fields["version"] or not 1 <= fields["top"] <= _MOST_SHOWN:
        raise ValueError("version or top")
    METHODS.configure(fields["method"])


def _signature(secret: bytes, plan: Mapping[str, Any]) -> str:
    """Sign the canonical JSON: keys sorted, no spaces, ASCII. All values are strings or whole numbers."""
    text = json.dumps(plan, sort_keys=True, separators=(",", ":"))
    return hmac.digest(secret, text.encode("ascii"), "sha256").hex()
