"""Connections: invalid, slow, large and excessive requests are rejected. On 127.0.0.1 only."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re

import pytest
import uvicorn

from ltr_duel.core import InputError
from ltr_duel.serve import ServiceSettings, run_service
from ltr_duel.serve.run import _config, _listening
from tests.serve.asgi import KEY, LISTS, Service

ASKED = json.dumps({"query": "q", "rankings": LISTS}).encode()
LIMITS = {"port": 0, "body_seconds": 0.3, "idle_seconds": 1.0, "connections": 20, "log": "none"}


def serving(folder, story, http):
    """Run a scenario with a listening service, given its port."""
    service = Service(folder, limits=LIMITS)

    async def whole():
        with _listening(service.limits) as listener:
            config = _config(service.app, service.limits)
            config.http = http
            server = uvicorn.Server(config)
            server.capture_signals = contextlib.nullcontext
            runs = asyncio.create_task(server.serve([listener]))
            while not server.started:
                await asyncio.sleep(0.01)
            try:
                return await story(service, listener.getsockname()[1])
            finally:
                server.should_exit = True
                await runs

    try:
        return asyncio.run(whole())
    finally:
        service.experiment.close()


async def send(port, *parts, pause=0.0):
    """Send chunks with a pause before each except the first; return all bytes until the connection closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = asyncio.create_task(_all_of(reader))
    try:
        for k, part in enumerate(parts):
            if k:
                await asyncio.sleep(pause)
            if not answer.done():
                writer.write(part)
        return await asyncio.wait_for(answer, 60)
    finally:
        writer.close()


async def _all_of(reader):
    parts = []
    with contextlib.suppress(ConnectionError):  # the connection may end before all is sent
        while part := await reader.read(65536):
            parts.append(part)
    return b"".join(parts)


def status_of(answer):
    """Return the status of an answer whose body is one sentence."""
    head, _, body = answer.partition(b"\r\n\r\n")
    said = json.loads(body)
    assert set(said) == {"error"} and "Traceback" not in said["error"]
    return int(head.split()[1])


def head(length, more=""):
    lines = ["POST /decide HTTP/1.1", "host: 127.0.0.1", f"authorization: Bearer {KEY}"]
    lines += ["content-type: application/json", f"content-length: {length}", f"{more}\r\n"]
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize("http", ["httptools", "h11"])
@pytest.mark.parametrize(
    ("parts", "pause", "status"),
    [
        ([b"hello\r\n\r\n"], 0, 400),
        ([b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"], 0, 400),  # TLS
        ([head(100), *[b" "] * 20], 0.05, 408),
        ([head(1_000_000)], 0, 413),
        ([head(3, "connection: close\r\n") + b"{}}"], 0, 400),
    ],
)
def test_a_malformed_slow_or_large_request_is_refused_and_its_connection_ends(tmp_path, http, parts, pause, status):
    async def story(service, port):
        answer = await send(port, *parts, pause=pause)
        assert int(answer.split()[1]) == status
        assert service.experiment.pages == 0

    serving(tmp_path, story, http)


def test_off_this_machine_a_head_has_a_limit(tmp_path):
    assert _config(None, ServiceSettings(host="0.0.0.0")).http == "h11"

    async def story(service, port):
        answer = await send(port, b"GET / HTTP/1.1\r\nx: " + b"a" * 200_000)
        assert int(answer.split()[1]) == 400

    serving(tmp_path, story, "h11")


@pytest.mark.parametrize("http", ["httptools", "h11"])
@pytest.mark.parametrize(
    ("first", "part"),
    [
        (head(10_000_000), b" " * 1000),
        (head(0).replace(b"content-length: 0", b"transfer-encoding: chunked") + b"989680\r\n", b" " * 300_000),
        (head(1000).replace(b"application/json", b"text/html"), b" "),
    ],
)
def test_a_refusal_is_not_lost_although_bytes_of_the_body_arrive(tmp_path, http, first, part):
    """A connection that is closed while bytes arrive is reset, and the answer may be lost."""

    async def story(service, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(first + part)
        answer = await asyncio.wait_for(reader.readuntil(b"}"), 10)  # while the body is not whole
        assert status_of(answer) in (413, 415)
        writer.close()

    serving(tmp_path, story, http)


@pytest.mark.parametrize("http", ["httptools", "h11"])
def test_a_connection_answers_one_request_after_the_other_and_ends_when_it_is_idle(tmp_path, http):
    async def story(service, port):
        whole = head(len(ASKED)) + ASKED
        answer = await send(port, whole * 3)  # at once
        assert len(re.findall(rb"HTTP/1.1 200 OK", answer)) == 3
        assert service.experiment.pages == 3

    serving(tmp_path, story, http)


@pytest.mark.parametrize("http", ["httptools", "h11"])
def test_requests_on_too_many_connections_are_refused(tmp_path, http):
    async def story(service, port):
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        refused = await send(port, head(len(ASKED)) + ASKED)
        assert refused.startswith(b"HTTP/1.1 503 ") and service.experiment.pages == 0
        for _, writer in held:
            writer.close()
        await asyncio.sleep(0.1)
        answer = await send(port, head(len(ASKED)) + ASKED)
        assert answer.startswith(b"HTTP/1.1 200 ")

    serving(tmp_path, story, http)


def test_an_address_that_is_taken_is_said(tmp_path):
    config = tmp_path / "live.toml"
    config.write_text(
        '[experiment]\nname = "t"\nrankers = ["a", "b"]\npolicy = "rucb"\n[serve]\nkey_file = "keys"\nport = %d\n'
    )
    with _listening(ServiceSettings(port=0)) as other:
        other.listen()
        port = other.getsockname()[1]
        config.write_text(config.read_text() % port)
        with pytest.raises(InputError, match=f"port {port}: another program is listening there"):
            run_service(config)


def test_a_service_without_a_secret_that_signs_tokens_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.delenv("LTR_DUEL_LIVE_KEYS", raising=False)
    config = tmp_path / "live.toml"
    config.write_text('[experiment]\nname = "t"\nrankers = ["a", "b"]\npolicy = "rucb"\n')
    with pytest.raises(InputError, match=r'live.toml: serve: there is no key: .*key_file = "live.keys" in \[serve\]'):
        run_service(config)
    config.write_text(config.read_text() + '[serve]\nkey_file = "new.keys"\n')
    (tmp_path / "new.keys").write_text("?")
    with pytest.raises(InputError, match=r"live.toml: serve: .*new.keys:1: a key is an id and a secret"):
        run_service(config)
