"""Measurements without runs of policies: properties of matrices, estimates, distortion.

A measure is a function of the data that were found, and of the settings that a figure declares with `measured`. It
returns a table; other modules draw the table and test claims on it.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from ltr_duel.papers.measures import distortion, np2004_provenance, properties, subset_order

MEASURES: dict[str, Callable[..., pd.DataFrame]] = {
    "distortion": distortion.measure,
    "np2004_provenance": np2004_provenance.measure,
    "properties": properties.measure,
    "subset_order": subset_order.measure,
}
