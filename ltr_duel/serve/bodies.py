"""The body of a request: JSON, not too large, not too slow."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request

from ltr_duel.serve.refusals import CLOSE, Refusal
from ltr_duel.serve.settings import ServiceSettings


async def read_body(request: Request, limits: ServiceSettings) -> bytes:
    """Return the body.

    Raises
    ------
    Refusal
        If it is not said to be JSON, or is too large or too slow.
    """
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
        raise Refusal(408, f"the body must come within {limits.body_seconds:g} seconds", CLOSE) from None
    except ClientDisconnect:
        raise Refusal(400, "the connection ended before the request did", CLOSE) from None
    return b"".join(parts)
