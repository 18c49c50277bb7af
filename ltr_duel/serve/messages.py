"""Check the bodies of requests before they are passed to the experiment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Sequence
from typing import Any

from starlette.requests import ClientDisconnect, Request

from ltr_duel.core import InputError, errors
from ltr_duel.live import Decide, Record, Switch
from ltr_duel.serve.gate import CLOSE, Refusal
from ltr_duel.serve.settings import ServiceSettings

_LARGEST_ID = 2**63 - 1
_LONGEST_TOKEN = _LONGEST_TEXT = 1000  # characters
_LONGEST_LIST = 200  # documents
_SWITCHES = {"pause": (), "resume": (), "winner": ("ranker",), "share": ("share",), "drop": ("ranker",), "end": ()}


def read_object(body: bytes) -> dict[str, Any]:
    """Read a JSON object in UTF-8. Raises `InputError` for other input, a repeated key, or an unpaired surrogate."""
    try:
        given = json.loads(body.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
        if rb"\ud" in body or rb"\uD" in body:  # may be an unpaired surrogate
            json.dumps(given, ensure_ascii=False).encode()
    except InputError:
        raise
    except (json.JSONDecodeError, UnicodeError, RecursionError):
        raise InputError("the body must be a JSON object in UTF-8") from None
    except ValueError:
        raise InputError("the body contains a whole number with too many digits") from None
    if not isinstance(given, dict):
        raise InputError(f"the body must be a JSON object, not {_named(given)}")
    return given


def read_decide(
    given: dict[str, Any],
    rankers: Sequence[str],
    needed: Collection[str] | None = None,
    dropped: Collection[str] = (),
) -> Decide:
    """Check a search request; the lists of ``needed`` rankers, by default of all rankers, are required.

    Lists that are not required are checked too; the list of a dropped ranker may be empty or contain a document twice.
    """
    _require_keys(given, ("query", "rankings"), ("user", "offset", "limit", "token", "context"))
    query, user, rankings = given["query"], given.get("user", ""), given["rankings"]
    _require_text("'query'", query, _LONGEST_TEXT)
    _require_text("'user'", user, _LONGEST_TEXT, least=0)
    _require_text("'token'", given.get("token", ""), _LONGEST_TOKEN, least=0)
    for name, least in (("offset", 0), ("limit", 1)):
        if type(given.get(name, 1)) is not int or not least <= given.get(name, 1) <= _LARGEST_ID:
            raise InputError(f"'{name}' must be a whole number from {least} to {_LARGEST_ID}")
    if not isinstance(rankings, dict):
        raise InputError(f"'rankings' must be an object with a list for each ranker, not {_named(rankings)}")
    missing = [name for name in (rankers if needed is None else needed) if name not in rankings]
    strange = [name for name in rankings if name not in rankers]
    found = [f"lacks {errors.shown(one)}" for one in missing[:1]]
    found += [f"has {errors.shown(one)}" for one in strange[:1]]
    if found:
        raise InputError(
            "'rankings' must contain a list for each ranker in use and no list of an unknown ranker;"
            f" it {' and '.join(found)}"
        )
    context = given.get("context", {})
    if not isinstance(context, dict) or not all(isinstance(one, str) for one in context.values()):
        raise InputError("'context' must be an object whose values are strings")
    for name, ids in rankings.items():
        _require_ids(f"the list of ranker '{name}'", ids)
        if name not in dropped:
            if not ids:
                raise InputError(f"the list of ranker '{name}' is empty")
            if len(set(ids)) < len(ids):
                raise InputError(f"a document appears twice on the list of ranker '{name}'")
    return Decide(query, rankings, user, given.get("offset", 0), given.get("limit"), given.get("token", ""), context)


def read_record(given: dict[str, Any]) -> Record:
    """Check the clicks of a page."""
    _require_keys(given, ("token", "clicks"), ("final",))
    if not isinstance(given.get("final", True), bool):
        raise InputError(f"'final' must be true or false, not {_named(given['final'])}")
    _require_text("'token'", given["token"], _LONGEST_TOKEN)
    _require_outcomes("'clicks'", given["clicks"])
    return Record(given["token"], given["clicks"], given.get("final", True))


def read_events(given: dict[str, Any]) -> Record:
    """Check the events of a page, which may be reported after the page is closed."""
    _require_keys(given, ("token", "events"), ())
    _require_text("'token'", given["token"], _LONGEST_TOKEN)
    _require_outcomes("'events'", given["events"])
    if not all(isinstance(one, dict) for one in given["events"]):
        raise InputError("'events' must be a list of objects with a 'kind'")
    return Record(given["token"], given["events"], final=False, late=True)


def read_switch(given: dict[str, Any]) -> Switch:
    """Check a request to operate a switch."""
    what = given.get("switch", "pause")
    for name in ("switch", "ranker"):
        _require_text(f"'{name}'", given.get(name, ""), _LONGEST_TOKEN, least=0)
    if what not in _SWITCHES:
        raise errors.unknown_name("switch", what, tuple(_SWITCHES))
    _require_keys(given, ("switch", *_SWITCHES[what]), ("holdback",) if what == "share" else ())
    for name in ("share", "holdback"):
        if isinstance(given.get(name, 0), bool) or not isinstance(given.get(name, 0), int | float):
            raise InputError(f"'{name}' must be a number, not {_named(given[name])}")
    return Switch(given["switch"], given.get("ranker", ""), given.get("share", 1.0), given.get("holdback"), "HTTP")


def _require_keys(given: dict[str, Any], needed: tuple[str, ...], more: tuple[str, ...]) -> None:
    for key in needed:
        if key not in given:
            raise InputError(f"the key '{key}' is missing")
    for key in given:
        if key not in needed and key not in more:
            raise InputError(f"unknown key {errors.shown(key)}; valid keys: {', '.join((*needed, *more))}")


def _require_text(what: str, given: Any, longest: int, *, least: int = 1) -> None:
    if not isinstance(given, str):
        raise InputError(f"{what} must be a string, not {_named(given)}")
    if not least <= len(given) <= longest:
        raise InputError(f"{what} must have from {least} to {longest:,} characters, not {len(given):,}")


def _require_ids(what: str, given: Any) -> None:
    if not isinstance(given, list):
        raise InputError(f"{what} must be a list of document ids, not {_named(given)}")
    if len(given) > _LONGEST_LIST:
        raise InputError(f"{what} has {len(given):,} documents; at most {_LONGEST_LIST:,} are allowed")
    for kind in set(map(type, given)):
        if kind is not str and kind is not int:
            raise InputError(f"{what} contains {_named(kind())} where a string or a whole number is required")
    for one in given:
        if (len(one) > _LONGEST_TEXT) if isinstance(one, str) else (abs(one) > _LARGEST_ID):
            raise InputError(
                f"{what} contains an id that is too long: strings may have at most {_LONGEST_TEXT:,} characters,"
                " and numbers at most 63 bits"
            )


def _require_outcomes(what: str, given: Any) -> None:
    """Check the document ids in a list of ids and of objects with a 'document'; the experiment checks other keys."""
    if not isinstance(given, list):
        raise InputError(f"{what} must be a list of document ids or of objects, not {_named(given)}")
    plain = [one.get("document", "") if isinstance(one, dict) else one for one in given]
    _require_ids(what, plain)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InputError("the body contains a key twice")
    return found


def _no_constant(name: str) -> Any:
    raise InputError(f"the body contains {name}, which is not JSON")


def _named(given: Any) -> str:
    """Return the JSON type of a value in words, without the value, which may be long or private."""
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return kinds.get(type(given), "a number")


async def read_body(request: Request, limits: ServiceSettings) -> bytes:
    """Return the body. Raises `Refusal` if it is not declared as JSON, is too large, or arrives too slowly."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "the body must be JSON, with 'content-type: application/json'", CLOSE)
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "the body must not be compressed", CLOSE)
    too_large = Refusal(413, f"the body may have at most {limits.largest_body:,} bytes", CLOSE)
    said = request.headers.get("content-length", "0")
    if not said.isascii() or not said.isdigit() or int(said[:20]) > limits.largest_body:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for part in request.stream():
                size += len(part)
                if size > limits.largest_body:
                    raise too_large
                parts.append(part)
    except TimeoutError:
        raise Refusal(408, f"the body must arrive within {limits.body_seconds:g} seconds", CLOSE) from None
    except ClientDisconnect:
        raise Refusal(400, "the connection ended before the request was complete", CLOSE) from None
    return b"".join(parts)
