"""Preference matrices printed in papers."""

from __future__ import annotations

import numpy as np

from ltr_duel.core import FloatMatrix
from ltr_duel.preferences.matrix import PreferenceMatrix

_ARXIV = """
 .00  .05  .05  .04  .11  .11
-.05  .00  .05  .06  .08  .10
-.05 -.05  .00  .04  .01  .06
-.04 -.06 -.04  .00  .04  .00
-.11 -.08 -.01 -.04  .00  .01
-.11 -.10 -.06  .00 -.01  .00
"""


def arxiv() -> PreferenceMatrix:
    """Return the preferences among six retrieval functions of arXiv's full-text search.

    Yue, Joachims. Beat the Mean Bandit. ICML 2011, Table 1, from interleaving experiments with real users (Radlinski,
    Kurup, Joachims, CIKM 2008).

    Notes
    -----
    The paper prints -.04 in row D, column B; row B, column D is .06, so the correct value is -.06. A public copy of
    the matrix has .55 instead of .56 in row B, column D, which makes gamma 1.25; the paper reports 1.5.

    D and F are exactly even. The paper calls A, ..., F a total order that satisfies the stochastic triangle
    inequality, but the gap of .11 between A and E exceeds .05 (A and C) + .01 (C and E).

    Examples
    --------
    >>> arxiv().condorcet_winner
    'A'
    """
    about = {"source": "Yue and Joachims, ICML 2011, Table 1; row D, column B corrected from -.04 to -.06"}
    return PreferenceMatrix(0.5 + _gaps(), tuple("ABCDEF"), provenance=about)


def difference_from_paper(matrix: PreferenceMatrix) -> str:
    """Describe the known difference between a copied matrix and its paper; empty if no difference is known."""
    copied = 0.5 + _gaps()
    copied[1, 3], copied[3, 1] = 0.55, 0.45
    if matrix.p.shape != copied.shape or not np.allclose(matrix.p, copied, rtol=0, atol=1e-9):
        return ""
    return (
        "This is a known copy of arXiv's matrix with an error: Yue and Joachims, ICML 2011, Table 1 has 0.56, not"
        " 0.55 (second ranker against the fourth), and gamma 1.5, not 1.25; use 'arxiv' in place of this file."
    )


def _gaps() -> FloatMatrix:
    return np.array([[float(number) for number in line.split()] for line in _ARXIV.split("\n") if line])
