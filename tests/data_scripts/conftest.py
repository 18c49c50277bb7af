"""A real HTTP server on this machine, with the faults of real ones."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class Server:
    """Serves bytes by path. The part of a path before the first ``/`` names the fault.

    good: with ranges; cut: closes the connection half way, but serves ranges; stubborn: cuts twice and ignores ranges;
    short: announces the full length, and sends only half; html: a web page; gone: 404; busy: 503 once, then good.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.count: Counter[str] = Counter()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def url(self, mood: str, name: str) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/{mood}/{name}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        _, mood, name = request.path.split("/", 2)
        wanted = request.headers.get("Range")
        self.requests.append((request.path, wanted))
        self.count[request.path] += 1
        if mood == "gone" or name not in self.files:
            request.send_error(404)
            return
        if mood == "busy" and self.count[request.path] == 1:
            request.send_error(503)
            return
        data = self.files[name]
        if mood == "html":
            data = b"<!DOCTYPE html><html><body>Please log in</body></html>"
        if mood == "short":
            data = data[: len(data) // 2]
        first = 0
        if wanted and mood not in ("stubborn", "html"):
            first = int(wanted.removeprefix("bytes=").split("-")[0])
            if first >= len(data):
                request.send_error(416)
                return
        request.send_response(206 if first else 200)
        if first:
            request.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        request.send_header("Content-Type", "text/html" if mood == "html" else "application/octet-stream")
        request.send_header("Content-Length", str(len(data) - first))
        request.send_header("ETag", '"1"')
        request.end_headers()
        body = data[first:]
        cut = (mood == "cut" and len(body) > 1000) or (mood == "stubborn" and self.count[request.path] <= 2)
        request.wfile.write(body[: len(body) // 2] if cut else body)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.close()


@pytest.fixture(autouse=True)
def own_home(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LTR_DUEL_HOME", f"{tmp_path}/home")
