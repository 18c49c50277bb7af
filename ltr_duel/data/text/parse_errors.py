"""What is wrong with a line, in one sentence: file, line, column, what was found, what would be legal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError
from ltr_duel.data.text import scan

_NUMBER = "such as 3, 0.25 or 1e-6"
_SHAPE = "'<grade> qid:<query> <id>:<value> <id>:<value> ... # comment'"


def complaint(path: Path, text: NDArray[np.uint8], lines_before: int, state: NDArray[np.int64]) -> InputError:
    """Return the error for the place where the scanner stopped.

    Parameters
    ----------
    path : Path
        The file.
    text : ndarray of uint8
        The chunk.
    lines_before : int
        Lines of the file before this chunk.
    state : ndarray of int64
        The scanner's, see `scan.Block`.
    """
    code, at, feature = int(state[0]), int(state[1]), int(state[2])
    where = place(path, text, lines_before, at)
    byte = int(text[at])
    token = _token(text, at)
    if 0 in text[at : at + len(token) + 1]:
        return InputError(f"{where}: a NUL byte; the file is damaged or not text")
    if code == scan.NO_COMMENT:
        return InputError(f"{where}: the line has no query in its comment, such as '# 3382' at its end")
    if code == scan.BAD_LABEL:
        return InputError(f"{where}: the line starts with '{token}'; a grade {_NUMBER} must stand there")
    if code in (scan.LARGE_LABEL, scan.LARGE_VALUE):
        return InputError(f"{where}: '{token}' is too large for a float32; legal is up to 3.4028234e38")
    if code == scan.NO_QUERY:
        found = f"'{token}' stands where" if token else "nothing stands where"
        return InputError(f"{where}: {found} the query must stand, such as qid:17")
    if code == scan.NUL_BYTE or byte == 0:
        return InputError(f"{where}: a NUL byte; the file is damaged or not text")
    if code == scan.STRAY_RETURN:
        return InputError(f"{where}: a carriage return inside the line; lines end with LF or CR LF")
    if code == scan.BAD_VALUE:
        hint = "; legal is a finite number" if token.lower().lstrip("+-").startswith(("nan", "inf")) else ""
        return InputError(
            f"{where}: feature value '{token}' in '{feature}:{token}' is not a number {_NUMBER}"
            f"{hint or ' (NULL is accepted with --fill)'}"
        )
    if code == scan.NULL_VALUE:
        return InputError(
            f"{where}: feature {feature} is NULL; say what to put there with --fill (min, nan or a number)"
        )
    if code == scan.BAD_ID:
        return InputError(f"{where}: feature id 0 in '{token}'; ids start at 1")
    if code == scan.ID_TOO_LARGE:
        return InputError(f"{where}: feature id in '{token}' is too large; legal are 1..{feature}")
    if code == scan.ID_TWICE:
        return InputError(f"{where}: feature {feature} stands twice on this line; an id may be given once")
    if token.startswith("-") and ":" in token:
        return InputError(f"{where}: negative feature id in '{token}'; ids start at 1")
    return InputError(f"{where}: '{token}' is not '<id>:<value>'; a line is {_SHAPE}")


def place(path: Path, text: NDArray[np.uint8], lines_before: int, at: int) -> str:
    """Return ``path:line:column`` of a position in a chunk; both count from 1."""
    head = text[:at].tobytes()
    line = lines_before + head.count(b"\n") + 1
    column = at - head.rfind(b"\n")
    return f"{path}:{line}:{column}"


def _token(text: NDArray[np.uint8], at: int) -> str:
    """Return what stands at a position up to the next blank, readable and not too long."""
    parts = text[at : at + 60].tobytes().split(None, 1) if int(text[at]) not in b" \t\r\n" else []
    word = parts[0].decode("utf-8", "replace") if parts else ""
    shown = "".join(c if c.isprintable() else "?" for c in word)
    return shown if len(shown) <= 40 else shown[:37] + "..."
