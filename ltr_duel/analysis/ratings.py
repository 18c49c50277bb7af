"""Draw and print Bradley-Terry ratings, which describe each ranker by one strength."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ltr_duel.analysis.style import COLOURS, prepared_axes, require_table
from ltr_duel.core import stream
from ltr_duel.preferences import STATISTICS, PreferenceMatrix, transitive_null

_HEIGHT = 0.22  # of the row of a ranker, in inches
_WORLDS, _BY_CHANCE = 99, 0.05


def plot_ratings(table: pd.DataFrame, ax: Axes | None = None, *, title: str = "", most: int = 40) -> Axes:
    """Plot the strength of each ranker with its interval, the strongest ranker at the top.

    Parameters
    ----------
    table : DataFrame
        The result of `PreferenceMatrix.ratings`.
    ax : Axes, optional
        The axes to draw on; by default, a new figure is made.
    title : str
    most : int
        The largest number of rankers to show.

    Examples
    --------
    >>> from ltr_duel.preferences import arxiv
    >>> [label.get_text() for label in plot_ratings(arxiv().ratings()).get_yticklabels()][0]
    'A'
    """
    require_table(table, "strength")
    shown = table.head(most)
    title = "\n".join(filter(None, [title, f"the {most} strongest are shown" * (len(table) > most)]))
    ax = prepared_axes(ax, 6.0, 1.2 + _HEIGHT * len(shown), title)
    rank = np.arange(len(shown))
    half = np.nan_to_num(shown["high"] - shown["strength"])
    ax.errorbar(shown["strength"], rank, xerr=half, fmt="o", ms=4, lw=1.2, color=COLOURS[0])
    ax.set_yticks(rank, shown["ranker"].to_list(), fontsize=8)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlabel(f"strength (logarithm of odds, mean 0{'; bar: 95% interval' * bool(half.any())})")
    return ax


def ratings_table(table: pd.DataFrame, rows: int = 10) -> pd.DataFrame:
    """Return the strongest rankers as a table of strings."""
    first = table.head(rows)
    shown = {"ranker": first["ranker"].to_list(), "strength": [f"{value:+.3f}" for value in first["strength"]]}
    if first["low"].notna().all():
        ends = zip(first["low"], first["high"], strict=True)
        shown["95% interval"] = [f"{low:+.3f} to {high:+.3f}" for low, high in ends]
    shown["wins on average"] = [f"{share:.3f}" for share in first["borda"]]
    shown["beats"] = [f"{count:g} of {len(table) - 1}" for count in first["copeland"]]
    return pd.DataFrame(shown)


def ratings_note(matrix: PreferenceMatrix) -> str:
    """Return a warning if ratings cannot explain the preferences, otherwise an empty text."""
    if len(matrix) < 3 or not matrix.standard_error.any() or not np.isfinite(matrix.standard_error).all():
        return ""
    statistics = {name: STATISTICS[name] for name in ("strong_share", "cyclic_triples")}
    rng = stream(0, "ratings", matrix.digest)
    chance = transitive_null(matrix, rng, worlds=_WORLDS, statistics=statistics)["p_value"].min()
    if chance * len(statistics) > _BY_CHANCE:
        return ""
    return (
        "These preferences contradict the model: they are less transitive than noise alone explains, so one strength"
        " for each ranker cannot describe them. Use the pairs."
    )
