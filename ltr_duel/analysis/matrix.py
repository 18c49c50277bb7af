"""Draw a preference matrix as a heat map."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm

from ltr_duel.analysis.matrix_words import WINNER, origin, verdict
from ltr_duel.analysis.style import prepared_axes
from ltr_duel.core import arguments
from ltr_duel.preferences import PreferenceMatrix

_NAMES = 7.0  # the font size of names, in points
_FEW = 12  # up to this number of rankers, the probabilities are written in the cells


def plot_preferences(matrix: PreferenceMatrix, ax: Axes | None = None, *, title: str = "") -> Axes:
    """Plot a preference matrix as a heat map, with the rankers in Copeland order.

    In a blue cell, the ranker of the row beats the ranker of the column. In a red cell, it loses. A grey cell is within
    two standard errors of 1/2, so that either ranker may be better. Some names are left out if there is no room.

    Parameters
    ----------
    matrix : PreferenceMatrix
    ax : Axes, optional
    title : str
        By default, the title names the Condorcet winner, its strongest rival, the corpus, the clicks and the method.

    Examples
    --------
    >>> from ltr_duel.preferences import arxiv
    >>> plot_preferences(arxiv()).get_title(loc="left")
    '★ Condorcet winner: A; strongest rival: D'
    """
    arguments.require_type("the matrix", matrix, PreferenceMatrix)
    size, winner = len(matrix), matrix.condorcet_winner
    order = matrix.copeland_order
    p = matrix.p[np.ix_(order, order)]
    rival = 1 + int(p[0, 1:].argmin()) if size > 1 else 0  # of the winner, who is the first
    unknown = np.abs(p - 0.5) <= 2 * matrix.standard_error[np.ix_(order, order)]
    if not title:
        lead = verdict(matrix)
        if winner is not None:
            lead = f"★ {lead}{', ahead' * (lead != WINNER)}: {winner}"
            lead += f"; strongest rival: {matrix.names[order[rival]]}" * (size > 1)
        title = lead + f"\n{origin(matrix.provenance)}".rstrip()
    inches = float(np.clip(2.5 + 0.16 * size, 5.5, 8.0))
    ax = prepared_axes(ax, inches + 1.2, inches, title)
    ax.grid(visible=False)
    ax.set_facecolor("#d9d9d9")
    ax.spines[:].set_visible(False)
    reach = max(0.05, float(np.abs(p - 0.5).max()))
    image = ax.imshow(
        np.ma.masked_array(p, unknown),
        cmap="RdBu", norm=TwoSlopeNorm(0.5, 0.5 - reach, 0.5 + reach), interpolation="nearest",
    )  # fmt: skip
    names = [("★ " if matrix.names[k] == winner else "") + matrix.names[k] for k in order]
    room = ax.get_window_extent().height / ax.figure.dpi  # in inches
    step = -(-size // max(int(9 * room), 1))  # every so many rankers get a name: nine lines of text fit into an inch
    shown = sorted(
        {k for k in range(0, size, step) if abs(k - rival) >= step or k == 0} | {rival} - set(range(1, step))
    )
    ax.set_yticks(shown, [names[k] for k in shown], fontsize=_NAMES)
    ax.set_xticks(shown, [names[k] for k in shown], fontsize=_NAMES, rotation=90)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.6)
    bar.set_label("Pr(row beats column)\ngrey: within two standard errors of 1/2", fontsize=_NAMES + 1, labelpad=8)
    bar.ax.tick_params(labelsize=_NAMES + 1)
    for (row, column), share in np.ndenumerate(p if size <= _FEW else p[:0]):
        if row != column:
            dark = abs(share - 0.5) > 0.6 * reach and not unknown[row, column]
            ink = "white" if dark else "black"
            ax.text(column, row, f"{share:.3f}", ha="center", va="center", fontsize=_NAMES, color=ink)
    return ax
