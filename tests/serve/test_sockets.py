"""Connections: invalid, slow, large and excessive requests are rejected. On 127.0.0.1 only."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import time

import pytest
import uvicorn

from ltr_duel.core import InputError
from ltr_duel.replay.client import Connection, address_of
from ltr_duel.serve import ServiceSettings, run_service
from ltr_duel.serve.protocol import _network_of
from ltr_duel.serve.run import _config, _listening
from tests.serve.asgi import LISTS, Service
from tests.serve.attacks import malformed, random_attacks

ASKED = json.dumps({"query": "q", "rankings": LISTS}).encode()
LIMITS = {"port": 0, "header_seconds": 0.3, "body_seconds": 0.3, "idle_seconds": 1.0, "connections": 20, "log": "none"}


def serving(folder, story, **limits):
    """Run a scenario with a listening service, given its port."""
    service = Service(folder, limits={**LIMITS, **limits})

    async def whole():
        with _listening(service.limits) as listener:
            server = uvicorn.Server(_config(service.app, service.limits))
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
    lines = ["POST /decide HTTP/1.1", "host: 127.0.0.1", "content-type: application/json", f"content-length: {length}"]
    return "\r\n".join([*lines, f"{more}\r\n"]).encode()


@pytest.mark.parametrize(
    ("parts", "pause", "status"),
    [
        ([b"hello\r\n\r\n"], 0, 400),
        ([b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"], 0, 400),  # TLS
        ([b"GET / HTTP/9.9\r\n\r\n"], 0, 400),
        ([b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n"], 0, 400),
        ([b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n"], 0, 431),
        ([b"GET / HTTP/1.1\r\nx: " + b"a" * 20_000], 0, 431),
        ([b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 9000 + b"\r\n"], 0, 431),
        ([b"GET / HT"], 0, 408),
        ([b"GET / HTTP/1.1\r\n", *[b"x: y\r\n"] * 20], 0.05, 408),
        ([head(100), *[b" "] * 20], 0.05, 408),
        ([head(1_000_000)], 0, 413),
        ([head(3, "connection: close\r\n") + b"{}}"], 0, 400),
        ([b"GET /state HTTP/1.1\r\nhost: example.org\r\nconnection: close\r\n\r\n"], 0, 403),
    ],
)
def test_what_is_no_good_request_is_refused_and_the_connection_ends(tmp_path, parts, pause, status):
    async def story(service, port):
        assert status_of(await send(port, *parts, pause=pause)) == status
        assert service.experiment.pages == 0

    serving(tmp_path, story)


@pytest.mark.parametrize(
    ("first", "part"),
    [
        (head(10_000_000), b" " * 1000),
        (head(0).replace(b"content-length: 0", b"transfer-encoding: chunked") + b"989680\r\n", b" " * 300_000),
        (head(1000).replace(b"application/json", b"text/html"), b" "),
    ],
)
def test_a_refusal_is_not_lost_as_the_connection_takes_bytes_for_a_while(tmp_path, first, part):
    """A connection that is closed while bytes arrive is reset, and the answer may be lost."""

    async def story(service, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(first + part)
        answer = await asyncio.wait_for(reader.readuntil(b"}"), 10)  # while the body is not whole
        assert status_of(answer) in (413, 415)
        for _ in range(5):
            await asyncio.sleep(0.02)
            writer.write(b" ")
            await writer.drain()
        assert await asyncio.wait_for(reader.read(), 10) == b""  # the connection is closed after a time
        writer.close()

    serving(tmp_path, story)


def test_a_connection_that_is_kept_answers_one_request_after_the_other_and_ends_when_it_is_idle(tmp_path):
    async def story(service, port):
        whole = head(len(ASKED)) + ASKED
        answer = await send(port, whole * 3)  # at once
        assert len(re.findall(rb"HTTP/1.1 200 OK", answer)) == 3
        assert service.experiment.pages == 3

    serving(tmp_path, story)


GET = "GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n%s\r\n"


@pytest.mark.parametrize(
    "asked",
    [
        (GET % "content-length: 1000\r\n").encode(),
        (GET % "transfer-encoding: chunked\r\n").encode(),
        head(1000).replace(b"/decide", b"/nowhere"),  # refused before its body is read
    ],
)
def test_a_byte_of_the_body_after_the_answer_does_not_hold_a_connection(tmp_path, asked):
    async def story(service, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(asked)
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(3):
            writer.write(b"1")
            await asyncio.sleep(0.05)
        await asyncio.wait_for(_all_of(reader), 5)
        writer.close()

    serving(tmp_path, story)


@pytest.mark.parametrize("more", [[b"\r\n"] * 30, [b"x", *[b"\r\n"] * 30], [b"x"]])
def test_bytes_between_requests_do_not_hold_a_connection(tmp_path, more):
    async def story(service, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write((GET % "content-length: 1\r\n").encode())
        await reader.readuntil(b"\r\n\r\n")
        ends = asyncio.create_task(asyncio.wait_for(_all_of(reader), 5))
        for part in more:
            if not ends.done():
                writer.write(part)
                await asyncio.sleep(0.1)
        await ends
        writer.close()

    serving(tmp_path, story)


def test_answered_requests_without_their_bodies_leave_room_for_others(tmp_path):
    async def story(service, port):
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        for reader, writer in held:
            writer.write((GET % "content-length: 1000\r\n").encode())
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"1")
        await asyncio.sleep(2.0)  # the limits are 0.3 and 1 second
        connection = Connection(address_of(f"http://127.0.0.1:{port}"))
        assert (await connection.post("/decide", ASKED)).status == 200
        connection.close()
        for _, writer in held:
            writer.close()

    serving(tmp_path, story)


def test_a_connection_on_which_nothing_was_asked_ends_without_an_answer(tmp_path):
    """A proxy that connects in advance would read a message as the answer to its next request."""

    async def story(service, port):
        assert await send(port) == b""

    serving(tmp_path, story)


def test_a_body_is_no_head_of_the_next_request(tmp_path):
    """Two requests arrive at once, the second in pieces: its head is short, and both are answered."""
    lists = {name: [f"{one}{'x' * 900}" for one in ids] for name, ids in LISTS.items()}
    lists["bm25"] = [f"{k}{'x' * 900}" for k in range(60)]
    body = json.dumps({"query": "q", "rankings": lists}).encode()
    assert len(body) > 3 * 16_384

    async def story(service, port):
        second = head(len(ASKED), "connection: close\r\n") + ASKED
        answer = await send(port, head(len(body)) + body + second[:20], second[20:60], second[60:], pause=0.05)
        assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"200", b"200"]

    serving(tmp_path, story)


def test_a_refusal_comes_after_the_answers_to_earlier_requests(tmp_path, monkeypatch):
    async def story(service, port):
        answer = service.experiment.answer

        def slowly(calls):
            time.sleep(0.2)
            return answer(calls)

        monkeypatch.setattr(service.experiment, "answer", slowly)
        found = await send(port, head(len(ASKED)) + ASKED, b"GET / HTTP/1.1\r\nx: " + b"y" * 20_000, pause=0.05)
        assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200", b"431"]

    serving(tmp_path, story)


def test_requests_sent_ahead_of_answers_are_limited_and_what_follows_is_not_parsed(tmp_path):
    """Each request takes some kilobytes, and one read may contain thousands of requests."""

    async def story(service, port):
        found = await send(port, (GET % "").encode() * 5000)
        statuses = re.findall(rb"HTTP/1.1 (\d+)", found)
        assert statuses == [b"200"] * 101 + [b"503"]  # one request is answered while 100 wait
        assert b"at most 100 requests may be sent before" in found
        assert b"200 OK" in await send(port, (GET % "connection: close\r\n").encode())

    serving(tmp_path, story)


@pytest.mark.parametrize("trailer", [b"a: " + b"x" * 17_000, b"a: b\r\n" * 10, b"authorization: Bearer x\r\n\r\n"])
def test_fields_after_a_body_are_refused(tmp_path, trailer):
    """The parser stores an unfinished field, and joins its parts repeatedly."""

    async def story(service, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = (
            "POST /decide HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked"
        )
        writer.write(head.encode() + b"\r\n\r\n2\r\n{}\r\n0\r\n")
        await asyncio.sleep(0.1)
        writer.write(trailer)
        found = await asyncio.wait_for(reader.read(), 3)
        assert found.startswith(b"HTTP/1.1 400") and b"trailer fields after the body are not accepted" in found
        writer.close()

    serving(tmp_path, story)


def test_a_connection_is_not_read_while_its_requests_wait(tmp_path, monkeypatch):
    """More requests than the limit are answered in several reads, because each read waits for the previous answers."""
    body = json.dumps({"query": "q" * 1000, "rankings": LISTS}).encode() + b" " * 10_000

    async def story(service, port):
        found = await send(port, (head(len(body)) + body) * 300)
        assert re.findall(rb"HTTP/1.1 (\d+)", found) == [b"200"] * 300

    serving(tmp_path, story)


def test_one_address_has_a_share_of_the_connections(tmp_path):
    async def story(service, port):
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        assert status_of(await send(port)) == 503
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=("127.0.0.2", 0))
        writer.write((GET % "connection: close\r\n").encode())
        assert b"200 OK" in await reader.read()
        for one in (writer, *(writer for _, writer in held)):
            one.close()
        await asyncio.sleep(0.1)
        assert b"200 OK" in await send(port, (GET % "connection: close\r\n").encode())

    serving(tmp_path, story, header_seconds=5.0, connections_per_address=5)


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("a socket", "a socket"),
    ],
)
def test_a_client_of_ipv6_is_its_network(address, network):
    assert _network_of(address) == network


def test_connections_above_the_limit_are_refused(tmp_path):
    async def story(service, port):
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        refused = await send(port)
        assert status_of(refused) == 503 and b"\r\nretry-after: 1\r\n" in refused
        for _, writer in held:
            writer.close()
        await asyncio.sleep(0.1)
        connection = Connection(address_of(f"http://127.0.0.1:{port}"))
        assert (await connection.post("/decide", ASKED)).status == 200
        connection.close()

    serving(tmp_path, story, header_seconds=5.0)


def under_attack(folder, requests):
    """Return the 99th percentile of a valid client's times while hostile clients attack."""

    async def story(service, port):
        address, times = address_of(f"http://127.0.0.1:{port}"), []
        connection = Connection(address)
        page = json.loads((await connection.post("/decide", ASKED)).body)
        bodies = [(one.path, one.body) for one in random_attacks(page["token"], page["page"], requests, seed=3)]
        bodies += [(one.path, one.body) for one in malformed() if isinstance(one.body, bytes)]

        async def attack(part):
            one = Connection(address)
            for path, body in part:
                assert (await one.post(path, body)).status in (400, 403, 413)
            one.close()

        async def slow():
            await send(port, b"GET / HT")

        attackers = [asyncio.create_task(attack(bodies[k::4])) for k in range(4)]
        attackers += [asyncio.create_task(slow()) for _ in range(10)]
        while not all(one.done() for one in attackers):
            began = time.perf_counter()
            assert (await connection.post("/decide", ASKED)).status == 200
            times.append(time.perf_counter() - began)
        await asyncio.gather(*attackers)
        connection.close()
        return sorted(times)[int(0.99 * len(times))]

    return serving(folder, story, connections=100)


