"""Plots of mean outcomes, over time and by part of a log, with the intervals that decide pairs; plots of plans."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from ltr_duel.analysis import COLOURS, DASHES, legend_beside, prepared_axes
from ltr_duel.core import FloatVector, statistics
from ltr_duel.logs.clusters import Means, interval_ends
from ltr_duel.logs.comparison import LogComparison
from ltr_duel.logs.looks import Look
from ltr_duel.logs.power import ImpressionPlan
from ltr_duel.logs.sequential import Clustered, Observed
from ltr_duel.logs.slices import DATED, Beside
from ltr_duel.logs.stopping import outcomes_go_together
from ltr_duel.logs.sums import Sequences

_MOST = 4  # maximum number of pairs in a plot
_DASHES = [dash for dash in DASHES if dash != ":"]  # dotted lines are not used
_DATES = 4e9  # seconds since 1970; larger times are not dates


def plot_comparison(
    found: LogComparison, *, confidence: float | None = 0.95, margin: float = 0.0, ax: Axes | None = None
) -> Axes:
    """Plot the means of the clearest pairs over time.

    Parameters
    ----------
    found : LogComparison
    confidence : float, optional
        Confidence of the confidence sequence, which is valid at any time. None for the intervals of ``found``, each
        valid for one look; for an adaptive log, these intervals are confidence sequences too.
    margin : float
        The margin, which is shaded if it is positive.
    ax : Axes, optional
        Axes to draw on; by default, new axes are created.

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
    lows, highs = [], []
    for place, pair in enumerate(pairs):
        looks = [look for look in found.looks if len(look.mean) > pair and look.sequences.n[pair] > 0]
        at: list[object] = [look.impressions for look in looks]
        if dated:
            at = [datetime.fromtimestamp(look.time, UTC) for look in looks]
        mean, low, high = _course(found, looks, int(pair), confidence)
        sign = 1 if mean[-1] >= 0 else -1
        mean, low, high = sign * mean, *np.sort([sign * low, sign * high], axis=0)
        pair_name = " > ".join(found.named_pairs[pair][::sign])
        colour = COLOURS[place]
        ax.plot(at, mean, color=colour, ls=_DASHES[place], lw=1.6, label=pair_name)  # type: ignore[arg-type]
        known = (low > -1) | (high < 1)  # intervals from -1 to 1 would hide the other intervals
        ax.fill_between(at, low, high, where=known, color=colour, alpha=0.25, lw=0)  # type: ignore[arg-type]
        lows.append(low[-1])
        highs.append(high[-1])
    ax.axhline(0, color="#6b6b6b", lw=0.8)
    if margin > 0:
        ax.axhspan(-margin, margin, color="#6b6b6b", alpha=0.12, lw=0, label="margin")
    ax.set_ylim(-1.02, 1.02)
    tight = max(0.02, 2.5 * float(np.abs([lows, highs]).max()))
    if np.isfinite(tight) and tight < 1:
        ax.set_ylim(-tight, tight)
    ax.set_ylabel("mean outcome")
    once = confidence is None and not found.adaptive
    held = "each valid for one look" if once else "valid at all looks together"
    ax.set_title(f"intervals of {confidence or found.confidence:.0%} confidence, {held}", loc="left", fontsize=9)
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
    found: LogComparison, looks: list[Look], pair: int, confidence: float | None
) -> tuple[FloatVector, FloatVector, FloatVector]:
    """Return a pair's means and intervals at each look.

    If ``confidence`` is given, the intervals hold at all looks, as in `stopping_decisions`; else each is valid alone.
    """
    means = Means(*np.array([[part[pair] for part in look.cautious] for look in looks]).T)
    mean = np.array([look.mean[pair] for look in looks])
    if confidence is None and not found.adaptive:
        return mean, *interval_ends(means, found.confidence)
    seen: Clustered | Observed
    if outcomes_go_together(found):
        outcomes = np.array([look.outcomes[pair] for look in looks])
        seen = Clustered(means, statistics.student_p(*means), outcomes)
    else:
        sequences = Sequences(*np.array([[part[pair] for part in look.sequences] for look in looks]).T)
        seen, mean = Observed(sequences), sequences.mean
    now = seen.sequence(confidence or found.confidence, found.tests if confidence else 1)
    return mean, now.low, now.high


def plot_parts(beside: Beside, ax: Axes | None = None, *, pairs: int = _MOST) -> Axes:
    """Plot the means of parts of a log with their intervals, for at most four pairs, the clearest first."""
    ax = prepared_axes(ax, 8, 3.6)
    names = list(dict.fromkeys(beside.frame[beside.by]))
    if beside.by in DATED:  # the clearest pair comes first, and may lack the first days
        names.sort()
    for place, (pair, rows) in enumerate(beside.frame.groupby(["first", "second"], sort=False)):
        if place == min(pairs, _MOST):
            break
        at = np.array([names.index(one) for one in rows[beside.by]]) + 0.12 * place
        reach = [rows["mean"] - rows["low"], rows["high"] - rows["mean"]]
        label = " > ".join(map(str, pair))
        ax.errorbar(at, rows["mean"], np.clip(reach, 0, None), fmt="o", color=COLOURS[place], ms=4, label=label)
    ax.axhline(0, color="#6b6b6b", lw=0.8)
    ticks = [str(name)[5:] if beside.by == "day" else name for name in names]  # without the year
    ax.set_xticks(range(len(names)), ticks, rotation=45, ha="right")
    usual = 3 * float(np.median(np.abs(beside.frame[["low", "high"]].to_numpy()).max(axis=1)))
    bottom, top = ax.get_ylim()
    ax.set_ylim(max(bottom, -usual), min(top, usual))  # so that wide intervals of small parts do not flatten the others
    ax.set_ylabel("mean outcome")
    legend_beside(ax)
    return ax


def plot_plans(plans: Sequence[ImpressionPlan], ax: Axes | None = None) -> Axes:
    """Plot the required impressions of each test against the effect."""
    ax = prepared_axes(ax, 7, 4)
    ordered = sorted(plans)
    effects = [plan.effect for plan in ordered]
    for place, (name, label) in enumerate(
        (
            ("fixed", "fixed test"),
            ("sequential_mean", "sequential test, mean"),
            ("sequential_power", "sequential test, at the given power"),
        )
    ):
        impressions = [getattr(plan, name) for plan in ordered]
        ax.plot(effects, impressions, color=COLOURS[place], ls=DASHES[place], marker="o", ms=3, label=label)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("effect (mean outcome)")
    ax.set_ylabel("impressions")
    legend_beside(ax)
    return ax
