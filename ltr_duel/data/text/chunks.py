"""Read a feature file in chunks of whole lines, so that the file need not fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, files, texts

CHUNK_BYTES = 2 * 2**20  # bytes of text per chunk, chosen so that text and numbers stay in a core's cache
LONGEST_LINE = 64 * 2**20
_SAMPLES, _SAMPLE_BYTES = 8, 2**17  # number and size of the samples from which the number of lines is estimated


def read_chunks(path: Path, size: Callable[[], int] = lambda: CHUNK_BYTES) -> Iterator[NDArray[np.uint8]]:
    """Yield the lines of a file in chunks of about ``size()`` bytes. Each chunk ends with the end of a line."""
    with files.reading(path, "a feature file") as raw:
        source = texts.unpacked(path, raw)
        refuse_web_page(path, head := source.peek(512)[:512])
        if not head:
            raise InputError(f"{path}: the file is empty; a feature file has lines such as '0 qid:1 1:0.5 2:3'")
        rest = np.empty(0, np.uint8)
        while True:
            text = np.empty(len(rest) + size() + 1, np.uint8)
            text[: len(rest)] = rest
            end = len(rest)
            while end < len(text) - 1 and (count := source.readinto(text.data[end:-1])):
                end += count
            if end == len(rest):
                break
            cut = _last_line_end(text, end)
            if end - cut > LONGEST_LINE:
                raise InputError(f"{path}: a line is longer than {LONGEST_LINE:,} bytes; this is not feature text")
            if cut:
                yield text[:cut]
            rest = text[cut:end]
        if len(rest):
            yield np.append(rest, np.uint8(10))  # the file's last line has no line end


def estimate_lines(paths: Sequence[Path]) -> int:
    """Estimate the number of lines of files from samples."""
    lines = 0.0
    for path in paths:
        size = path.stat().st_size
        with files.reading(path, "a feature file") as raw:
            source = texts.unpacked(path, raw)
            samples = []
            for k in range(_SAMPLES):
                if source is raw:
                    raw.seek(max(size - _SAMPLE_BYTES, 0) * k // (_SAMPLES - 1))
                samples.append(source.read(_SAMPLE_BYTES))
            sampled = sum(map(len, samples)) if source is raw else raw.tell()
            lines += sum(sample.count(b"\n") for sample in samples) * size / max(sampled, 1)
    return int(lines) + 1


def _last_line_end(text: NDArray[np.uint8], end: int) -> int:
    """Return the position after the last line feed before ``end``, or 0."""
    window = 4096
    while True:
        start = max(0, end - window)
        at = text[start:end].tobytes().rfind(b"\n")
        if at >= 0 or start == 0:
            return start + at + 1 if at >= 0 else 0
        window *= 8


def refuse_web_page(path: Path, head: bytes) -> None:
    """Raise `InputError` for an HTML page, which a failed download often leaves behind."""
    if head.removeprefix(texts.BYTE_ORDER_MARK).lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        raise InputError(f"{path}: this is a web page, not data; the download failed, repeat it")
