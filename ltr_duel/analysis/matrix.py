"""The preference matrix as a heat map."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm

from ltr_duel.analysis.style import prepared_axes
from ltr_duel.core import arguments
from ltr_duel.preferences import PreferenceMatrix

_MOST_LABELS = 64  # maximum number of legible names on an axis


def plot_preferences(matrix: PreferenceMatrix, ax: Axes | None = None, *, title: str = "") -> Axes:
    """Plot the preference matrix with rankers in Copeland order, the best first.

    In blue cells, the ranker of the row beats the ranker of the column. Cells within two standard errors of 1/2 are
    grey, because it is not known which ranker is better. A star marks the Condorcet winner.

    Parameters
    ----------
    matrix : PreferenceMatrix
    ax : Axes, optional
        Axes to draw on; by default the axes of a new figure.
    title : str
        Title of the figure; by default, the Condorcet winner.

    Examples
    --------
    >>> from ltr_duel.preferences import arxiv
    >>> plot_preferences(arxiv()).get_title(loc="left")
    '★ Condorcet winner: A'
    """
    arguments.require_type("the matrix", matrix, PreferenceMatrix)
    size, winner = len(matrix), matrix.condorcet_winner
    order = matrix.copeland_order
    p = matrix.p[np.ix_(order, order)]
    unknown = np.abs(p - 0.5) <= 2 * matrix.standard_error[np.ix_(order, order)]
    width = float(np.clip(2.5 + 0.16 * size, 5.5, 8.0))
    ax = prepared_axes(
        ax, width + 1.2, width, title or (f"★ Condorcet winner: {winner}" if winner else "no Condorcet winner")
    )
    ax.grid(visible=False)
    ax.set_facecolor("#d9d9d9")
    ax.spines[:].set_visible(False)
    reach = max(0.05, float(np.abs(p - 0.5).max()))
    image = ax.imshow(
        np.ma.masked_array(p, unknown),
        cmap="RdBu", norm=TwoSlopeNorm(0.5, 0.5 - reach, 0.5 + reach), interpolation="nearest",
    )  # fmt: skip
    names = [("★ " if matrix.names[k] == winner else "") + matrix.names[k] for k in order]
    shown = np.arange(size) if size <= _MOST_LABELS else np.arange(0, size, -(-size // _MOST_LABELS))
    font = float(np.clip(280 / len(shown), 6, 9))
    ax.set_yticks(shown, [names[k] for k in shown], fontsize=font)
    ax.set_xticks(shown, [names[k] for k in shown], fontsize=font, rotation=90)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.6)
    bar.set_label("Pr(row beats column); grey: within two standard errors of 1/2", fontsize=9)
    return ax
