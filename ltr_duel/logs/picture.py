"""The comparison over time: the mean outcome, with the interval of a single look and the one that may be looked at."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from ltr_duel.analysis import COLOURS, DASHES, legend_beside, prepared_axes
from ltr_duel.core import statistics
from ltr_duel.logs.clustered_sequence import Clustered
from ltr_duel.logs.clusters import Means, interval_ends
from ltr_duel.logs.compare import LogComparison
from ltr_duel.logs.looks import Look
from ltr_duel.logs.sequential import Observed
from ltr_duel.logs.stopping import outcomes_go_together
from ltr_duel.logs.sums import Sequences

_MOST = 4  # pairs in a picture
_DASHES = [dash for dash in DASHES if dash != ":"]  # the edges are dotted
_DATES = 4e9  # later times are no seconds since 1970


def plot_comparison(
    found: LogComparison, *, confidence: float = 0.95, margin: float = 0.0, ax: Axes | None = None
) -> Axes:
    """Draw how the means of the clearest pairs came about.

    Parameters
    ----------
    found : LogComparison
    confidence : float
        Of the confidence sequence; the other interval has that of ``found``.
    margin : float
        Is shaded, if positive.
    ax : Axes, optional
        A new one by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.logs import ClickLog, compare_log, simulate_log
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=20, documents=8, features=2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.parquet"
    ...     _ = simulate_log(path, rankings, pairs="team_draft", horizon=100)
    ...     plot_comparison(compare_log(ClickLog(path))).get_ylabel()
    'mean outcome'
    """
    ax = prepared_axes(ax, 8, 4.2)
    pairs = np.argsort(found.p, kind="stable")[:_MOST]
    dated = found.looks[0].time > 0 and found.looks[-1].time < _DATES and found.looks[-1].time > found.looks[0].time
    for place, pair in enumerate(pairs):
        looks = [look for look in found.looks if len(look.mean) > pair and look.sequences.n[pair] > 0]
        at: list[object] = [look.impressions for look in looks]
        if dated:
            at = [datetime.fromtimestamp(look.time, UTC) for look in looks]
        mean = np.array([look.mean[pair] for look in looks])
        low, high = np.transpose([np.array(interval_ends(look.cautious, found.confidence))[:, pair] for look in looks])
        always = _always(found, looks, int(pair)).sequence(confidence, found.tests)
        first, second = (found.names[k] for k in found.pairs[pair])
        colour = COLOURS[place]
        ax.plot(at, mean, color=colour, ls=_DASHES[place], lw=1.6, label=f"{first} against {second}")  # type: ignore[arg-type]
        ax.fill_between(at, low, high, color=colour, alpha=0.25, lw=0)  # type: ignore[arg-type]
        for edge in (always.low, always.high):
            ax.plot(at, edge, color=colour, lw=0.9, ls=":")  # type: ignore[arg-type]
    ax.axhline(0, color="#6b6b6b", lw=0.8)
    if margin > 0:
        ax.axhspan(-margin, margin, color="#6b6b6b", alpha=0.12, lw=0)
    ax.set_ylim(-1.02, 1.02)
    tight = max(0.02, 2.5 * float(np.abs([found.low[pairs], found.high[pairs]]).max()))
    if np.isfinite(tight) and tight < 1:
        ax.set_ylim(-tight, tight)
    ax.set_ylabel("mean outcome")
    ax.set_xlabel("" if dated else "impressions")
    if dated:
        ticks = AutoDateLocator(maxticks=7)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(ticks)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(ticks))  # type: ignore[no-untyped-call]
    else:
        ax.set_xscale("log")
    legend_beside(ax)
    return ax


def _always(found: LogComparison, looks: list[Look], pair: int) -> Clustered | Observed:
    """Return what `stopping_decisions` would have seen of a pair at each look."""
    if not outcomes_go_together(found):
        return Observed(Sequences(*np.array([[part[pair] for part in look.sequences] for look in looks]).T))
    means = Means(*np.array([[part[pair] for part in look.cautious] for look in looks]).T)
    return Clustered(means, statistics.student_p(*means), np.array([look.outcomes[pair] for look in looks]))
