"""Unpack an archive that came from elsewhere: nothing may land outside the folder, nothing may fill the disk."""

from __future__ import annotations

import gzip
import lzma
import shutil
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from ltr_duel.core import InputError, progress
from ltr_duel.core import files as core_files
from ltr_duel.data.text.chunks import BYTE_ORDER_MARK, gigabytes, refuse_web_page

MOST_BYTES = 100 * 10**9
_PIECE = 2**20

# Programs that unpack rar, and how: {archive} and {folder} are filled in.
_UNRAR = {
    "unrar": "x -idq -o+ {archive} {folder}/",
    "unar": "-quiet -force-overwrite -no-directory -output-directory {folder} {archive}",
    "7zz": "x -y -bd -o{folder} {archive}",
    "7z": "x -y -bd -o{folder} {archive}",
    "bsdtar": "-x -f {archive} -C {folder}",
}


_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError, RuntimeError)


def unpack(archive: Path, folder: Path, *, limit: int = MOST_BYTES) -> Path:
    """Unpack zip, tar (plain, gz, bz2, xz) or rar; any other file that is text is taken as it is.

    The archive is recognised by its content. The folder must not exist, and appears when everything is unpacked.
    ``shutil.unpack_archive`` is not enough here: it goes by the name, strips what leads out of the folder instead of
    refusing the archive, and has no limit on what comes out.

    Raises
    ------
    InputError
        If the archive is damaged or not one, would write outside the folder, holds links or devices, is larger
        than the limit in bytes, or needs a program that is not installed.
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
        for name, source in members:
            path = PurePosixPath(name.replace("\\", "/"))
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
        raise InputError(f"{archive}: there is nothing in it")


def _opened(archive: Path, member: str, target: Path) -> IO[bytes]:
    """Open the file for a member of the archive, which must be new."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return target.open("xb")
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        what = f"member '{member}' would be written over another one"
        raise InputError(f"{archive}: {what}; this archive cannot be trusted") from None
    except OSError as error:
        raise InputError(f"{archive}: member '{member[:60]}' cannot be written: {error.strerror}") from None


def _is_text(archive: Path, head: bytes) -> bool:
    """Whether a file with this beginning is feature text, plain or gzipped."""
    if head.startswith(b"\x1f\x8b"):
        with gzip.open(archive) as opened:
            head = opened.read(512)
    head = head.removeprefix(BYTE_ORDER_MARK)
    return head[:1].isdigit() or head.startswith((b"-", b"#"))


def _refuse_excess(archive: Path, size: int, limit: int) -> None:
    if size > limit:
        raise InputError(
            f"{archive}: unpacks to more than {gigabytes(limit)}; --limit GB allows more, if that is right"
        )


def _unpack_rar(archive: Path, folder: Path, limit: int) -> None:
    program = next(filter(shutil.which, _UNRAR), None)
    if program is None:
        raise InputError(f"{archive}: to unpack rar, one of these programs must be installed: {', '.join(_UNRAR)}")
    words = [word.format(archive=archive.resolve(), folder=folder) for word in _UNRAR[program].split()]
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InputError(f"{archive}: {program} cannot unpack it ({done.stderr.strip()[:200] or done.returncode})")
    files = [f for f in folder.rglob("*") if not f.is_dir() or f.is_symlink()]
    if any(f.is_symlink() for f in files):
        raise InputError(f"{archive}: there are links in it; only plain files are unpacked")
    _refuse_excess(archive, sum(f.stat().st_size for f in files), limit)
    if not files:
        raise InputError(f"{archive}: there is nothing in it")
