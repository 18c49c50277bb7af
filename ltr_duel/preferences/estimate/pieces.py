"""Partial results on disk: one file for each piece of work, whole or not there, found again by what it answers."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from ltr_duel.core import InputError, IntMatrix, replacing
from ltr_duel.preferences.estimate.blocks import Piece


class Store:
    """A folder of counted pieces of one estimate.

    A piece is named by its comparisons and by the digest of the settings: whoever asks the same question finds the
    answer, whatever was asked before. A kill at any moment leaves whole pieces.

    Parameters
    ----------
    folder : Path
        Need not exist.
    key : str
        Digest of the settings.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self._root = folder
        self._folder = folder / key[:16]

    def get(self, piece: Piece) -> IntMatrix | None:
        """Return the counts of a piece, or None if they are not known, or not readable."""
        try:
            rows: IntMatrix = np.load(self._path(piece), allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        whole = rows.shape == (len(piece.first), 4) and rows.dtype == np.int64
        return rows if whole and (rows[:, 0] == piece.end - piece.begin).all() else None

    def put(self, piece: Piece, rows: IntMatrix) -> None:
        """Keep the counts of a piece."""
        with replacing(self._path(piece)) as temporary:
            np.save(temporary, rows, allow_pickle=False)

    def check(self) -> None:
        """Refuse a place that cannot be written to, before work is spent.

        Raises
        ------
        InputError
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self._root}: cannot be written: {error.strerror}") from None

    def _path(self, piece: Piece) -> Path:
        digest = hashlib.sha256()
        for column in piece:
            digest.update(np.ascontiguousarray(column, "<i8").tobytes())
        return self._folder / f"{digest.hexdigest()[:32]}.npy"
