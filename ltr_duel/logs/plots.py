"""Plots of mean outcomes, over time and by part of a log, with the intervals that decide pairs; plots of plans."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from ltr_duel.analysis import COLOURS, DASHES, legend_beside, prepared_axes
from ltr_duel.core import FloatVector, InputError, statistics
from ltr_duel.logs.clusters import Means, interval_ends
from ltr_duel.logs.comparison import Comparison
from ltr_duel.logs.looks import Look
from ltr_duel.logs.power import ImpressionPlan
from ltr_duel.logs.sequential import BettingTest, ClusteredTest
from ltr_duel.logs.subgroup import DATED, SubgroupTable
from ltr_duel.logs.sums import Sequences

_MOST = 4  # maximum number of pairs in a plot
_DASHES = [dash for dash in DASHES if dash != ":"]  # dotted lines are not used
_DATES = 4e9  # seconds since 1970; larger times are not dates
_EARLY = 0.25  # share of the looks whose intervals may be cut off by the figure


def plot_comparison(
    found: Comparison, *, stop_at: float | None = None, margin: float = 0.0, ax: Axes | None = None
) -> Axes:
    """Plot the means of the clearest pairs over time, with the intervals that decide them.

    Parameters
    ----------
    found : Comparison
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
    >>> from ltr_duel.logs import ClickLog, compare_log, simulate_log
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=20, documents=8, features=2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clicks.parquet"
    ...     _ = simulate_log(path, rankings, pairs="team_draft", horizon=100)
    ...     plot_comparison(compare_log(ClickLog(path))).get_ylabel()
    'mean outcome'
    """
    if not found.looks:
        raise InputError("this comparison has no development over time: compare with looks=True and per impression")
    ax = prepared_axes(ax, 8, 4.2)
    pairs = np.argsort(found.p, kind="stable")[:_MOST]
    dated = found.looks[0].time > 0 and found.looks[-1].time < _DATES and found.looks[-1].time > found.looks[0].time
    ends = [0.0, margin, -margin]
    for place, pair in enumerate(pairs):
        looks = [look for look in found.looks if len(look.mean) > pair and look.sequences.n[pair] > 0]
        at: list[object] = [look.impressions for look in looks]
        if dated:
            at = [datetime.fromtimestamp(look.time, UTC) for look in looks]
        mean, low, high = _course(found, looks, int(pair), stop_at)
        sign = 1 if mean[-1] >= 0 else -1
        mean, low, high = sign * mean, *np.sort([sign * low, sign * high], axis=0)
        pair_name = " > ".join(found.named_pairs[pair][::sign])
        colour = COLOURS[place]
        ax.plot(at, mean, color=colour, ls=_DASHES[place], lw=1.6, label=pair_name)  # type: ignore[arg-type]
        known = (low > -1) | (high < 1)  # intervals from -1 to 1 would hide the other intervals
        ax.fill_between(at, low, high, where=known, color=colour, alpha=0.25, lw=0)  # type: ignore[arg-type]
        if known[-1]:
            later = slice(int(_EARLY * len(mean)), None)
            ends += [low[later].min(), high[later].max()]
    ax.axhline(0, color="#6b6b6b", lw=0.8)
    if margin > 0:
        ax.axhspan(-margin, margin, color="#6b6b6b", alpha=0.12, lw=0, label="margin")
    pad = 0.06 * (max(ends) - min(ends)) if len(ends) > 3 else 1.02
    ax.set_ylim(max(min(ends) - pad, -1.02), min(max(ends) + pad, 1.02))
    ax.set_ylabel("mean outcome")
    once = stop_at is None and not found.adaptive
    held = "each valid for one look" if once else "valid at all looks together"
    ax.set_title(f"intervals of {stop_at or found.confidence:.0%} confidence, {held}", loc="left", fontsize=9)
    ax.set_xlabel("" if dated else "impressions")
    if dated:
        ticks = AutoDateLocator(minticks=3, maxticks=8)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(ticks)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(ticks))  # type: ignore[no-untyped-call]
    else:
        ax.set_xscale("log")
    legend_beside(ax)
    return ax


def _course(
    found: Comparison, looks: list[Look], pair: int, stop_at: float | None
) -> tuple[FloatVector, FloatVector, FloatVector]:
    """Return a pair's means and intervals at each look; the error is divided among all pairs."""
    means = Means(*np.array([[part[pair] for part in look.cautious] for look in looks]).T)
    mean, confidence = np.array([look.mean[pair] for look in looks]), stop_at or found.confidence
    if stop_at is None and not found.adaptive:
        return mean, *interval_ends(means, 1 - (1 - confidence) / found.tests)
    test: ClusteredTest | BettingTest
    if found.cluster == "impression" or found.adaptive:
        test = BettingTest(Sequences(*np.array([[part[pair] for part in look.sequences] for look in looks]).T))
    else:
        outcomes = np.array([look.outcomes[pair] for look in looks])
        test = ClusteredTest(means, statistics.student_p(*means), outcomes, mean)
    now = test.sequence(confidence, found.tests)
    return test.mean, now.low, now.high


def plot_subgroups(part: SubgroupTable, ax: Axes | None = None, *, pairs: int = _MOST) -> Axes:
    """Plot the means of parts of a log with their intervals, for at most four pairs, the clearest first."""
    ax = prepared_axes(ax, 8, 3.6)
    names = list(dict.fromkeys(part.frame[part.by]))
    if part.by in DATED:  # the clearest pair comes first, and may lack the first days
        names.sort()
    for place, (pair, rows) in enumerate(part.frame.groupby(["first", "second"], sort=False)):
        if place == min(pairs, _MOST):
            break
        at = np.array([names.index(one) for one in rows[part.by]]) + 0.12 * place
        reach = [rows["mean"] - rows["low"], rows["high"] - rows["mean"]]
        label = " > ".join(map(str, pair))
        ax.errorbar(at, rows["mean"], np.clip(reach, 0, None), fmt="o", color=COLOURS[place], ms=4, label=label)
    ax.axhline(0, color="#6b6b6b", lw=0.8)
    ticks = [str(name)[5:] if part.by == "day" else name for name in names]  # without the year
    ax.set_xticks(range(len(names)), ticks, rotation=45, ha="right")
    usual = 3 * float(np.median(np.abs(part.frame[["low", "high"]].to_numpy()).max(axis=1)))
    bottom, top = ax.get_ylim()
    ax.set_ylim(max(bottom, -usual), min(top, usual))  # so that wide intervals of small parts do not flatten the others
    ax.set_ylabel("mean outcome")
    legend_beside(ax)
    return ax


def plot_plans(plans: Sequence[ImpressionPlan], ax: Axes | None = None) -> Axes:
    """Plot the required impressions of each test against the effect."""
    ax = prepared_axes(ax, 7, 4)
    ordered = sorted(plans)
    for place, (name, label) in enumerate((("fixed", "one look at the end"), ("sequential", "looks at any time"))):
        ax.plot(
            [plan.effect for plan in ordered],
            [getattr(plan, name) for plan in ordered],
            color=COLOURS[place], ls=DASHES[place], marker="o", ms=3, label=label,
        )  # fmt: skip
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("effect (mean outcome)")
    ax.set_ylabel("impressions")
    legend_beside(ax)
    return ax
