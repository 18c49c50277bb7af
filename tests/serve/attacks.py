"""Requests that a service must reject, each with its status."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from tests.serve.asgi import LISTS, Service

JSON = {"content-type": "application/json"}


class Attack(NamedTuple):
    """A request, and the correct statuses."""

    name: str
    path: str
    body: Any
    status: int
    method: str = "POST"
    headers: dict[str, str] = JSON
    pause: float = 0.0


def decide(name: str, status: int = 400, **changed: Any) -> Attack:
    said = {"query": "q", "rankings": LISTS, **changed}
    return Attack(name, "/decide", {key: value for key, value in said.items() if value is not ...}, status)


def lists(name: str, **changed: Any) -> Attack:
    return decide(name, rankings={**LISTS, **changed})


def raw(name: str, body: bytes, status: int = 400, path: str = "/decide") -> Attack:
    return Attack(name, path, body, status)


def malformed() -> list[Attack]:
    """Return malformed requests."""
    whole = json.dumps({"query": "q", "rankings": LISTS}).encode()
    return [
        raw("nothing", b""),
        raw("cut short", whole[:-1]),
        raw("more behind it", whole + b"x"),
        raw("a list", b"[1]"),
        raw("a number", b"1"),
        raw("null", b"null"),
        raw("UTF-16", whole.decode().encode("utf-16")),
        raw("no UTF-8", whole.replace(b"q", b"\xff")),
        raw("with a mark in front", b"\xef\xbb\xbf" + whole),
        raw("NaN", whole.replace(b'"q"', b"NaN")),
        raw("infinity", b'{"query": "q", "rankings": {"bm25": [1e999]}}'),
        raw("a number of 5,000 digits", b'{"query": "q", "rankings": {"bm25": [' + b"9" * 5000 + b"]}}"),
        raw("brackets", b"[" * 100_000),
        raw("objects", b'{"a":' * 40_000),
        raw("half of a pair", whole.replace(b'"q"', rb'"\ud800"')),
        raw("half of a pair in a list", whole.replace(b'"a"', rb'"\uDC00"', 1)),
        raw("a key twice", whole.replace(b"{", b'{"query": "p", ', 1)),
        raw("a ranker twice", whole.replace(b'"dense"', b'"bm25": ["a"], "dense"')),
        decide("no query", query=...),
        decide("an empty query", query=""),
        decide("a query that is a list", query=["q"]),
        decide("a long query", query="q" * 1001),
        decide("a user that is a number", user=7),
        decide("a long user", user="u" * 1001),
        decide("an unknown key", seed=1),
        decide("no rankings", rankings=...),
        decide("rankings in a list", rankings=[["a"]]),
        decide("rankings that are null", rankings=None),
        decide("a missing ranker", rankings={"bm25": ["a"], "dense": ["b"]}),
        lists("an unknown ranker", other=["a"]),
        lists("a ranker of the language", __proto__=["a"]),
        lists("a list that is a text", bm25="abc"),
        lists("a list that is an object", bm25={"a": 1}),
        lists("an id that is null", bm25=[None]),
        lists("an id that is true", bm25=[True, "b"]),
        lists("an id that is a list", bm25=[["a"]]),
        lists("an id that is a fraction", bm25=[0.5]),
        lists("an id that is huge", bm25=[2**70]),
        lists("an id that is long", bm25=["a" * 1001]),
        lists("empty lists", bm25=[], dense=[], mixed=[]),
        lists("documents twice", bm25=["a", "a"], dense=["a", "a"], mixed=["b", "b"]),
        lists("a list that is too long", bm25=list(range(201))),
        Attack("no clicks", "/clicks", {"token": "t"}, 400),
        Attack("no token", "/clicks", {"clicks": []}, 400),
        Attack("a token that is a number", "/clicks", {"token": 1, "clicks": []}, 400),
        Attack("a token of a megabyte", "/clicks", {"token": "t" * 100_000, "clicks": []}, 400),
        Attack("places", "/clicks", {"token": "t", "places": [1]}, 400),
        Attack("an outcome in an outcome", "/clicks", {"token": "t", "clicks": [{"document": {"kind": "a"}}]}, 400),
        Attack("no events", "/events", {"token": "t"}, 400),
        Attack("clicks as events", "/events", {"token": "t", "events": ["a"]}, 400),
        Attack("events in an object", "/events", {"token": "t", "events": {"kind": "a"}}, 400),
        Attack("events of another service", "/events", {"token": "t", "events": [{"kind": "a"}]}, 403),
        Attack("a thousand events", "/events", {"token": "t", "events": [{"kind": "a"}] * 1000}, 400),
        decide("an offset below the top", offset=-1),
        decide("a limit of nothing", limit=0),
        decide("a token that is a list", token=["t"]),
        decide("a token of another service", 403, token="t"),
        decide("a context that the settings do not name", context={"device": "phone"}),
        decide("a context of a megabyte", context={"device": "x" * 200_000}),
        decide("a context in a context", context={"device": {"kind": "phone"}}),
    ]


def wrong_way() -> list[Attack]:
    """Return requests with wrong addresses, methods, types, and sizes."""
    large = b" " * 250_001
    said = {"query": "q", "rankings": LISTS}
    return [
        Attack("nowhere", "/nowhere", b"", 404, "GET"),
        Attack("a file", "/../../etc/passwd", b"", 404, "GET"),
        Attack("a slash too much", "/decide/", said, 404),
        Attack("a long address", "/" + "a" * 5000, b"", 404, "GET"),
        Attack("GET /decide", "/decide", b"", 405, "GET"),
        Attack("DELETE /state", "/state", b"", 405, "DELETE"),
        Attack("POST /", "/", said, 405),
        Attack("a method nobody knows", "/decide", b"", 405, "BREW"),
        Attack("a form", "/decide", b"query=q", 415, headers={"content-type": "application/x-www-form-urlencoded"}),
        Attack("text, as pages elsewhere may send", "/decide", said, 415, headers={"content-type": "text/plain"}),
        Attack("no kind", "/decide", said, 415, headers={"content-type": ""}),
        Attack("compressed", "/decide", said, 415, headers={**JSON, "content-encoding": "gzip"}),
        Attack("too large", "/decide", large, 413),
        Attack("too large, it says", "/decide", b"{}", 413, headers={**JSON, "content-length": "250001"}),
        Attack("a length of 40 digits", "/decide", b"{}", 413, headers={**JSON, "content-length": "9" * 40}),
        Attack("a length that is none", "/decide", b"{}", 413, headers={**JSON, "content-length": "-1"}),
        Attack("too large, in parts", "/decide", [b" " * 100_000] * 3, 413),
        Attack("too slow", "/decide", [b" "] * 100, 408, pause=0.01),
    ]


def random_attacks(token: str, page: list[str], amount: int, seed: int) -> list[Attack]:
    """Return randomly damaged requests; requests that remain valid are skipped."""
    rng = np.random.default_rng(seed)
    asked = json.dumps({"query": "q", "rankings": LISTS}).encode()
    reported = json.dumps({"token": token, "clicks": page[:1]}).encode()
    attacks = []
    while len(attacks) < amount:
        path, body = (("/decide", asked), ("/clicks", reported))[int(rng.integers(2))]
        damaged = bytearray(body)
        for _ in range(int(rng.integers(1, 4))):
            place = int(rng.integers(len(damaged)))
            kind = int(rng.integers(4))
            if kind == 0:
                damaged[place] = int(rng.integers(256))
            elif kind == 1:
                del damaged[place : place + int(rng.integers(1, 20))]
            elif kind == 2:
                damaged[place:place] = rng.integers(256, size=int(rng.integers(1, 9)), dtype=np.uint8).tobytes()
            else:
                damaged[place:place] = damaged[: int(rng.integers(1, len(damaged) + 1))]
        if _refused(path, bytes(damaged), token, page):
            attacks.append(Attack(f"damaged {path}", path, bytes(damaged), 0))
    return attacks


def _refused(path: str, body: bytes, token: str, page: list[str]) -> bool:
    """Return whether a body must be rejected: it is not JSON, or its keys or its token are wrong."""
    try:
        said = json.loads(body.decode())
    except (ValueError, RecursionError):
        return True
    if not isinstance(said, dict):
        return True
    if path == "/decide":
        return set(said) - {"user"} != {"query", "rankings"}
    return set(said) != {"token", "clicks"} or said["token"] != token


async def attack(service: Service, one: Attack) -> str:
    """Send the request; return the error in the answer, or an empty string."""
    said = await service.call(one.method, one.path, one.body, headers=one.headers, pause=one.pause)
    legal = (one.status,) if one.status else (400, 403, 413)
    if said.status not in legal:
        return f"{one.name}: {said.status} and not {one.status}: {said.body[:200]!r}"
    try:
        error = said.json["error"]
    except (ValueError, KeyError):
        return f"{one.name}: no sentence in {said.body[:200]!r}"
    if set(said.json) != {"error"} or not 10 < len(error) < 500 or "\n" in error or "Traceback" in error:
        return f"{one.name}: {error}"
    return ""
