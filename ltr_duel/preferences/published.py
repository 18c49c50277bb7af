"""Preference matrices printed in papers."""

from __future__ import annotations

import numpy as np

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
    gaps = np.array(_ARXIV.split(), np.float64).reshape(6, 6)
    provenance = {"source": "Yue and Joachims, ICML 2011, Table 1; row D, column B corrected from -.04 to -.06"}
    return PreferenceMatrix(0.5 + gaps, tuple("ABCDEF"), provenance=provenance)
