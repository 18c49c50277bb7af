"""Make the comparisons: cut them into pieces, look up stored pieces, count the rest on all workers, and add all counts.

Each counted piece is stored in a separate file, which is written atomically. The file name is a digest of the pairs in
the piece and of the range of comparisons of each pair.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from ltr_duel.core import IntMatrix, IntVector, files, parallel
from ltr_duel.preferences.estimate.blocks import NOTHING, BlockWorker, Piece
from ltr_duel.preferences.estimate.control import taken_off
from ltr_duel.preferences.estimate.integrated import open_evaluator
from ltr_duel.preferences.estimate.settings import Settings
from ltr_duel.preferences.estimate.slates import LISTS, SlateWorker
from ltr_duel.preferences.tally import Tally

_COMPARISONS_IN_A_PIECE = 400_000  # counted in < 1 s, so progress is frequent, Ctrl-C is fast, and a kill loses little


class PieceStore:
    """A folder with counted pieces of one estimate; all stored pieces are complete, even after a kill.

    The path of a piece depends on its comparisons and on ``key``, the digest of the settings. Raises `InputError` if
    the folder cannot be written, before any work is done.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self._folder = folder / key[:16]
        files.require_folder_place(self._folder, folder)

    def get(self, piece: Piece, comparisons: int) -> IntMatrix | None:
        """Return the counts of a piece with this many comparisons, or None if they are not stored or not readable."""
        try:
            rows: IntMatrix = np.load(self._path(piece), allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        is_whole = rows.shape == (len(piece.first), 4) and rows.dtype == np.int64
        return rows if is_whole and rows[:, 0].sum() == comparisons else None

    def put(self, piece: Piece, rows: IntMatrix) -> None:
        """Store the counts of a piece."""
        with files.replacing(self._path(piece)) as temporary:
            np.save(temporary, rows, allow_pickle=False)

    def _path(self, piece: Piece) -> Path:
        digest = hashlib.sha256()
        for column in piece:
            digest.update(np.ascontiguousarray(column, "<i8").tobytes())
        return self._folder / f"{digest.hexdigest()[:32]}.npy"


class PairSampler:
    """Counts comparisons for one estimate, on ``jobs`` threads, with or without a store of counted pieces."""

    def __init__(self, settings: Settings, jobs: int, store: PieceStore | None) -> None:
        self.settings = settings
        self._jobs = jobs
        self._store = store
        self._local = threading.local()
        self._taken = NOTHING

    def add(self, tally: Tally, first: IntVector, second: IntVector, upto: IntVector) -> None:
        """Compare each pair ``first[n] < second[n]`` until ``tally`` contains ``upto[n]`` comparisons of it."""
        if self.settings.reduced and self._taken is NOTHING:
            self._taken = taken_off(self.settings)
        begin = tally.lists[first, second]
        more = upto > begin
        self._add(tally, list(_pieces(first[more], second[more], begin[more], upto[more])))

    def _add(self, tally: Tally, pieces: list[Piece]) -> None:
        answers = parallel.run_tasks(
            self._count,
            pieces,
            total=sum(len(piece.first) for piece in pieces),
            weight=lambda piece: len(piece.first),
            jobs=self._jobs,
            label="preferences",
            unit="pair",
        )
        for piece, rows in zip(pieces, answers, strict=True):
            tally.add(piece.first, piece.second, rows)

    def _count(self, piece: Piece) -> IntMatrix:
        stored = self._store.get(piece, self._comparisons(piece)) if self._store else None
        if stored is not None:
            return stored
        if not hasattr(self._local, "worker"):
            self._local.worker = self._worker()
        rows: IntMatrix = self._local.worker.count(piece)
        if self._store:
            self._store.put(piece, rows)
        return rows

    def _comparisons(self, piece: Piece) -> int:
        return int((piece.end - piece.begin).sum())

    def _worker(self) -> BlockWorker | SlateWorker:
        return BlockWorker(self.settings, open_evaluator(self.settings), self._taken)


class SlateSampler(PairSampler):
    """Counts comparisons of sets of rankers; a list compares all pairs of its set."""

    _lists = 0  # number of lists drawn so far

    def add(self, tally: Tally, first: IntVector, second: IntVector, upto: IntVector) -> None:
        """Draw lists until each pair has ``max(upto)`` comparisons, on average if a set is not of all rankers."""
        size, rankers = self.settings.size, len(self.settings.rankings)
        begin, end = self._lists, -(-int(upto.max()) * rankers * (rankers - 1) // (size * (size - 1)))
        step = -(-_COMPARISONS_IN_A_PIECE // (size * (size - 1) // 2 * LISTS)) * LISTS
        cuts = [begin, *range((begin // step + 1) * step, end, step), end]
        pairs = np.triu_indices(rankers, 1)
        self._add(tally, [Piece(*pairs, np.array([a]), np.array([b])) for a, b in pairwise(cuts)])
        self._lists = end

    def _comparisons(self, piece: Piece) -> int:
        return int(piece.end[0] - piece.begin[0]) * self.settings.size * (self.settings.size - 1) // 2

    def _worker(self) -> SlateWorker:
        return SlateWorker(self.settings)


def _pieces(first: IntVector, second: IntVector, begin: IntVector, end: IntVector) -> Iterator[Piece]:
    """Cut the comparisons into pieces of about equal size; those of one pair are cut only if they exceed one piece."""
    sizes = end - begin
    before = np.concatenate([[0], np.cumsum(sizes)])
    start = 0
    while start < len(first):
        if sizes[start] > _COMPARISONS_IN_A_PIECE:
            cuts = np.arange(begin[start], end[start], _COMPARISONS_IN_A_PIECE)
            for cut in cuts:
                stop = min(cut + _COMPARISONS_IN_A_PIECE, end[start])
                yield Piece(first[start : start + 1], second[start : start + 1], np.array([cut]), np.array([stop]))
            start += 1
            continue
        stop = int(np.searchsorted(before, before[start] + _COMPARISONS_IN_A_PIECE, side="right")) - 1
        yield Piece(first[start:stop], second[start:stop], begin[start:stop], end[start:stop])
        start = stop
