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
    One entry is corrected to -.06. The paper prints -.04 in row D, column B, but .06 in row B, column D. The corrected
    matrix has the gamma of the paper, 1.5.

    The paper calls A, ..., F a total order, but D and F are exactly even. The paper also says that the matrix satisfies
    the stochastic triangle inequality. But the gap of A and E (.11) exceeds the sum of the gaps of A and C (.05) and of
    C and E (.01).

    Examples
    --------
    >>> arxiv().condorcet_winner
    'A'
    """
    gaps = np.array(_ARXIV.split(), np.float64).reshape(6, 6)
    provenance = {"source": "Yue and Joachims, ICML 2011, Table 1; row D, column B corrected from -.04 to -.06"}
    return PreferenceMatrix(0.5 + gaps, tuple("ABCDEF"), provenance=provenance)
