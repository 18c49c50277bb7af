"""``gamma``: regret at the horizon against how far transitivity is relaxed (Yue, Joachims 2011, Figure 2, bottom)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from ltr_duel.papers.figures import DRAWINGS
from ltr_duel.papers.figures.size import size


def gamma(frame: pd.DataFrame, about: Mapping[str, Any], **options: Any) -> Figure:
    """Draw as ``size`` does, with gamma as the abscissa and linear axes.

    A policy that is told gamma has another label at each point, and is one line all the same.
    """
    told = frame["policy"].str.replace(r"gamma=[^,]+", "gamma=γ", regex=True)
    return size(
        frame.assign(policy=told),
        about,
        **{"x": "gamma", "label": "γ (relaxed stochastic transitivity)", "log": "", **options},
    )


DRAWINGS.add("gamma", gamma)
