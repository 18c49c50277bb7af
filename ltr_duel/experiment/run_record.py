"""One run as bytes that depend on its key and the result alone, on nothing else.

Whole numbers (t, recommended, of each arm pulls, best and worst, and the outcomes received) are kept as differences
from one checkpoint to the next, in the smallest type that holds them all. Exposure is kept only where it is not half of
the pulls, as that of pairs is. All is compressed. The key is not in these bytes: it is what the record is named by.
Records of earlier versions have no outcomes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ltr_duel.core import InputError, IntMatrix, handed_over
from ltr_duel.simulation import RunKey, RunResult

_HEAD = struct.Struct("<IIQBB")  # checkpoints, arms, decisions, bytes of a number, what follows beside pulls
_EXPOSURE, _OUTCOMES = 1, 2  # bits of what follows
_KINDS: dict[int, type[np.signedinteger[Any]]] = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
_LEVEL = 1
_MOST = 1100  # times that zlib can compress: what claims to be more is not what it says


def encode_run(run: RunResult) -> bytes:
    """Return the bytes of a run."""
    parts = [run.checkpoints[:, None], run.recommended[:, None], run.pulls, run.best, run.worst]
    parts += [] if run.outcomes is None else [run.outcomes[:, None]]
    numbers = np.concatenate([np.asarray(one, np.int64) for one in parts], axis=1)
    steps = np.diff(numbers, axis=0, prepend=0)
    low, high = steps.min(), steps.max()
    width = next(one for one, kind in _KINDS.items() if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
    content = np.ascontiguousarray(steps.T.astype(f"<i{width}")).tobytes()
    more = 0 if run.outcomes is None else _OUTCOMES
    if not np.array_equal(run.exposure * 2, run.pulls):
        more |= _EXPOSURE
        content += np.ascontiguousarray(run.exposure, np.float64).tobytes()
    return _HEAD.pack(*run.pulls.shape, run.decisions, width, more) + zlib.compress(content, _LEVEL)


def same_run(one: bytes, other: bytes) -> bool:
    """Whether two encoded runs are the same, whichever versions of zlib and of this program have written them."""
    if one == other or (one[: _HEAD.size] == other[: _HEAD.size] and _content(one) == _content(other)):
        return True
    heads = [_head(data) for data in (one, other)]
    if heads[0][:3] != heads[1][:3] or heads[0][4] & heads[1][4] & _OUTCOMES:
        return False
    names = ("pulls", "best", "worst", "exposure")  # one of them is of a version that did not count outcomes
    parts = [
        [runs.checkpoints, runs.recommended, *(runs.counts(name) for name in names)]
        for runs in (Runs([data]) for data in (one, other))
    ]
    return all(np.array_equal(mine, yours) for mine, yours in zip(*parts, strict=True))


def decisions_of(data: bytes) -> int:
    """Return in how many steps the policy was asked."""
    return int(_head(data)[2])


class Runs:
    """Runs of one shape and horizon, decoded together: n runs, C checkpoints, K arms."""

    def __init__(self, every: Sequence[bytes], horizon: int | None = None, *, last: bool = False) -> None:
        count, arms, _, width, more = _head(every[0])
        rows = _rows(arms, more)
        self._arms, self._last, size = arms, last, count * rows * width
        raw = np.frombuffer(b"".join(map(_content, every)), np.uint8).reshape(len(every), -1)
        whole = np.ascontiguousarray(raw[:, :size]).view(f"<i{width}")
        self._steps = whole.reshape(len(every), rows, count)
        self._exposure = raw[:, size:] if more & _EXPOSURE else None
        self.decisions = [decisions_of(one) for one in every]  # of each run
        steps, recommended = self._steps[:, 0], self._steps[:, 1].cumsum(axis=1, dtype=np.int64)
        if (steps < 1).any() or (horizon is not None and (steps.sum(axis=1, dtype=np.int64) != horizon).any()):
            raise InputError("the checkpoints are not those of the run")
        if recommended.min() < 0 or recommended.max() >= arms:
            raise InputError("an arm is recommended that does not exist")
        self.recommended = recommended[:, -1:] if last else recommended  # (n, C)
        self.checkpoints = self._totals(0, 1)[:, :, 0]  # (n, C)
        # (n, C); None in runs of versions that did not count them
        self.outcomes = self._totals(rows - 1, rows)[:, :, 0] if more & _OUTCOMES else None

    def counts(self, name: str) -> NDArray[Any]:
        """Return ``pulls``, ``best``, ``worst`` or ``exposure``; shape (n, C, K)."""
        if name != "exposure":
            first = 2 + self._arms * ("pulls", "best", "worst").index(name)
            return self._totals(first, first + self._arms)
        if self._exposure is None:
            return handed_over(self._totals(2, 2 + self._arms) * np.float64(0.5))
        n, _, count = self._steps.shape
        exposure = np.ascontiguousarray(self._exposure).view(np.float64).reshape(n, count, self._arms)
        return handed_over(exposure[:, -1:] if self._last else exposure)

    def _totals(self, start: int, stop: int) -> IntMatrix:
        """Add up the differences of some rows, to each checkpoint or to the last one."""
        steps = self._steps[:, start:stop]
        totals = steps.sum(2, np.int64, keepdims=True) if self._last else steps.cumsum(2, np.int64)
        return handed_over(totals.transpose(0, 2, 1))


def decode_run(data: bytes, key: RunKey, label: str) -> RunResult:
    """Return the run of a key. ``label`` is how its policy was called.

    Raises `InputError` if the bytes are no run of that key: a part of a sentence.
    """
    runs = Runs([data], key.horizon)
    pulls, best, worst, exposure = (runs.counts(name)[0] for name in ("pulls", "best", "worst", "exposure"))
    times, recommended = runs.checkpoints[0], handed_over(runs.recommended)[0]
    outcomes = None if runs.outcomes is None else runs.outcomes[0]
    return RunResult(key, label, times, pulls, exposure, recommended, runs.decisions[0], best, worst, outcomes)


def shape_of(data: bytes) -> tuple[int, int, int, int]:
    """Return what runs have in common that can be decoded together. Its first two numbers: checkpoints and arms."""
    count, arms, _, width, more = _head(data)
    return count, arms, width, more


def _rows(arms: int, more: int) -> int:
    """Return how many whole numbers there are at a checkpoint."""
    return 2 + 3 * arms + bool(more & _OUTCOMES)


def _size(count: int, arms: int, width: int, more: int) -> int:
    """Return the length of the uncompressed bytes."""
    return count * (_rows(arms, more) * width + 8 * arms * (more & _EXPOSURE))


def _head(data: bytes) -> tuple[int, int, int, int, int]:
    """Read the head, if it can be that of a run."""
    if len(data) < _HEAD.size:
        raise InputError("it is cut off")
    count, arms, decisions, width, more = _HEAD.unpack_from(data)
    if (
        width not in _KINDS
        or more > _EXPOSURE | _OUTCOMES
        or not 0 < _size(count, arms, width, more) <= _MOST * len(data)
    ):
        raise InputError("it is no run of this program")
    return count, arms, decisions, width, more


def _content(data: bytes) -> bytes:
    """Return what was compressed, which is as long as the head says."""
    count, arms, _, width, more = _head(data)
    size = _size(count, arms, width, more)
    try:
        content = zlib.decompressobj().decompress(data[_HEAD.size :], size + 1)
    except zlib.error:
        raise InputError("it cannot be decompressed") from None
    if len(content) != size:
        raise InputError("it is not as long as it says")
    return content