def test_other_clients_are_answered_while_bad_ones_ask(tmp_path):
    assert under_attack(tmp_path, 200) < 5.0  # seconds: the service must keep answering, even on a busy machine


@pytest.mark.long
def test_other_clients_are_not_delayed_by_ten_thousand_bad_requests(tmp_path):
    assert under_attack(tmp_path, 10_000) < 0.1


@pytest.mark.parametrize("missing", ["HttpToolsProtocol", "HttpToolsProtocol.on_headers_complete"])
def test_without_the_parts_of_uvicorn_that_are_extended_a_service_keeps_the_limits_of_its_options(
    tmp_path, monkeypatch, missing
):
    monkeypatch.delattr(f"uvicorn.protocols.http.httptools_impl.{missing}")

    async def story(service, port):
        answers = [await send(port, head(len(ASKED), "connection: close\r\n") + ASKED)]
        answers.append(await send(port, b"GET / HTTP/1.1\r\nx: " + b"y" * 100_000))
        many = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        answers.append(await send(port, head(len(ASKED), "connection: close\r\n") + ASKED))
        for _, writer in many:
            writer.close()
        return [int(answer.split()[1]) for answer in answers]

    assert serving(tmp_path, story) == [200, 400, 503]


def test_a_service_says_which_limits_this_version_of_uvicorn_does_not_keep(tmp_path, monkeypatch, capfd):
    monkeypatch.delattr("uvicorn.protocols.http.httptools_impl.HttpToolsProtocol")
    monkeypatch.delenv("LTR_DUEL_API_KEY", raising=False)
    table = '[experiment]\nname = "t"\nrankers = ["a", "b"]\npolicy = "rucb"\n[serve]\nkey_file = "keys"\nport = 0\n'
    (tmp_path / "live.toml").write_text(table)

    def ready(url):
        signal.raise_signal(signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        run_service(tmp_path / "live.toml", ready=ready)
    finally:
        signal.signal(signal.SIGTERM, before)
    (line,) = [one for one in map(json.loads, capfd.readouterr().err.splitlines()) if one["event"] == "limits"]
    assert line["message"].startswith("this version of uvicorn does not limit")


def test_an_address_that_is_taken_is_said(tmp_path, monkeypatch):
    monkeypatch.delenv("LTR_DUEL_API_KEY", raising=False)
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
        with pytest.raises(InputError, match="other machines could connect"):
            run_service(config, host="0.0.0.0")
