"""The preference matrix as a heat map."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from ltr_duel.analysis.style import new_figure
from ltr_duel.preferences import PreferenceMatrix

_MOST_LABELS = 40  # more names than this on an axis cannot be read


def plot_preferences(matrix: PreferenceMatrix, title: str = "") -> Figure:
    """Draw the preference matrix, rankers in Copeland order, best first.

    Blue: the ranker of the row beats that of the column. Cells within two standard errors of 1/2 are grey: who
    is better is not known there. The Condorcet winner is marked by a star.

    Parameters
    ----------
    matrix : PreferenceMatrix
    title : str

    Returns
    -------
    matplotlib Figure
    """
    size = len(matrix)
    order = matrix.copeland_order
    p = matrix.p[np.ix_(order, order)]
    unknown = np.abs(p - 0.5) <= 2 * matrix.standard_error[np.ix_(order, order)]
    width = float(np.clip(2.5 + 0.16 * size, 5.5, 8.0))
    figure, axes = new_figure(width + 1.2, width)
    reach = max(0.05, float(np.abs(p - 0.5).max()))
    image = axes.imshow(
        np.ma.masked_array(p, unknown),
        cmap="RdBu", norm=TwoSlopeNorm(0.5, 0.5 - reach, 0.5 + reach), interpolation="nearest",
    )  # fmt: skip
    axes.set_facecolor("#d9d9d9")
    names = [("★ " if matrix.names[k] == matrix.condorcet_winner else "") + matrix.names[k] for k in order]
    shown = np.arange(size) if size <= _MOST_LABELS else np.arange(0, size, -(-size // _MOST_LABELS))
    font = float(np.clip(280 / len(shown), 7, 9))
    axes.set_yticks(shown, [names[k] for k in shown], fontsize=font)
    axes.set_xticks(shown, [names[k] for k in shown], fontsize=font, rotation=90)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axes, shrink=0.6)
    bar.set_label("Pr(row beats column); grey: within two standard errors of 1/2", fontsize=8)
    winner = matrix.condorcet_winner
    axes.set_title(
        title or (f"★ Condorcet winner: {winner}" if winner else "no Condorcet winner"),
        loc="left",
        fontsize=10,
    )
    return figure
