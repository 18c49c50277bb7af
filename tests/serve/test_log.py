"""The log blocks nothing, and clients cannot flood it."""

import contextlib
import io
import json
import os
import threading
import time

from ltr_duel.serve import EventLog
from tests.serve.asgi import Service, using


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_a_pipe_that_nobody_reads_stops_nothing():
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        log = EventLog(stream, waits=False)
        ends = threading.Thread(target=lambda: [log.write("event", text="x" * 100) for _ in range(5000)], daemon=True)
        ends.start()
        ends.join(20)
        assert not ends.is_alive() and log.dropped > 1000
        found = b""
        while b"left out" not in found:
            found += os.read(reading, 65536)
        log.close()
    os.close(reading)
    (said,) = [one for one in lines(found.decode()) if one["event"] == "left out"]
    assert said["lines"] == log.dropped


def test_the_last_lines_are_written_at_the_end():
    text = io.StringIO()
    log = EventLog(text, waits=False)
    for number in range(100):
        log.write("event", number=number)
    log.close()
    assert [one["number"] for one in lines(text.getvalue())] == list(range(100))


def test_a_log_that_nobody_reads_ends_with_the_service():
    reading, writing = os.pipe()
    stream = os.fdopen(writing, "w")
    log = EventLog(stream, waits=False)
    for _ in range(3000):
        log.write("event", text="x" * 100)
    began = time.monotonic()
    log.close()
    assert time.monotonic() - began < 20
    os.close(reading)
    log._queue.put(None, timeout=20)  # now the queue has space for the line
    log._thread.join(20)
    assert not log._thread.is_alive()
    with contextlib.suppress(BrokenPipeError):
        stream.close()


def test_refused_requests_fill_no_disk_and_say_who_asked(tmp_path):
    async def story(service):
        for _ in range(300):
            assert (await service.call("GET", "/nowhere")).status == 404
        await service.decide()

    service = Service(tmp_path)
    using(service, story)
    found = lines(service.log.getvalue())
    assert len(found) < 300 and found[-1]["path"] == "/decide"
    assert {one["client"] for one in found} == {"127.0.0.1"}
