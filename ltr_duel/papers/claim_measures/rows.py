"""Select the rows of a table for a measure.

A *selection* maps columns to conditions: a value, a list of values, ``{ at_least = 51 }``, ``{ at_most = 51 }``, or
``"greatest"`` or ``"least"`` for the greatest or the least value of the table. A policy is matched by its name and by
the given parameters, whether or not its label also contains default parameters. A string is the selection of the
policy with this label.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ltr_duel.bandits import POLICIES, Policy
from ltr_duel.core import InputError, components
from ltr_duel.core import columns as col
from ltr_duel.papers.claim_measures.measure import Group, Missing, format_value
from ltr_duel.simulation import final_rows

Selection = Mapping[str, Any] | str


def select(frame: pd.DataFrame, wanted: Selection) -> pd.DataFrame:
    """Return the selected rows.

    Raises `Missing` if a column does not exist, or if no row is selected.
    """
    wanted = {col.POLICY: wanted} if isinstance(wanted, str) else wanted
    for column, value in wanted.items():
        if column not in frame:
            raise Missing(f"there is no column '{column}'")
        frame = frame[_marks(frame, column, value)]
        if frame.empty:
            raise Missing(f"there are no rows with {column} {format_value(value)}")
    return frame


def _marks(frame: pd.DataFrame, column: str, value: Any) -> Any:
    held = frame[column]
    if column == col.POLICY:
        names = value if isinstance(value, list) else [value]
        return held.map({label: any(is_policy(label, name) for name in names) for label in held.unique()})
    if isinstance(value, Mapping):
        return (held >= value.get("at_least", -np.inf)) & (held <= value.get("at_most", np.inf))
    if value in ("greatest", "least"):
        return held == (held.max() if value == "greatest" else held.min())
    if isinstance(value, list):
        return held.isin(value)
    if isinstance(value, float):
        return np.isclose(held.astype(float), value)
    return held == value


def is_policy(label: str, wanted: str) -> bool:
    """Return whether a label in a table is the policy named in a claim."""
    asked, _, parameters = "".join(wanted.split()).partition(":")
    if label.partition(":")[0] != asked:
        return False
    had, like = _configured(label), _configured(wanted)
    if had is None or like is None:
        return label == wanted
    keys = [part.partition("=")[0] for part in parameters.split(",") if part]
    return all(getattr(had.params, key) == getattr(like.params, key) for key in keys)


@functools.cache
def _configured(label: str) -> components.Configured[Policy] | None:
    try:
        return POLICIES.configure(label)
    except InputError:
        return None


def final_values(frame: pd.DataFrame, column: str) -> pd.Series[float]:
    """Return the value of each run of one policy at the last step of its longest horizon.

    The index is (problem, repetition). All problems of a panel must have the same horizon.
    """
    if column not in frame:
        raise Missing(f"there is no column '{column}'")
    labels = frame[col.POLICY].unique()
    if len(labels) > 1:
        raise Missing(f"more than one policy fits: {', '.join(map(str, labels))}")
    last = final_rows(frame)
    if set(last[col.PROBLEM].unique()) != set(frame[col.PROBLEM].unique()):
        raise Missing("problems were run to different horizons")
    last = last.drop_duplicates([col.PROBLEM, col.REPETITION, column])  # several figures may contain the same run
    values = last.set_index([col.PROBLEM, col.REPETITION])[column].astype(np.float64).sort_index()
    if not values.index.is_unique:
        raise Missing("runs with the same problem and repetition differ")
    if values.isna().any():
        name = column if col.regret_name(column) == column else col.regret_label(column)
        raise Missing(f"{name} is not defined: no Condorcet winner")
    return values


def side_by_side(sides: Sequence[pd.DataFrame], column: str) -> tuple[Group, ...]:
    """Return final values: in one group with a column for each side if runs are paired, otherwise in a group per side.

    A side consists of the rows of one policy. Runs with the same problem and repetition are paired. If the sides are
    different problems (for example, click models), runs with the same repetition are paired, because they share their
    random streams.
    """
    ends = {int(rows[col.T].max()) for rows in sides}
    if len(ends) > 1:
        raise Missing(f"runs have different horizons: {', '.join(f'{end:,}' for end in sorted(ends))}")
    values = [final_values(rows, column) for rows in sides]
    if all(one.index.equals(values[0].index) for one in values):
        return (grouped(sides[0], values),)
    bare = [one.index.get_level_values(col.REPETITION) for one in values]
    if all(one.is_unique and one.equals(bare[0]) for one in bare):
        return (grouped(sides[0], values),)
    return tuple(grouped(rows, [one]) for rows, one in zip(sides, values, strict=True))


def grouped(rows: pd.DataFrame, columns: list[pd.Series[float]]) -> Group:
    """Return runs as a group, with one column for each series in ``columns``.

    Problems are random draws if the table has several values in its column ``draw`` (matrices sampled from a family) or
    ``subset`` (sampled rankers).
    """
    problem = pd.factorize(columns[0].index.get_level_values(col.PROBLEM), sort=True)[0]
    numbered = [rows[name].nunique() > 1 for name in (col.DRAW, col.SUBSET) if name in rows]
    return Group(np.column_stack(columns), problem.astype(np.int64), any(numbered))
