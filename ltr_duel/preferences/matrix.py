"""A preference matrix has, for each pair of rankers, the probability that the first ranker beats the second."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ltr_duel.core import FloatMatrix, InputError, IntMatrix, arguments, errors, frozen, notebook
from ltr_duel.preferences.entries import ROUNDING, probabilities, require_room, symmetric
from ltr_duel.preferences.properties.intervals import effective_counts, wilson
from ltr_duel.preferences.tally import SCALE, Tally, errors_of, preferences_of, wins_and_ties


@dataclass(frozen=True, eq=False)
class PreferenceMatrix:
    """The pairwise preferences of K rankers: the probability that one beats the other.

    Parameters
    ----------
    p : ndarray of float64, shape (K, K)
        ``p[i, j]`` is the probability that ranker i beats ranker j. A tie counts as half a win. ``p + p.T`` must be 1.
    names : tuple of str
        The names of the rankers, all different. By default "0", "1", ...
    standard_error : ndarray of float64, shape (K, K), optional
        The standard errors of ``p``. Zero, the default, means that an entry is exact, or that no comparison of
        an estimate varied. Infinity means that a pair was never compared.
    comparisons : ndarray of int64, shape (K, K), optional
        The number of comparisons of each pair. By default zero, for a matrix that is known exactly.
    provenance : dict
        Facts about where the matrix comes from, for example the click model. JSON must be able to store the values.
    tally : Tally, optional
        The exact counts from which the matrix was estimated.

    Raises
    ------
    InputError
        If an entry is not a probability, if ``p + p.T`` is not 1, or if the arrays and names have different lengths.

    Examples
    --------
    >>> matrix = PreferenceMatrix(np.array([[0.5, 0.7], [0.3, 0.5]]), ("new", "old"))
    >>> matrix.condorcet_winner, matrix.copeland_winners
    ('new', ('new',))
    """

    p: FloatMatrix
    names: tuple[str, ...] = ()
    standard_error: FloatMatrix = field(default_factory=lambda: np.zeros((0, 0)), repr=False)
    comparisons: IntMatrix = field(default_factory=lambda: np.zeros((0, 0), np.int64), repr=False)
    provenance: dict[str, Any] = field(default_factory=dict, repr=False)
    tally: Tally | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        p, names = probabilities(self.p, self.names)
        size = len(p)
        require_room(size, 1 + 2 * bool(np.size(self.standard_error)) + 3 * bool(np.size(self.comparisons)))
        arguments.require_type("the provenance", self.provenance, dict)
        arguments.require_type("the tally", self.tally, Tally, type(None))
        vars(self).update(
            p=frozen(p),
            names=names,
            standard_error=frozen(symmetric("standard_error", self.standard_error, size)),
            comparisons=frozen(symmetric("comparisons", self.comparisons, size, np.int64)),
            provenance=dict(self.provenance),
            tally=self.tally.checked(size) if self.tally is not None else None,
        )

    @classmethod
    def from_counts(cls, wins: ArrayLike, ties: ArrayLike | None = None, names: Sequence[str] = ()) -> PreferenceMatrix:
        """Make a matrix from numbers of wins and ties, for example from judgements by people or by a model.

        Parameters
        ----------
        wins : array of int, shape (K, K)
            ``wins[i, j]`` is the number of comparisons that ranker i won against ranker j.
        ties : array of int, shape (K, K), optional
            ``ties[i, j]`` is the number of ties of rankers i and j. A tie counts as half a win for both.
        names : sequence of str, optional

        Returns
        -------
        PreferenceMatrix
            A matrix with the share of wins of each pair. Pairs that were never compared get 1/2.

        Raises
        ------
        InputError
            If the counts are not square tables of whole numbers, or if ``ties`` is not symmetric.

        Examples
        --------
        >>> matrix = PreferenceMatrix.from_counts([[0, 6], [2, 0]], names=("new", "old"))
        >>> float(matrix.p[0, 1]), int(matrix.comparisons[0, 1])
        (0.75, 8)
        """
        won = np.asarray(wins)
        tied = np.zeros_like(won) if ties is None else np.asarray(ties)
        for counts in (won, tied):
            square = won.ndim == 2 and counts.shape == (len(won), len(won))
            if not square or counts.dtype.kind not in "iu" or (counts < 0).any():
                raise InputError("wins and ties must be square tables of whole numbers from 0, of the same size")
        if (tied != tied.T).any():
            raise InputError("ties must be symmetric: i and j have tied as often as j and i")
        decided = np.triu(won + won.T, 1).astype(np.int64)
        lists, scale = decided + np.triu(tied, 1), int(SCALE)
        tally = Tally(lists, np.triu(won - won.T.astype(np.int64), 1) * scale, decided * scale, np.zeros_like(decided))
        return cls(preferences_of(tally), tuple(names), errors_of(tally, 1, 0), lists + lists.T, {}, tally)

    def __len__(self) -> int:
        return len(self.p)

    def __getitem__(self, rankers: Sequence[str | int]) -> PreferenceMatrix:
        """Return the matrix of the given rankers (names or positions), in the given order.

        Raises
        ------
        InputError
            If a name or a position does not exist.
        """
        if isinstance(rankers, str) or not isinstance(rankers, Iterable):
            raise InputError(f"rankers must be given as a list of names or positions, not {errors.shown(rankers)}")
        picks = [self.index(ranker) for ranker in rankers]
        chosen = np.ix_(picks, picks)
        return PreferenceMatrix(
            self.p[chosen],
            tuple(self.names[k] for k in picks),
            self.standard_error[chosen],
            self.comparisons[chosen],
            self.provenance,
            self.tally.among(picks) if self.tally else None,
        )

    def index(self, ranker: str | int) -> int:
        """Return the position of a ranker that is given by its name or position."""
        if isinstance(ranker, str):
            errors.require_one_of("ranker", ranker, self.names)
            return self.names.index(ranker)
        return errors.require_whole("the position of a ranker", ranker, 0, len(self) - 1)

    @property
    def digest(self) -> str:
        """A fingerprint of the matrix: the SHA-256 hash of the probabilities and the names."""
        text = "\x1f".join(self.names).encode()
        return hashlib.sha256(text + self.p.astype("<f8").tobytes()).hexdigest()

    @property
    def wins(self) -> IntMatrix | None:
        """How often ranker i won against ranker j. It is None without counts, or if some outcomes were fractions."""
        return self._wins_and_ties[0] if self._wins_and_ties else None

    @property
    def ties(self) -> IntMatrix | None:
        """How often rankers i and j tied. It is None without counts, or if some outcomes were fractions."""
        return self._wins_and_ties[1] if self._wins_and_ties else None

    @cached_property
    def _wins_and_ties(self) -> tuple[IntMatrix, IntMatrix] | None:
        reductions = self.provenance.get("variance_reduction", ())
        if self.tally is None or "integrated" in reductions:
            return None
        return wins_and_ties(self.tally, 2 if "stratified" in reductions else 1)

    def intervals(self, confidence: float = 0.95) -> tuple[FloatMatrix, FloatMatrix]:
        """Return the lower and the upper ends of the confidence intervals of ``p`` (Wilson's method)."""
        n = effective_counts(self.p, self.standard_error, self.comparisons)
        np.fill_diagonal(n, np.inf)
        return wilson(self.p, n, confidence)

    def ratings(self, confidence: float = 0.95) -> pd.DataFrame:
        """Return the Bradley-Terry strength of each ranker (see `ltr_duel.preferences.ratings`)."""
        from ltr_duel.preferences.ratings import ratings  # imports this module

        return ratings(self, confidence)

    @property
    def condorcet_winner(self) -> str | None:
        """The ranker that beats every other ranker (p > 1/2), or None if there is no such ranker."""
        beats_all = (self.p > 0.5).sum(axis=1) == len(self) - 1
        return self.names[int(beats_all.argmax())] if beats_all.any() else None

    @property
    def copeland_scores(self) -> FloatMatrix:
        """The number of rankers that each ranker beats, shape (K,). An even pair, with p = 1/2, counts as half."""
        scores: FloatMatrix = (self.p > 0.5).sum(axis=1) + 0.5 * ((self.p == 0.5).sum(axis=1) - 1)
        return scores

    @property
    def copeland_winners(self) -> tuple[str, ...]:
        """The rankers with the highest Copeland score. There may be several."""
        scores = self.copeland_scores
        return tuple(self.names[k] for k in np.flatnonzero(scores == scores.max()))

    @property
    def borda_scores(self) -> FloatMatrix:
        """The mean probability with which each ranker beats the other rankers, shape (K,)."""
        scores: FloatMatrix = (self.p.sum(axis=1) - 0.5) / (len(self) - 1) if len(self) > 1 else np.full(1, 0.5)
        return scores

    @property
    def borda_winners(self) -> tuple[str, ...]:
        """The rankers with the highest Borda score. There may be several."""
        scores = self.borda_scores
        return tuple(self.names[k] for k in np.flatnonzero(scores >= scores.max() - ROUNDING))

    @property
    def copeland_order(self) -> list[int]:
        """The positions of the rankers, sorted by Copeland score and then by Borda score. The best comes first."""
        return [int(k) for k in np.lexsort((-self.borda_scores, -self.copeland_scores))]

    @property
    def tie_order(self) -> str:
        """How documents with equal scores were ordered, such as ``fixed_random, tie seed 0``. Empty if unknown."""
        from ltr_duel.rankers import SEEDED  # imported here because `rankers` imports the compiler

        rule = str(self.provenance.get("ties", ""))
        return f"{rule}, tie seed {self.provenance.get('tie_seed', 0)}" if rule in SEEDED else rule

    def to_frame(self) -> pd.DataFrame:
        """Return p as a table. Its index and its columns are the names of the rankers."""
        return pd.DataFrame(self.p, index=list(self.names), columns=list(self.names))

    def __repr__(self) -> str:
        winner = self.condorcet_winner
        conclusion = "no Condorcet winner" if winner is None else f"Condorcet winner {winner!r}"
        return f"<PreferenceMatrix of {len(self):,} rankers, {conclusion}>"

    def _repr_html_(self) -> str:
        from ltr_duel.preferences.properties.confidence import conclusion_confidence  # imports this module

        order, winner = self.copeland_order[: notebook.MOST_ROWS], self.condorcet_winner
        conclusion = f"Condorcet winner: {winner}" if winner is not None else "no Condorcet winner"
        if self.standard_error.any():
            ties = f", tied documents by {self.tie_order}" if self.tie_order else ""
            conclusion += f" (P = {conclusion_confidence(self):.3f}{ties})"
        cut = f"; the first {len(order)} in Copeland order" if len(order) < len(self) else ""
        rows = [(self.names[i], *(f"{p:.3f}" for p in self.p[i, order])) for i in order]
        header = ("", *(self.names[i] for i in order))
        return notebook.notebook_html([f"Preferences of {len(self):,} rankers, {conclusion}{cut}"], header, rows)
