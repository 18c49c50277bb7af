"""Plot how the means of pairs of rankers developed, with their intervals."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from ltr_duel.analysis import COLOURS, DASHES, add_legend, prepared_axes
from ltr_duel.core import InputError, statistics
from ltr_duel.logs.clusters import Means
from ltr_duel.logs.comparison import Comparison
from ltr_duel.logs.sums import Sequences

_MOST = 4  # maximum number of pairs in a plot
_DASHES = [dash for dash in DASHES if dash != ":"]  # dotted lines are not used
_DATES = 4e9  # seconds since 1970; larger times are not dates
_EARLY = 0.25  # wide intervals of this first share of the looks may be cut, beyond half as much room as the others have
_GREY = "#6b6b6b"


def plot_comparison(comparison: Comparison, stop_at: float | None, margin: float, ax: Axes | None) -> Axes:
    """Plot a comparison, see `Comparison.plot`."""
    if not comparison.looks:
        raise InputError("this comparison has no development over time: compare by a single outcome, not by a ratio")
    ax = prepared_axes(ax, 8, 4.2)
    dated = 0 < comparison.looks[0].time < comparison.looks[-1].time < _DATES
    confidence, ends = stop_at or comparison.confidence, [0.0, margin, -margin]
    alpha = 0.25 if len(comparison.pairs) <= 2 else 0.12  # lighter, because bands of many pairs overlap
    for k, pair in enumerate(comparison.clearest[:_MOST]):
        looks = [look for look in comparison.looks if len(look.mean) > pair and look.sequences.n[pair] > 0]
        x: list[object] = [datetime.fromtimestamp(look.time, UTC) if dated else look.impressions for look in looks]
        means = Means(*np.array([[part[pair] for part in look.cautious] for look in looks]).T)
        course = replace(  # treat each look as a pair, but divide the error among the pairs
            comparison,
            means=means._replace(mean=np.array([look.mean[pair] for look in looks])),
            cautious=means,
            p=statistics.student_p(*means),
            sequences=Sequences(*np.array([[part[pair] for part in look.sequences] for look in looks]).T),
            denominator=np.array([look.outcomes[pair] for look in looks]),
        ).intervals(confidence, comparison.tests, every_look=stop_at is not None)
        sign = 1 if course.mean[-1] >= 0 else -1
        _, mean, low, high, *_ = course.facing(np.full(len(looks), sign))
        name = " > ".join(comparison.named_pairs[pair][::sign])
        ax.plot(x, mean, color=COLOURS[k], ls=_DASHES[k], lw=1.6, label=name)  # type: ignore[arg-type]
        narrow = (low > -1) | (high < 1)  # intervals from -1 to 1 would hide the other intervals
        ax.fill_between(x, low, high, where=narrow, color=COLOURS[k], alpha=alpha, lw=0)  # type: ignore[arg-type]
        if narrow[-1]:
            later = slice(int(_EARLY * len(mean)), None)
            bottom, top = min(low[later].min(), 0.0), max(high[later].max(), 0.0)
            ends += [max(low.min(), bottom - 0.5 * (top - bottom)), min(high.max(), top + 0.5 * (top - bottom))]
    ax.axhline(0, color=_GREY, lw=0.8)
    if margin > 0:
        ax.axhspan(-margin, margin, color=_GREY, alpha=0.12, lw=0, label="margin")
    pad = 0.06 * (max(ends) - min(ends)) if len(ends) > 3 else 1.02
    ax.set_ylim(max(min(ends) - pad, -1.02), min(max(ends) + pad, 1.02))
    ax.set_ylabel("mean outcome")
    once = stop_at is None and not comparison.adaptive
    held = "each valid for one look" if once else "valid at all looks together"
    ax.set_title(f"intervals of {confidence:.0%} confidence, {held}", loc="left", fontsize=9)
    if dated:
        ticks = AutoDateLocator(minticks=3, maxticks=8)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(ticks)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(ticks))  # type: ignore[no-untyped-call]
    else:
        ax.set(xlabel="impressions", xscale="log")
    add_legend(ax)
    return ax
