"""An experiment as ASGI middleware (Starlette, FastAPI, Django): the site finds the page in its scope.

    from asgi import Experiment

    application = Experiment(application, lists, client, "words", user=lambda scope: ...)

Lists, pages and reports are requested in threads, so other requests do not wait for them.
"""

import asyncio
from urllib.parse import parse_qs

import middleware


class Experiment(middleware.Experiment):
    """Middleware with the same arguments as the WSGI version; `user` returns the user from the scope of a request."""

    async def __call__(self, scope, receive, send):
        """Answer a request."""
        if scope["type"] == "http" and (scope["method"], scope["path"]) == ("POST", "/events"):
            status, body = await asyncio.to_thread(self.report, await body_of(receive))
            headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": status.value, "headers": headers})
            await send({"type": "http.response.body", "body": body})
            return
        query = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("q", [""])[0]
        if scope["type"] == "http" and scope["path"] == "/search" and query:
            page, token = await asyncio.to_thread(self.page, query, self.user(scope))
            scope = {**scope, "ltr_duel.page": page, "ltr_duel.token": token}
        await self.site(scope, receive, send)


async def body_of(receive):
    """Return the body of a request, or nothing if it is too large or incomplete."""
    body, more = b"", True
    while more:
        part = await receive()
        body += part.get("body", b"")
        more = part.get("more_body", False)
        if part["type"] == "http.disconnect" or len(body) > middleware.LARGEST:
            return b""
    return body
