"""What the service understands, as OpenAPI 3.1 and as a page for people. Made from the routes' own limits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ltr_duel.analysis import render_page
from ltr_duel.core import machine
from ltr_duel.serve.settings import ServiceSettings

_TEMPLATE = Path(__file__).parent / "templates" / "help.html"
_REFUSED = {
    400: "The request cannot be understood, or the experiment says no.",
    401: "The API key is missing or wrong.",
    403: "The token is not signed by this experiment; or, without API keys, not asked as localhost.",
    404: "There is nothing at this address.",
    405: "The address is not for that method.",
    408: "The request came too slowly.",
    409: "The clicks of the page were counted already.",
    410: "The page's deadline has passed: it counts as seen without clicks; or an outcome's page was forgotten.",
    413: "The body is too large.",
    415: "The body is not said to be JSON, or is compressed.",
    422: "The header 'idempotency-key' came with another body before.",
    431: "The head of the request is too large.",
    500: "The service met an error of its own.",
    503: "Too many requests wait, or the store cannot be written, and nothing is kept; or the answer took too long, and"
    " it is not known whether the request is kept. Ask again.",
}
_TEXT = {"type": "string"}
_SERVED = ("experiment", "paused", "winner", "ended", "share", "holdback", "away", "later")


def description(rankers: Sequence[str], context: Sequence[str], settings: ServiceSettings) -> dict[str, Any]:
    """Return the OpenAPI document."""
    text = {**_TEXT, "minLength": 1, "maxLength": settings.longest_text}
    kinds: list[dict[str, Any]] = [text, {"type": "integer"}]
    ids = {"type": "array", "maxItems": settings.longest_list, "items": {"oneOf": kinds}}
    outcome = _outcome({"oneOf": kinds})
    final = {"type": "boolean", "default": True, "description": "false: later reports of the page add to these clicks"}
    clicked = {"token": _TEXT, "clicks": {**ids, "items": {"oneOf": [*kinds, outcome]}}, "final": final}
    happened = {"token": _TEXT, "events": {**ids, "items": outcome}}
    done = _object({"recorded": {"type": "boolean"}})
    asked = _search(rankers, context, text, ids)
    clicks = "Which documents of a page were clicked; an empty list for none."
    events = "What else happened on a page, also after it was closed: kept for the log, each once."
    paths = {
        "/decide": {"post": _asking("Which page is to be shown?", asked, _page(ids))},
        "/clicks": {"post": _asking(clicks, _object(clicked, "token", "clicks"), done)},
        "/events": {"post": _asking(events, _object(happened, "token", "events"), done)},
        "/switch": {"post": _asking("Pause, resume, winner, share, drop, end.", *_switch())},
        "/state": {"get": _reading("Where the experiment stands.", "application/json")},
        "/ready": {
            "get": _reading("Whether the store can be written and has room.", "application/json") | {"security": []}
        },
        "/health": {"get": _reading("Whether the service answers.", "application/json") | {"security": []}},
        "/metrics": {"get": _reading("Counters for Prometheus.", "text/plain")},
        "/": {"get": _reading("Where the experiment stands, for people.", "text/html")},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "ltr-duel: a live experiment", "version": machine.own_version()},
        "servers": [{"url": "."}],
        "paths": paths,
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{"key": []}],
    }


def _search(
    rankers: Sequence[str], context: Sequence[str], text: dict[str, Any], ids: dict[str, Any]
) -> dict[str, Any]:
    """Return the body of a search."""
    lists = {"type": "object", "required": list(rankers), "properties": dict.fromkeys(rankers, ids)}
    facts = {name: {**_TEXT, "maxLength": 100} for name in context}
    asked = {
        "query": text,
        "rankings": {**lists, "additionalProperties": False},
        "user": {**_TEXT, "maxLength": text["maxLength"]},
        "offset": {"type": "integer", "minimum": 0, "default": 0, "description": "documents above the part to show"},
        "limit": {"type": "integer", "minimum": 1, "description": "documents of the part; all that follow without it"},
        "token": {**_TEXT, "description": "of the page to show again, or to continue"},
        "context": {"type": "object", "properties": facts, "additionalProperties": False},
    }
    return _object(asked, "query", "rankings")


def _page(ids: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a search."""
    return _object(
        {
            "page": ids,
            "token": _TEXT,
            "expires": {"type": "number", "description": "seconds since 1970"},
            "rankers": {"type": "array", "items": _TEXT},
            "served": {**_TEXT, "enum": list(_SERVED)},
            "total": {"type": "integer", "description": "documents of the whole page"},
        }
    )


def _outcome(document: dict[str, Any]) -> dict[str, Any]:
    """Return what is reported beside clicks."""
    keys = {
        "kind": {**_TEXT, "pattern": "^[a-z][a-z0-9_]{0,31}$"},
        "document": document,
        "value": {"type": "number", "default": 1},
        "id": {
            **_TEXT,
            "maxLength": 100,
            "description": "to tell outcomes apart; refused for a page that was forgotten",
        },
    }
    return _object(keys, "kind")


def _switch() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the body of the use of a switch, and the answer."""
    share = {"type": "number", "minimum": 0, "maximum": 1}
    use = {
        "switch": {**_TEXT, "enum": ["pause", "resume", "winner", "share", "drop", "end"]},
        "ranker": {**_TEXT, "description": "for winner and drop"},
        "share": {**share, "description": "of the users, that take part"},
        "holdback": {**share, "description": "of the users, that always get the incumbent's list"},
    }
    now = {
        "mode": _TEXT,
        "winner": _TEXT,
        "share": share,
        "holdback": share,
        "dropped": {"type": "array", "items": _TEXT},
        "damaged": {"type": "boolean"},
    }
    return _object(use, "switch"), _object(now)


def help_page(described: dict[str, Any]) -> str:
    """Return the same as a page."""
    addresses = [
        (method.upper(), path, one["summary"], _fields(one))
        for path, methods in described["paths"].items()
        for method, one in methods.items()
    ]
    return render_page(_TEMPLATE, title=described["info"]["title"], addresses=addresses, refused=_REFUSED)


def _object(properties: dict[str, Any], *needed: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(needed), "additionalProperties": False}


def _asking(summary: str, body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    refused = {str(status): {"description": meaning} for status, meaning in _REFUSED.items()}
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"200": {"description": "Done.", "content": {"application/json": {"schema": answer}}}, **refused},
    }


def _reading(summary: str, kind: str) -> dict[str, Any]:
    return {"summary": summary, "responses": {"200": {"description": "The answer.", "content": {kind: {}}}}}


def _fields(one: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the keys of body and answer, in words."""
    if "requestBody" not in one:
        return []
    body = one["requestBody"]["content"]["application/json"]["schema"]
    answer = one["responses"]["200"]["content"]["application/json"]["schema"]
    return [("asks", ", ".join(body["properties"])), ("answers", ", ".join(answer["properties"]))]
