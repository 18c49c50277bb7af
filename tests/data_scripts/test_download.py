"""Downloading, against a server with realistic faults."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from urllib3 import HTTPResponse

from ltr_duel.core.errors import InputError
from ltr_duel.data.corpora.corpus import Archive
from ltr_duel.data.corpora.download import download

if TYPE_CHECKING:
    from tests.data_scripts.conftest import Server

DATA = np.random.default_rng(0).bytes(300_000)
DIGEST = "sha256:" + hashlib.sha256(DATA).hexdigest()


def get(server: Server, folder: Path, *moods: str, digest: str | None = DIGEST, size: int | None = None) -> Path:
    server.files["a.zip"] = DATA
    urls = tuple(server.url(mood, "a.zip") for mood in moods)
    return download(Archive("a.zip", urls, digest, size), folder, pause=0.001)


def test_a_good_server_gives_the_file(server: Server, tmp_path: Path) -> None:
    assert get(server, tmp_path, "good").read_bytes() == DATA
    assert [p.name for p in tmp_path.iterdir() if p.name != "home"] == ["a.zip"]


def test_what_is_there_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    get(server, tmp_path, "good")
    get(server, tmp_path, "good")
    assert len(server.requests) == 1


def test_a_cut_transfer_is_resumed_where_it_broke(server: Server, tmp_path: Path) -> None:
    server.files["a.zip"] = DATA[:30_000]
    digest = "sha256:" + hashlib.sha256(DATA[:30_000]).hexdigest()
    archive = Archive("a.zip", (server.url("cut", "a.zip"),), digest)
    with pytest.raises(InputError, match="the transfer was interrupted, 5 times; the received part is kept"):
        download(archive, tmp_path, pause=0.001)
    first_run = len(server.requests)
    assert download(archive, tmp_path, pause=0.001).read_bytes() == DATA[:30_000]
    ranges = [wanted for _, wanted in server.requests]
    assert ranges[0] is None and ranges[1] == "bytes=15000-" and ranges[first_run] != "bytes=0-"


@pytest.mark.parametrize("refuses", [False, True])
def test_a_cut_transfer_is_resumed_at_a_whole_piece_where_urllib3_drops_the_cut_one(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refuses: bool
) -> None:
    def setter(self: object, value: bool) -> None:
        if refuses and not value:
            raise AttributeError

    monkeypatch.setattr(HTTPResponse, "enforce_content_length", property(lambda self: True, setter), raising=False)
    monkeypatch.setattr("ltr_duel.data.corpora.download._PIECE", 99)
    server.files["a.zip"] = DATA[:3500]
    archive = Archive("a.zip", (server.url("cut", "a.zip"),), "sha256:" + hashlib.sha256(DATA[:3500]).hexdigest())
    assert download(archive, tmp_path, pause=0.001).read_bytes() == DATA[:3500]
    assert [wanted for _, wanted in server.requests][:2] == [None, f"bytes={1750 // 99 * 99}-"]


def test_a_server_without_ranges_is_read_from_the_start(server: Server, tmp_path: Path) -> None:
    assert get(server, tmp_path, "stubborn").read_bytes() == DATA
    assert server.count["/stubborn/a.zip"] == 3


def test_a_busy_server_is_asked_again(server: Server, tmp_path: Path) -> None:
    assert get(server, tmp_path, "busy").read_bytes() == DATA


@pytest.mark.parametrize("size", [1000, 400_000])
def test_a_part_of_another_file_costs_an_attempt_and_no_wrong_archive(
    server: Server, tmp_path: Path, size: int
) -> None:
    (tmp_path / "a.zip.part").write_bytes(b"x" * size)
    assert get(server, tmp_path, "good", "good").read_bytes() == DATA


def test_without_a_published_digest_every_transfer_starts_at_the_beginning(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.zip.part").write_bytes(b"x" * 1000)
    assert get(server, tmp_path, "good", digest=None).read_bytes() == DATA


@pytest.mark.parametrize(
    "mood, what",
    [
        ("html", "the server sends a web page instead of the archive"),
        ("gone", "the server answers 404"),
        ("short", "the checksum differs from the published sha256:"),
    ],
)
def test_what_a_bad_address_gives_is_said(server: Server, tmp_path: Path, mood: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        get(server, tmp_path, mood)
    assert not (tmp_path / "a.zip").exists()


@pytest.mark.parametrize("mood", ["html", "gone", "short"])
def test_a_mirror_helps(server: Server, tmp_path: Path, mood: str) -> None:
    assert get(server, tmp_path, mood, "good").read_bytes() == DATA


def test_a_wrong_checksum_is_refused_and_nothing_kept(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the checksum differs"):
        get(server, tmp_path, "good", digest="sha256:" + "0" * 64)
    assert [p.name for p in tmp_path.iterdir() if p.name != "home"] == []


def test_a_file_of_another_size_than_published_is_not_even_fetched(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the file there has 300,000 bytes, not the published 1,000"):
        get(server, tmp_path, "good", size=1000)


def test_no_server_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no connection"):
        download(Archive("a.zip", ("http://127.0.0.1:9/a.zip",)), tmp_path, pause=0.001)
