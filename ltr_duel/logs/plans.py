"""Plans as a table and as a picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ltr_duel.analysis import COLOURS, DASHES, legend_beside, prepared_axes
from ltr_duel.logs.power import ImpressionPlan


def plans_table(plans: Sequence[ImpressionPlan]) -> pd.DataFrame:
    """Return the plans as a table of texts.

    Parameters
    ----------
    plans : sequence of ImpressionPlan

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> plans_table([ImpressionPlan(0.1, 385.0, 700.0, 1000.0)])["fixed test"].tolist()
    ['385']
    """
    return pd.DataFrame(
        [
            {
                "effect": f"{plan.effect:.4g}",
                "fixed test": _amount(plan.fixed),
                "sequential, in the mean": _amount(plan.sequential_mean),
                "sequential, with that power": _amount(plan.sequential_power),
            }
            for plan in plans
        ]
    )


def _amount(number: float) -> str:
    return f"{np.ceil(number):,.0f}" if np.isfinite(number) else "too many"


def plot_plans(plans: Sequence[ImpressionPlan], ax: Axes | None = None) -> Axes:
    """Draw impressions against the effect.

    Parameters
    ----------
    plans : sequence of ImpressionPlan
    ax : Axes, optional
        A new one by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> plot_plans([ImpressionPlan(0.1, 385.0, 700.0, 1000.0), ImpressionPlan(0.2, 90.0, 190.0, 300.0)]).get_xlabel()
    'effect (mean outcome)'
    """
    ax = prepared_axes(ax, 7, 4)
    ordered = sorted(plans)
    effects = [plan.effect for plan in ordered]
    for place, (name, label) in enumerate(
        (
            ("fixed", "fixed test"),
            ("sequential_mean", "sequential test, in the mean"),
            ("sequential_power", "sequential test, with the power"),
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
