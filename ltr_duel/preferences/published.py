"""Preference matrices that are printed in papers."""

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
    """Return the preferences among six rankers of arXiv's full-text search, measured with real users.

    Yue, Joachims. Beat the Mean Bandit. ICML 2011, Table 1. The data are from interleaving experiments of Radlinski,
    Kurup and Joachims (CIKM 2008).

    Notes
    -----
    One entry is corrected: the paper prints -.04 in row D, column B, but .06 in row B, column D. The corrected entry is
    -.06. The corrected matrix has the gamma of the paper, 1.5.

    The paper calls A, ..., F a total order that satisfies the stochastic triangle inequality. But D and F are exactly
    even, and the gap of .11 between A and E exceeds the sum of .05 (A and C) and .01 (C and E).

    Examples
    --------
    >>> arxiv().condorcet_winner
    'A'
    """
    gaps = np.array(_ARXIV.split(), np.float64).reshape(6, 6)
    provenance = {"source": "Yue and Joachims, ICML 2011, Table 1; row D, column B corrected from -.04 to -.06"}
    return PreferenceMatrix(0.5 + gaps, tuple("ABCDEF"), provenance=provenance)
