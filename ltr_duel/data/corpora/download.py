"""Download one archive: resume interrupted transfers, repeat failed attempts, try mirrors, check the digest.

pooch stores the file and checks its digest. Unlike pooch's own downloaders, the downloader of this module resumes
transfers of archives with a published digest, which decides whether the parts belong together.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pooch
import requests

from ltr_duel.core import InputError, progress
from ltr_duel.data.corpora.corpus import Archive

ATTEMPTS = 5
_TIMEOUT = 30.0  # seconds without a received byte
_PIECE = 2**20


class _UselessAddressError(Exception):
    """An address at which the file is not available."""


def download(archive: Archive, folder: Path, *, pause: float = 1.0) -> Path:
    """Download an archive, unless it has been downloaded already, and check its digest if one was published.

    Its addresses are tried in order, each several times. ``pause`` is the number of seconds before the second attempt;
    it doubles before each further attempt. If a transfer is interrupted, its received part (``<name>.part``) stays, and
    the next attempt, also of a later call, resumes it if a digest was published.
    """
    folder.mkdir(parents=True, exist_ok=True)
    failures = []
    pooch.get_logger().setLevel(logging.WARNING)
    part = folder / f"{archive.name}.part"

    def fill(url: str, output_file: str, _: object) -> None:
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(pause * 2 ** (attempt - 1))
            try:
                if _transfer(url, part, archive):
                    part.replace(output_file)
                    return
                trouble = "the transfer was interrupted"
            except (requests.ConnectionError, requests.Timeout) as error:
                trouble = f"no connection ({type(error).__name__})"
        kept = "; the received part is kept, run this again to resume" if _received(part, archive) else ""
        raise _UselessAddressError(f"{trouble}, {ATTEMPTS} times{kept}")

    for url in archive.urls:
        try:
            return Path(pooch.retrieve(url, archive.digest, fname=archive.name, path=folder, downloader=fill))
        except (_UselessAddressError, requests.RequestException) as error:
            failures.append(f"{url}: {error}")
        except ValueError:  # pooch raises it for a wrong digest; the clause above catches requests' own ValueErrors
            failures.append(f"{url}: the checksum differs from the published {archive.digest}")
    raise InputError(f"{archive.name} could not be downloaded; " + "; ".join(failures))


def _received(part: Path, archive: Archive) -> int:
    """Return the number of received bytes that another transfer may continue."""
    return part.stat().st_size if archive.digest and part.is_file() else 0


def _transfer(url: str, part: Path, archive: Archive) -> bool:
    """Receive the rest of the file; return whether it is complete."""
    have = _received(part, archive)
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as answer:
        if answer.status_code == 416:  # no such range: the received part is not the start of this file
            part.unlink(missing_ok=True)
            return False
        if answer.status_code >= 500:
            return False
        if answer.status_code not in (200, 206):
            raise _UselessAddressError(f"the server answers {answer.status_code} {answer.reason}")
        if "text/html" in answer.headers.get("Content-Type", "").lower():
            raise _UselessAddressError(
                "the server sends a web page instead of the archive; the link has moved or requires a login"
            )
        have = have if answer.status_code == 206 else 0  # 200: the server ignores ranges and sends the whole file
        length = answer.headers.get("Content-Length")
        total = None if length is None else have + int(length)
        if archive.size and total and total != archive.size:
            raise _UselessAddressError(f"the file there has {total:,} bytes, not the published {archive.size:,}")
        with (
            part.open("ab" if have else "wb") as out,
            progress.progress_bar(total=total, initial=have, unit="B", unit_scale=True, desc=archive.name) as bar,
        ):
            for piece in _pieces(answer):
                have += out.write(piece)
                bar.update(len(piece))
    return total is None or have == total


def _pieces(answer: requests.Response) -> Iterator[bytes]:
    """Yield received pieces, up to the end or an interruption; the caller must check the total length."""
    with suppress(AttributeError):  # some versions of urllib3 would drop the last piece before an interruption
        answer.raw.enforce_content_length = False
    with suppress(requests.exceptions.ChunkedEncodingError, requests.ConnectionError):
        yield from answer.iter_content(_PIECE)
