"""Download one archive: resume interrupted transfers, repeat failed attempts, try mirrors, check the digest.

pooch stores the file and checks its digest. Unlike pooch's own downloaders, the downloader of this module resumes
transfers.
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
MOST_BYTES = 50 * 10**9  # limit for an archive of unpublished size
_TIMEOUT = 30.0  # seconds without a received byte
_PIECE = 2**20


class _UselessAddressError(Exception):
    """An address at which the file is not available."""


def download(archive: Archive, folder: Path, *, pause: float = 1.0) -> Path:
    """Download an archive, unless it has been downloaded already, and check its digest if one was published.

    Its addresses are tried in order, each several times. ``pause`` is the number of seconds before the second attempt;
    it doubles before each further attempt. If a transfer is interrupted, its received part (``<name>.part``) stays, and
    the next call resumes the transfer.
    """
    folder.mkdir(parents=True, exist_ok=True)
    failures = []
    pooch.get_logger().setLevel(logging.WARNING)
    for url in archive.urls:
        try:
            fetched = pooch.retrieve(
                url,
                archive.digest,
                fname=archive.name,
                path=folder,
                downloader=_Downloader(folder / f"{archive.name}.part", archive, pause),
            )
            return Path(fetched)
        except (_UselessAddressError, requests.RequestException) as error:
            failures.append(f"{url}: {error}")
        except ValueError:  # pooch raises it for a wrong digest; the clause above catches requests' own ValueErrors
            failures.append(f"{url}: the checksum differs from the published {archive.digest}")
    raise InputError(f"{archive.name} could not be downloaded; " + "; ".join(failures))


class _Downloader:
    """Function that pooch calls to fill a file; it resumes the interrupted transfer of an earlier call."""

    def __init__(self, part: Path, archive: Archive, pause: float) -> None:
        self._part = part
        self._archive = archive
        self._pause = pause

    def __call__(self, url: str, output_file: str, _: object) -> None:
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(self._pause * 2 ** (attempt - 1))
            try:
                if self._transfer(url):
                    self._part.replace(output_file)
                    self._tag_file().unlink(missing_ok=True)
                    return
                trouble = "the transfer was interrupted"
            except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as error:
                trouble = f"no connection ({type(error).__name__})"
        kept = "; the received part is kept, run this again to resume" if self._received() else ""
        raise _UselessAddressError(f"{trouble}, {ATTEMPTS} times{kept}")

    def _transfer(self, url: str) -> bool:
        """Receive the rest of the file; return whether it is complete."""
        have = self._received()
        headers = {"Accept-Encoding": "identity"}
        tag = self._tag_file().read_text().strip() if self._tag_file().is_file() else ""
        if have and tag.startswith(url + "\n"):
            headers["Range"] = f"bytes={have}-"
            if name := tag.removeprefix(url + "\n").strip():
                headers["If-Range"] = name
        else:
            have = 0
        with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as answer:
            if answer.status_code == 416:  # no such range: the received part is not the start of this file
                self._part.unlink(missing_ok=True)
                return False
            if answer.status_code >= 500:
                return False
            if answer.status_code not in (200, 206):
                raise _UselessAddressError(f"the server answers {answer.status_code} {answer.reason}")
            if answer.status_code == 200:
                have = 0  # the server ignores ranges and sends the whole file
            elif not answer.headers.get("Content-Range", "").startswith(f"bytes {have}-"):
                self._part.unlink(missing_ok=True)
                return False
            self._refuse_other_things(answer, have)
            strong = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
            self._tag_file().write_text(f"{url}\n{'' if strong.startswith('W/') else strong}")
            return self._receive(answer, have)

    def _receive(self, answer: requests.Response, have: int) -> bool:
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length is not None else None
        limit = self._archive.size or MOST_BYTES
        with (
            self._part.open("ab" if have else "wb") as out,
            progress.progress_bar(total=total, initial=have, unit="B", unit_scale=True, desc=self._archive.name) as bar,
        ):
            for piece in _pieces(answer):
                have += len(piece)
                if have > limit:
                    raise _UselessAddressError(f"the server sent over {limit:,} bytes; it is not {self._archive.name}")
                out.write(piece)
                bar.update(len(piece))
        return total is None or have == total

    def _refuse_other_things(self, answer: requests.Response, have: int) -> None:
        if "text/html" in answer.headers.get("Content-Type", "").lower():
            raise _UselessAddressError(
                "the server sends a web page instead of the archive; the link has moved or requires a login"
            )
        length = answer.headers.get("Content-Length")
        total = have + int(length) if length else None
        if self._archive.size and total and total != self._archive.size:
            raise _UselessAddressError(f"the file there has {total:,} bytes, not the published {self._archive.size:,}")

    def _received(self) -> int:
        """Return the number of received bytes."""
        return self._part.stat().st_size if self._part.is_file() else 0

    def _tag_file(self) -> Path:
        return self._part.with_name(self._part.name + ".from")


def _pieces(answer: requests.Response) -> Iterator[bytes]:
    """Yield received pieces, up to the end or an interruption; the caller must check the total length."""
    with suppress(AttributeError):  # some versions of urllib3 would drop the last piece before an interruption
        answer.raw.enforce_content_length = False
    try:
        yield from answer.iter_content(_PIECE)
    except (requests.exceptions.ChunkedEncodingError, requests.ConnectionError):
        return
