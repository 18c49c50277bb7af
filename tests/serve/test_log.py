"""The log is lines of JSON, and blocks nothing."""

import io
import json
import logging
import os
import threading
import time

from ltr_duel.serve.lines import logging_to, write
from tests.serve.asgi import Service, using


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_the_last_lines_are_written_at_the_end():
    text = io.StringIO()
    with logging_to(text):
        for number in range(100):
            write("event", number=number)
    assert [(one["event"], one["number"]) for one in lines(text.getvalue())] == [("event", k) for k in range(100)]


def test_warnings_and_errors_of_the_http_server_are_lines_too():
    text, server = io.StringIO(), logging.getLogger("uvicorn.error")
    with logging_to(text):
        server.info("started")
        server.warning("strange %s", "bytes")
        try:
            raise OSError("gone")
        except OSError:
            server.exception("failed")
    warning, error = lines(text.getvalue())
    assert (warning["event"], warning["level"], warning["message"]) == ("server", "warning", "strange bytes")
    assert error["message"] == "failed" and error["traceback"].endswith("OSError: gone")


def test_a_pipe_that_nobody_reads_stops_nothing():
    """A pipe has room for 64 kB; 20,000 lines take 2 MB."""
    reading, writing = os.pipe()
    stream = os.fdopen(writing, "w")

    def service():
        with logging_to(stream):
            for _ in range(20_000):
                write("event", text="x" * 100)

    began = time.monotonic()
    ends = threading.Thread(target=service, daemon=True)
    ends.start()
    ends.join(60)
    assert not ends.is_alive() and time.monotonic() - began < 30
    rest = threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(reading, 1 << 20), b"")], daemon=True)
    rest.start()  # lets the thread of the log end


def test_lines_of_requests_say_who_asked(tmp_path):
    async def story(service):
        assert (await service.call("GET", "/nowhere")).status == 404
        await service.decide()

    service = Service(tmp_path)
    using(service, story)
    found = lines(service.log.getvalue())
    assert [(one["path"], one["status"], one["client"]) for one in found] == [
        ("?", 404, "127.0.0.1"),
        ("/decide", 200, "127.0.0.1"),
    ]
