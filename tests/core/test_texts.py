"""Texts of other programs: compression, encodings, byte order marks."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest

from ltr_duel.core import InputError, files, texts

WORDS = "1 Q0 Müller 1\n2 Q0 Žižek 2\n"


def read(path: Path, data: bytes) -> bytes:
    path.write_bytes(data)
    with files.reading(path, "a text") as raw:
        return texts.unpacked(path, raw).read()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_every_encoding_and_compression_gives_the_same_bytes(tmp_path, encoding, pack):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    assert read(tmp_path / "a", pack((mark + WORDS).encode(encoding))) == WORDS.encode()


def test_a_word_is_latin_1_where_it_is_not_utf_8():
    assert [texts.decoded(word) for word in (b"M\xc3\xbcller", b"M\xfcller", b"plain")] == ["Müller", "Müller", "plain"]


@pytest.mark.parametrize(
    "data, command",
    [
        (b"\x28\xb5\x2f\xfd abc", "zstd -d"),
        (b"PK\x03\x04", "unzip"),
        (b"a.txt".ljust(257, b"\0") + b"ustar", "tar -xf"),
        (gzip.compress(b"a.txt".ljust(257, b"\0") + b"ustar", mtime=0), "tar -xf"),
    ],
)
def test_what_another_program_unpacks_is_named_with_the_command(tmp_path, data, command):
    with pytest.raises(
        InputError, match=f"my file: this is an? .*, not text; unpack it first \\({command} 'my file'\\)"
    ):
        read(tmp_path / "my file", data)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_file_that_is_cut_is_refused(tmp_path, pack):
    whole = pack(WORDS.encode() * 99)
    for data in (whole[:-10], whole[: len(whole) // 2] + b"\1" * 30):
        with pytest.raises(InputError, match="a: the compressed stream is damaged or cut short"):
            read(tmp_path / "a", data)
