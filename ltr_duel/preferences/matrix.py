"""The preference matrix: how often each ranker beats each other one, and how well that is known."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ltr_duel.core.arrays import FloatMatrix, IntMatrix
from ltr_duel.core.errors import InputError

SUM_TOLERANCE = 1e-9  # how far p + p.T may be from 1


@dataclass(frozen=True, eq=False)
class PreferenceMatrix:
    """Pairwise preferences of K rankers.

    Parameters
    ----------
    p : ndarray of float64, shape (K, K)
        ``p[i, j]`` = Pr(ranker i beats ranker j), a tie counted as half. ``p + p.T == 1``, diagonal 1/2.
    names : tuple of str
        Of the rankers, all different.
    standard_error : ndarray of float64, shape (K, K), optional
        Of ``p``; zero for a matrix that is known exactly.
    comparisons : ndarray of int64, shape (K, K), optional
        How many comparisons stand behind each entry; zero for a matrix that is known exactly.
    provenance : dict
        How the matrix came about, as JSON.

    Raises
    ------
    InputError
        If the matrix is not square, has an entry outside 0..1, or ``p + p.T`` differs from 1.
    """

    p: FloatMatrix
    names: tuple[str, ...] = ()
    standard_error: FloatMatrix = field(default_factory=lambda: np.zeros((0, 0)), repr=False)
    comparisons: IntMatrix = field(default_factory=lambda: np.zeros((0, 0), np.int64), repr=False)
    provenance: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        p = np.ascontiguousarray(self.p, dtype=np.float64)
        if p.ndim != 2 or p.shape[0] != p.shape[1] or p.shape[0] < 1:
            raise InputError(f"a preference matrix must be square, not of shape {p.shape}")
        size = p.shape[0]
        names = tuple(self.names) or tuple(str(k) for k in range(size))
        if len(names) != size or len(set(names)) != size:
            raise InputError(f"a preference matrix of {size} rankers needs {size} different names")
        bad = ~((p >= 0) & (p <= 1))
        if bad.any():
            i, j = np.argwhere(bad)[0]
            raise InputError(f"p['{names[i]}', '{names[j]}'] must be between 0 and 1, not {p[i, j]}")
        off = np.abs(p + p.T - 1)
        if off.max() > SUM_TOLERANCE:
            i, j = divmod(int(off.argmax()), size)
            raise InputError(
                f"p['{names[i]}', '{names[j]}'] + p['{names[j]}', '{names[i]}'] must be 1, not {p[i, j] + p[j, i]}"
            )
        for name in ("standard_error", "comparisons"):
            value = getattr(self, name)
            value = value if value.size else np.zeros(p.shape, value.dtype)
            if value.shape != p.shape:
                raise InputError(f"{name} must have the shape of p, {p.shape}, not {value.shape}")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "names", names)

    def __len__(self) -> int:
        return int(self.p.shape[0])

    @property
    def digest(self) -> str:
        """SHA-256 of the probabilities and the names."""
        text = "\x1f".join(self.names).encode()
        return hashlib.sha256(text + self.p.astype("<f8").tobytes()).hexdigest()

    @property
    def condorcet_winner(self) -> str | None:
        """The ranker that beats every other one (p > 1/2), or None: there may be none."""
        beats_all = (self.p > 0.5).sum(axis=1) == len(self) - 1
        return self.names[int(beats_all.argmax())] if beats_all.any() else None

    @property
    def copeland_scores(self) -> FloatMatrix:
        """How many others each ranker beats, an exact 1/2 counted as half; shape (K,)."""
        scores: FloatMatrix = (self.p > 0.5).sum(axis=1) + 0.5 * ((self.p == 0.5).sum(axis=1) - 1)
        return scores

    @property
    def copeland_winners(self) -> tuple[str, ...]:
        """The rankers that beat the most others; one or several."""
        scores = self.copeland_scores
        return tuple(self.names[k] for k in np.flatnonzero(scores == scores.max()))

    @property
    def borda_scores(self) -> FloatMatrix:
        """Mean probability of beating one of the others; shape (K,). With one ranker, 1/2."""
        if len(self) == 1:
            return np.full(1, 0.5)
        scores: FloatMatrix = (self.p.sum(axis=1) - 0.5) / (len(self) - 1)
        return scores

    @property
    def borda_winner(self) -> str:
        """The ranker with the highest Borda score (the first of several)."""
        return self.names[int(self.borda_scores.argmax())]
