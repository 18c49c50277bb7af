"""All properties of a preference matrix in one record, and the von Neumann winner."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy  # submodules are loaded on first use

from ltr_duel.core import FloatVector, arguments
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.preferences.properties import transitivity
from ltr_duel.preferences.properties.bounds import gaps, lower_bound
from ltr_duel.preferences.properties.confidence import borda_confidence, copeland_confidence
from ltr_duel.preferences.properties.subsets import condorcet_shares

_NOTHING = 1e-9  # smaller weights are rounding errors
_UNLIKELY = 0.001  # smaller probabilities of winners are omitted


@dataclass(frozen=True)
class Properties:
    """The properties of a matrix. Properties that need a Condorcet winner are None if there is no winner.

    copeland_winners, borda_winners: see `PreferenceMatrix`.
    copeland_confidence, borda_confidence: the probability that a ranker is the winner, if it is above 0.001.
    strong_triples: the number of triples (i, j, k) in which i beats j and j beats k.
    strong_violations: how many of these triples break strong transitivity.
    gamma_btm, gamma_rucb: two measures of how far the matrix is from strong transitivity.
    smallest_gap, smallest_gap_error: the winner's gap to its strongest rival, and the standard error of this gap.
    lower_bound: the constant c of the lower bound c ln T; see `ltr_duel.preferences.lower_bound`.
    """

    condorcet_winner: str | None
    copeland_winners: tuple[str, ...]
    copeland_confidence: dict[str, float]
    borda_winners: tuple[str, ...]
    borda_confidence: dict[str, float]
    von_neumann_winner: dict[str, float]  # the weights of the rankers in the mixture, if positive
    top_cycle: tuple[str, ...]  # the smallest set of rankers that all beat every ranker outside it
    even_pairs: int  # pairs at exactly 1/2
    total_order: bool
    cyclic_triples: int
    cycle: tuple[str, ...] | None  # three rankers that beat each other in a circle
    strong_violations: int
    strong_triples: int
    gamma_btm: float | None
    gamma_rucb: float | None
    triangle_violations: int | None  # pairs of rivals that break the stochastic triangle inequality
    smallest_gap: float | None
    smallest_gap_error: float | None
    lower_bound: float | None
    least_condorcet_share: float  # the smallest P_K, the share of sets of K rankers with a Condorcet winner

    def as_dict(self) -> dict[str, Any]:
        """Return all properties as a dictionary."""
        return asdict(self)


def matrix_properties(matrix: PreferenceMatrix) -> Properties:
    """Return all properties of a matrix: its winners, how transitive it is, and how hard it is for policies.

    Parameters
    ----------
    matrix : PreferenceMatrix

    Returns
    -------
    Properties

    Examples
    --------
    >>> from ltr_duel.preferences import synthetic_preferences
    >>> about = matrix_properties(synthetic_preferences("arithmetic"))
    >>> about.condorcet_winner, about.total_order, about.cyclic_triples
    ('0', True, 0)
    """
    arguments.require_type("the matrix", matrix, PreferenceMatrix)
    weights, gap = von_neumann_winner(matrix), gaps(matrix)
    strong, triples = transitivity.strong_violations(matrix)
    smallest = error = None
    if gap is not None and len(matrix) > 1:
        winner = matrix.index(str(matrix.condorcet_winner))
        rival = min(np.delete(np.arange(len(matrix)), winner), key=lambda k: gap[k])
        smallest, error = float(gap[rival]), float(matrix.standard_error[winner, rival])
    return Properties(
        condorcet_winner=matrix.condorcet_winner,
        copeland_winners=matrix.copeland_winners,
        copeland_confidence=_likely(copeland_confidence(matrix)),
        borda_winners=matrix.borda_winners,
        borda_confidence=_likely(borda_confidence(matrix)),
        von_neumann_winner={matrix.names[k]: float(weights[k]) for k in np.argsort(-weights) if weights[k] > 0},
        top_cycle=transitivity.top_cycle(matrix),
        even_pairs=int(np.triu(matrix.p == 0.5, 1).sum()),
        total_order=transitivity.is_total_order(matrix),
        cyclic_triples=transitivity.cyclic_triples(matrix),
        cycle=transitivity.find_cycle(matrix),
        strong_violations=strong,
        strong_triples=triples,
        gamma_btm=transitivity.gamma_btm(matrix),
        gamma_rucb=transitivity.gamma_rucb(matrix),
        triangle_violations=transitivity.triangle_violations(matrix),
        smallest_gap=smallest,
        smallest_gap_error=error,
        lower_bound=lower_bound(matrix),
        least_condorcet_share=float(condorcet_shares(matrix).min()),
    )


def _likely(shares: dict[str, float]) -> dict[str, float]:
    return {name: share for name, share in shares.items() if share > _UNLIKELY}


def von_neumann_winner(matrix: PreferenceMatrix) -> FloatVector:
    """Return the weights of a mixture of rankers that no ranker beats. A Condorcet winner has the weight 1.

    Dudik, Hofmann, Schapire, Slivkins, Zoghi. Contextual Dueling Bandits. COLT 2015.
    """
    size = len(matrix)
    cost = np.append(np.zeros(size), -1.0)  # maximise v
    worst = np.hstack([0.5 - matrix.p.T, np.ones((size, 1))])  # v <= sum_i w_i (p[i, j] - 1/2) for each j
    sums = np.append(np.ones(size), 0.0)[None, :]
    solved = scipy.optimize.linprog(
        cost, A_ub=worst, b_ub=np.zeros(size), A_eq=sums, b_eq=[1.0], bounds=[(0, 1)] * size + [(-1, 1)], method="highs"
    )
    weights = np.asarray(solved.x)[:-1]
    weights = np.where(weights < _NOTHING, 0.0, weights)
    return np.asarray(weights / weights.sum())
