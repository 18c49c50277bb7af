"""What the service understands, as OpenAPI 3.1 and as a page for people. Made from the routes' own limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ltr_duel.analysis import render_page
from ltr_duel.core import machine
from ltr_duel.live import Settings
from ltr_duel.serve.settings import ServiceSettings

_TEMPLATE = Path(__file__).parent / "templates" / "help.html"
_REFUSED = {
    400: "The request cannot be understood, or the experiment says no.",
    401: "The API key is missing or wrong.",
    403: "The token is not signed by this experiment; the API key lacks the role; or, without API keys, not asked as"
    " localhost, or through a proxy.",
    404: "There is nothing at this address.",
    405: "The address is not for that method.",
    408: "The request came too slowly.",
    409: "The clicks of the page were counted already, by a final report.",
    410: "The page was closed before, at its deadline or to make room, with the clicks reported before; or an outcome"
    " comes too late, or its page was forgotten.",
    413: "The body is too large.",
    415: "The body is not said to be JSON, or is compressed.",
    422: "The header 'idempotency-key' came with another body before.",
    431: "The head of the request is too large.",
    500: "The service met an error of its own.",
    503: "Too many requests wait or connections are open, or the store cannot be used, and nothing is kept; or the"
    " answer took too long, and it is not known whether the request is kept. Ask again after 'retry-after' seconds.",
}
_OF_READING = (401, 403, 405, 431, 500, 503)
_OF_SEVERAL: list[dict[str, Any]] = [
    {},
    {"key": []},
]  # no key is needed, or one of the experiment where the service has several
_REPEATED = {
    "name": "idempotency-key",
    "in": "header",
    "schema": {"type": "string", "maxLength": 100},
    "description": "One for each request; a request that is sent again with it has the answer of the first.",
}
_TEXT = {"type": "string"}
_SERVED = ("experiment", "paused", "winner", "ended", "share", "holdback", "away", "later")


def description(experiment: Settings, settings: ServiceSettings) -> dict[str, Any]:
    """Return the OpenAPI document."""
    text = {**_TEXT, "minLength": 1, "maxLength": settings.longest_text}
    kinds: list[dict[str, Any]] = [{**_TEXT, "maxLength": settings.longest_text}, {"type": "integer"}]
    ids = {"type": "array", "maxItems": settings.longest_list, "items": {"oneOf": kinds}}
    outcome = _outcome({"oneOf": kinds})
    final = {"type": "boolean", "default": True, "description": "false: later reports of the page add to these clicks"}
    clicked = {"token": _TEXT, "clicks": {**ids, "items": {"oneOf": [*kinds, outcome]}}, "final": final}
    happened = {"token": _TEXT, "events": {**ids, "items": outcome}}
    done = _object({"recorded": {"type": "boolean"}})
    asked = _search(experiment, text, ids)
    clicks = "Which documents of a page were clicked; an empty list for none."
    events = "What else happened on a page, also after it was closed: kept for the log, each once."
    state = (
        "Where the experiment stands. Pages are those of the whole experiment; steps, pulls and held are those of the"
        " present policy, and each drop starts a new one."
    )
    paths = {
        "/decide": {"post": _asking("Which page is to be shown?", asked, _page(ids), _REPEATED)},
        "/clicks": {"post": _asking(clicks, _object(clicked, "token", "clicks"), done, _REPEATED)},
        "/events": {"post": _asking(events, _object(happened, "token", "events"), done, _REPEATED)},
        "/switch": {"post": _asking("Pause, resume, winner, share, drop, end.", *_switch())},
        "/state": {"get": _reading(state, "application/json")},
        "/ready": {
            "get": _reading("Whether the store can be written and has room.", "application/json")
            | {"security": _OF_SEVERAL}
        },
        "/health": {"get": _reading("Whether the service answers.", "application/json") | {"security": _OF_SEVERAL}},
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


def _search(experiment: Settings, text: dict[str, Any], ids: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a search."""
    lists = {
        "type": "object",
        "description": "the list of each ranker that is not dropped; for a later part, and while the experiment is"
        " paused or has ended, that of the incumbent, and of a winner that is served; none is empty or"
        " holds a document twice",
        "required": [experiment.incumbent],
        "properties": dict.fromkeys(experiment.rankers, ids),
    }
    facts = {name: {**_TEXT, "maxLength": 100} for name in experiment.context}
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
        "holdback": {
            **share,
            "description": "of the users, that always get the incumbent's list; without it as before",
        },
    }
    now = {
        "mode": _TEXT,
        "winner": {**_TEXT, "description": "the ranker that is served; while paused, that 'resume' will serve"},
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


def _asking(summary: str, body: dict[str, Any], answer: dict[str, Any], *headers: dict[str, Any]) -> dict[str, Any]:
    refused = {str(status): {"description": meaning} for status, meaning in _REFUSED.items()}
    return {
        "summary": summary,
        "parameters": list(headers),
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"200": {"description": "Done.", "content": {"application/json": {"schema": answer}}}, **refused},
    }


def _reading(summary: str, kind: str) -> dict[str, Any]:
    refused = {str(status): {"description": _REFUSED[status]} for status in _OF_READING}
    answers = {"200": {"description": "The answer.", "content": {kind: {}}}, **refused}
    return {"summary": summary, "responses": answers}


def _fields(one: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the keys of body and answer, in words."""
    if "requestBody" not in one:
        return []
    body = one["requestBody"]["content"]["application/json"]["schema"]
    answer = one["responses"]["200"]["content"]["application/json"]["schema"]
    return [("asks", ", ".join(body["properties"])), ("answers", ", ".join(answer["properties"]))]
