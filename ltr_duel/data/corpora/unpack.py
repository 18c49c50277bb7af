"""Unpack an untrusted archive: files stay inside the folder, and their size and number are limited."""

from __future__ import annotations

import gzip
import lzma
import shutil
import stat
import subprocess
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from ltr_duel.core import InputError, progress, texts
from ltr_duel.core import files as core_files
from ltr_duel.data.text.chunks import gigabytes
from ltr_duel.data.text.other_formats import refuse_web_page

MOST_BYTES = 100 * 10**9
MOST_MEMBERS = 10_000  # files and folders; limited because many empty files also fill a disk
_MOST_PARTS = 20  # largest number of parts of a path
_PIECE = 2**20
_LOOK = 0.1  # seconds between two checks of the files that another program has unpacked

# Programs that unpack rar, with their arguments.
_UNRAR = {
    "unrar": "x -idq -o+ {archive} {folder}/",
    "unar": "-quiet -force-overwrite -no-directory -output-directory {folder} {archive}",
    "7zz": "x -y -bd -o{folder} {archive}",
    "7z": "x -y -bd -o{folder} {archive}",
    "bsdtar": "-x -f {archive} -C {folder}",
}


_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError, RuntimeError)


def unpack(archive: Path, folder: Path, *, limit: int = MOST_BYTES) -> Path:
    """Unpack zip, tar (plain, gz, bz2, xz) or rar; copy the file if it is feature text and not an archive.

    The archive is recognised by its content. The folder must not exist; it appears only when everything is unpacked.
    ``shutil.unpack_archive`` is not sufficient: it recognises archives by name, changes paths that leave the folder
    instead of rejecting the archive, and does not limit the unpacked size.

    Raises `InputError` if the archive is damaged or of an unknown kind, has a path outside the folder, contains links
    or devices, unpacks to more than ``limit`` bytes or 10,000 members, or needs a program that is not installed.
    """
    if folder.exists():
        raise InputError(f"{folder}: exists already; remove it to unpack again")
    if not archive.is_file():
        raise InputError(f"{archive}: there is no such file")
    with archive.open("rb") as start:
        head = start.read(512)
    refuse_web_page(archive, head)
    with core_files.replacing_folder(folder) as temporary:
        try:
            if head.startswith(b"Rar!"):
                _unpack_rar(archive, temporary, limit)
            elif zipfile.is_zipfile(archive):
                _write(archive, _zip_members(archive), temporary, limit)
            elif tarfile.is_tarfile(archive):
                _write(archive, _tar_members(archive), temporary, limit)
            elif _is_text(archive, head):
                shutil.copyfile(archive, temporary / archive.name)
            else:
                raise InputError(f"{archive}: this is neither zip, tar nor rar, or it is cut short; get it again")
        except _DAMAGED as error:
            raise InputError(f"{archive}: the archive is damaged or cut short ({error}); get it again") from None
    return folder


def _zip_members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            if (member.external_attr >> 16) & 0o170000 == 0o120000:
                raise InputError(f"{archive}: member '{member.filename}' is a link; only plain files are unpacked")
            if not member.is_dir():
                with opened.open(member) as source:
                    yield member.filename, source


def _tar_members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(archive) as opened:
        for member in opened:
            source = opened.extractfile(member) if member.isfile() else None
            if source is not None:
                yield member.name, source
            elif not member.isdir():
                what = f"member '{member.name}' is a link or device"
                raise InputError(f"{archive}: {what}; only plain files are unpacked")


def _write(archive: Path, members: Iterator[tuple[str, IO[bytes]]], folder: Path, limit: int) -> None:
    written = 0
    with progress.progress_bar(unit="B", unit_scale=True, desc="unpack") as bar:
        for number, (name, source) in enumerate(members, 1):
            _refuse_many(archive, number)
            path = PurePosixPath(name.replace("\\", "/"))
            if len(path.parts) > _MOST_PARTS:
                raise InputError(f"{archive}: member '{name[:60]}' is more than {_MOST_PARTS} folders deep")
            if path.is_absolute() or ".." in path.parts or ":" in name or "\0" in name:
                what = f"member '{name}' would be written outside the folder"
                raise InputError(f"{archive}: {what}; this archive cannot be trusted")
            target = folder / path
            with _opened(archive, name, target) as out:
                while piece := source.read(_PIECE):
                    written += len(piece)
                    _refuse_excess(archive, written, limit)
                    out.write(piece)
                    bar.update(len(piece))
    if written == 0:
        raise InputError(f"{archive}: the archive is empty")


def _opened(archive: Path, member: str, target: Path) -> IO[bytes]:
    """Create the file of a member of the archive; the file must not exist."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return target.open("xb")
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        what = f"member '{member}' would overwrite another member"
        raise InputError(f"{archive}: {what}; this archive cannot be trusted") from None
    except OSError as error:
        raise InputError(f"{archive}: member '{member[:60]}' cannot be written: {error.strerror}") from None


def _is_text(archive: Path, head: bytes) -> bool:
    """Return whether a file with this beginning is feature text, plain or gzipped."""
    if head.startswith(b"\x1f\x8b"):
        with gzip.open(archive) as opened:
            head = opened.read(512)
    head = head.removeprefix(texts.BYTE_ORDER_MARK)
    return head[:1].isdigit() or head.startswith((b"-", b"#"))


def _refuse_excess(archive: Path, size: int, limit: int) -> None:
    if size > limit:
        raise InputError(f"{archive}: unpacks to more than {gigabytes(limit)}; --limit GB allows more, if you trust it")


def _refuse_many(archive: Path, members: int) -> None:
    if members > MOST_MEMBERS:
        raise InputError(f"{archive}: has more than {MOST_MEMBERS:,} members, more than any corpus")


def _unpack_rar(archive: Path, folder: Path, limit: int) -> None:
    program = next(filter(shutil.which, _UNRAR), None)
    if program is None:
        raise InputError(f"{archive}: to unpack rar, one of these programs must be installed: {', '.join(_UNRAR)}")
    words = [word.format(archive=archive.resolve(), folder=folder) for word in _UNRAR[program].split()]
    with tempfile.TemporaryFile("w+") as said:
        with subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stdout=said, stderr=said) as running:
            try:
                while running.poll() is None:
                    _look_at(archive, folder, limit)
                    time.sleep(_LOOK)
            except BaseException:
                running.kill()
                raise
        if running.returncode != 0:
            said.seek(0)
            why = said.read().strip()[:200] or running.returncode
            raise InputError(f"{archive}: {program} cannot unpack it ({why})")
    if not _look_at(archive, folder, limit):
        raise InputError(f"{archive}: the archive is empty")


def _look_at(archive: Path, folder: Path, limit: int) -> int:
    """Check the size and kind of the files unpacked so far by another program; return their number."""
    size = files = 0
    for number, one in enumerate(folder.rglob("*"), 1):
        _refuse_many(archive, number)
        try:
            found = one.lstat()
        except FileNotFoundError:  # the program has renamed the file
            continue
        if stat.S_ISLNK(found.st_mode):
            raise InputError(f"{archive}: the archive contains links; only plain files are unpacked")
        if not stat.S_ISDIR(found.st_mode):
            size, files = size + found.st_size, files + 1
            _refuse_excess(archive, size, limit)
    return files
