"""Unpack an archive of any usual kind, recognised by its content."""

from __future__ import annotations

import gzip
import lzma
import shutil
import subprocess
import tarfile
import zipfile
import zlib
from pathlib import Path

from ltr_duel.core import InputError, texts
from ltr_duel.core import files as core_files
from ltr_duel.data.text.chunks import refuse_web_page

# Programs that unpack rar, with their arguments.
_UNRAR = {
    "unrar": "x -idq -o+ {archive} {folder}/",
    "unar": "-quiet -force-overwrite -no-directory -output-directory {folder} {archive}",
    "7zz": "x -y -bd -o{folder} {archive}",
    "7z": "x -y -bd -o{folder} {archive}",
    "bsdtar": "-x -f {archive} -C {folder}",
}
_DAMAGED = (
    zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError, RuntimeError,
)  # fmt: skip


def unpack(archive: Path, folder: Path) -> None:
    """Unpack zip, tar (plain, gz, bz2, xz) or rar; copy the file if it is feature text and not an archive.

    The folder must not exist; it appears only when everything is unpacked. Members cannot leave the folder: zipfile and
    the filter "data" of tarfile see to it. Raises `InputError` if the archive cannot be unpacked.
    """
    with core_files.reading(archive, "an archive") as raw:
        head = raw.read(512)
    refuse_web_page(archive, head)
    with core_files.replacing_folder(folder) as temporary:
        try:
            if head.startswith(b"Rar!"):
                _unpack_rar(archive, temporary)
            elif head.startswith(b"PK"):
                with zipfile.ZipFile(archive) as zipped:
                    zipped.extractall(temporary)
            elif tarfile.is_tarfile(archive):
                with tarfile.open(archive) as tarred:
                    tarred.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
                    tarred.extractall(temporary)  # Python 3.11.3 and older have no filters
            elif _is_text(archive):
                shutil.copyfile(archive, temporary / archive.name)
            else:
                raise InputError(f"{archive}: this is neither zip, tar nor rar, or it is cut short; get it again")
        except _DAMAGED as error:
            raise InputError(f"{archive}: the archive is damaged or cut short ({error}); get it again") from None
        if not any(temporary.iterdir()):
            raise InputError(f"{archive}: the archive is empty")


def _is_text(archive: Path) -> bool:
    """Return whether a file that is no archive begins like feature text."""
    with core_files.reading(archive, "an archive") as raw:
        first = texts.unpacked(archive, raw).peek(1)[:1]
    return bool(first) and first in b"0123456789-#"


def _unpack_rar(archive: Path, folder: Path) -> None:
    program = next(filter(shutil.which, _UNRAR), None)
    if program is None:
        raise InputError(f"{archive}: to unpack rar, one of these programs must be installed: {', '.join(_UNRAR)}")
    words = [word.format(archive=archive.resolve(), folder=folder) for word in _UNRAR[program].split()]
    done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if done.returncode:
        why = (done.stderr or done.stdout).strip()[:200] or done.returncode
        raise InputError(f"{archive}: {program} cannot unpack it ({why})")
