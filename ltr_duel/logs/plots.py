"""Plots of mean outcomes, over time, with the intervals that decide pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from ltr_duel.analysis import COLOURS, DASHES, add_legend, prepared_axes
from ltr_duel.core import FloatVector, InputError, statistics
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.comparison import Comparison
from ltr_duel.logs.looks import Look
from ltr_duel.logs.sums import Sequences

_MOST = 4  # maximum number of pairs in a plot
_DASHES = [dash for dash in DASHES if dash != ":"]  # dotted lines are not used
_DATES = 4e9  # seconds since 1970; larger times are not dates
_EARLY = 0.25  # share of the looks whose intervals may be cut off by the figure


def plot_comparison(
    comparison: Comparison, *, stop_at: float | None = None, margin: float = 0.0, ax: Axes | None = None
) -> Axes:
    """Plot the means of the clearest pairs over time, with the intervals that decide them.

    Parameters
    ----------
    comparison : Comparison
        With ``looks``, and each impression counted once.
    stop_at : float, optional
        As in `decide`; by default, each interval is valid for one look (but for logs of policies).
    margin : float
        The margin, which is shaded if it is positive.
    ax : Axes, optional
        Axes to draw on; by default, new axes are created.

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        If the comparison has no development over time.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.logs import compare_log, simulate_log
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=20, documents=8, features=2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.parquet"
    ...     _ = simulate_log(path, rankings, pairs="team_draft", horizon=100)
    ...     plot_comparison(compare_log(path)).get_ylabel()
    'mean outcome'
    """
    if not comparison.looks:
        raise InputError(
            "this comparison has no development over time: compare with looks=True, per impression, by one outcome"
        )
    ax = prepared_axes(ax, 8, 4.2)
    first, last = comparison.looks[0].time, comparison.looks[-1].time
    dated = 0 < first < last < _DATES
    ends = [0.0, margin, -margin]
    for k, pair in enumerate(np.argsort(comparison.p, kind="stable")[:_MOST]):
        looks = [look for look in comparison.looks if len(look.mean) > pair and look.sequences.n[pair] > 0]
        x: list[object] = [datetime.fromtimestamp(look.time, UTC) if dated else look.impressions for look in looks]
        mean, low, high = _course(comparison, looks, int(pair), stop_at)
        sign = 1 if mean[-1] >= 0 else -1
        mean, low, high = sign * mean, *np.sort([sign * low, sign * high], axis=0)
        pair_name = " > ".join(comparison.named_pairs[pair][::sign])
        ax.plot(x, mean, color=COLOURS[k], ls=_DASHES[k], lw=1.6, label=pair_name)  # type: ignore[arg-type]
        narrow = (low > -1) | (high < 1)  # intervals from -1 to 1 would hide the other intervals
        ax.fill_between(x, low, high, where=narrow, color=COLOURS[k], alpha=0.25, lw=0)  # type: ignore[arg-type]
        if narrow[-1]:
            later = slice(int(_EARLY * len(mean)), None)
            ends += [low[later].min(), high[later].max()]
    ax.axhline(0, color="#6b6b6b", lw=0.8)
    if margin > 0:
        ax.axhspan(-margin, margin, color="#6b6b6b", alpha=0.12, lw=0, label="margin")
    pad = 0.06 * (max(ends) - min(ends)) if len(ends) > 3 else 1.02
    ax.set_ylim(max(min(ends) - pad, -1.02), min(max(ends) + pad, 1.02))
    ax.set_ylabel("mean outcome")
    once = stop_at is None and not comparison.adaptive
    held = "each valid for one look" if once else "valid at all looks together"
    ax.set_title(f"intervals of {stop_at or comparison.confidence:.0%} confidence, {held}", loc="left", fontsize=9)
    if dated:
        ticks = AutoDateLocator(minticks=3, maxticks=8)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(ticks)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(ticks))  # type: ignore[no-untyped-call]
    else:
        ax.set_xlabel("impressions")
        ax.set_xscale("log")
    add_legend(ax)
    return ax


def _course(
    comparison: Comparison, looks: Sequence[Look], pair: int, stop_at: float | None
) -> tuple[FloatVector, FloatVector, FloatVector]:
    """Return a pair's means and intervals at each look, as if each look were a pair; all pairs share the error."""
    means = Means(*np.array([[part[pair] for part in look.cautious] for look in looks]).T)
    mean = np.array([look.mean[pair] for look in looks])
    history = replace(
        comparison,
        means=means._replace(mean=mean),
        cautious=means,
        p=statistics.student_p(*means),
        sequences=Sequences(*np.array([[part[pair] for part in look.sequences] for look in looks]).T),
        denominator=np.array([look.outcomes[pair] for look in looks]),
    )
    return history.limits(stop_at or comparison.confidence, comparison.tests, every_look=stop_at is not None)[:3]
