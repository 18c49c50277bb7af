"""The data of a figure as text to be saved: only what is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ltr_duel.core import columns as col
from ltr_duel.simulation import averaged, comparable_rows

MOST_ROWS = 2000
_KEYS = (col.PROBLEM, col.RANKERS, col.SIZE, col.GAMMA, col.CLICKS, col.SOURCE, col.STUDY, col.POLICY, col.HORIZON)


def data_csv(frame: pd.DataFrame, about: Mapping[str, Any]) -> tuple[bytes, str]:
    """Return a figure's data as CSV, and a description.

    Of runs: mean, standard deviation, least and largest for each problem, policy, horizon and checkpoint, and the share
    of runs that name the winner. If that is more than `MOST_ROWS` rows, only every n-th checkpoint and the last.
    """
    if not {col.POLICY, col.T, col.REPETITION} <= set(frame.columns):
        table, words = frame.head(MOST_ROWS), "the table"
        if len(frame) > len(table):
            words = f"the first {len(table):,} of {len(frame):,} rows"
        return _text(table), words
    options = about.get("figure", {}).get("options", {})
    table = means(frame, str(options.get("column", col.REGRET)))
    lines = [name for name in _KEYS if name in table]
    step, place = 1, table.groupby(lines, dropna=False).cumcount(ascending=False)  # from the end, which is kept
    while (place % step == 0).sum() > MOST_ROWS and step < 1000:
        step += 1
    thinned = f", every {step}th checkpoint" if step > 1 else ""
    return _text(table[place % step == 0].head(MOST_ROWS)), f"mean and spread{thinned}"


def means(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return mean, sd, least and largest of a column over the runs, and the accuracy, for each line and checkpoint."""
    rows = comparable_rows(frame, [col.PROBLEM])
    keys = [name for name in _KEYS if name in rows and rows[name].notna().any()]
    table = averaged(rows, [*keys, col.T], column).rename(columns={"mean": column})
    if col.CORRECT in rows:
        share = (
            rows.groupby([*keys, col.T], sort=False, dropna=False)[col.CORRECT].mean().rename("accuracy").reset_index()
        )
        table = table.merge(share, on=[*keys, col.T], how="left")
    return table


def _text(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode()
