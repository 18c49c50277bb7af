"""Who is best where: for each problem the policies by their regret at the horizon, with intervals and ratios."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ltr_duel.core import columns as col
from ltr_duel.core import unknown_name
from ltr_duel.simulation import final_rows, student_interval

_FACTS = (col.RANKERS, col.CLICKS, col.SOURCE)


def standings(frame: pd.DataFrame, column: str = col.REGRET) -> pd.DataFrame:
    """Return one row for each problem and policy, problems in order of appearance, the best policy first.

    Parameters
    ----------
    frame : DataFrame
        Columns problem, policy, horizon, repetition, t and the regret; of each problem the longest horizon is taken,
        and only policies that were run to it. If there are the columns rankers, clicks, source, correct and lower_bound
        (the constant c of c ln T), they are used.
    column : str
        Which regret.

    Returns
    -------
    DataFrame
        Without the problems that have no such regret. problem; rankers, clicks, source; horizon; place (from 1);
        policy; runs; regret (mean); low, high (95 % interval of the mean by Student's t, unknown for a single run;
        where no run is below zero it does not begin below zero); to_best (regret divided by that of the best); to_bound
        (regret divided by c ln T; may be below 1: the bound is asymptotic, and for policies that compare pairs);
        accuracy (share of runs that name the winner); tied (not distinguishable from the best: the paired interval of
        the difference covers zero).
    """
    if column not in frame:
        raise unknown_name("column", column, [str(name) for name in frame.columns])
    ends = final_rows(frame, [col.PROBLEM])
    parts = []
    for problem, rows in ends[ends[column].notna()].groupby(col.PROBLEM, sort=False):
        wide = rows.pivot_table(index=col.REPETITION, columns=col.POLICY, values=column, sort=False)
        horizon = int(rows[col.HORIZON].iloc[0])
        facts = {name: rows[name].iloc[0] if name in rows else None for name in _FACTS}
        bound = (rows[col.LOWER_BOUND].mean() if col.LOWER_BOUND in rows else np.nan) * np.log(horizon)
        means = wide.mean().sort_values(kind="stable")
        best = means.iloc[0]
        for place, (policy, mean) in enumerate(means.items(), 1):
            low, high = _interval(wide[policy].dropna())
            near = student_interval((wide[policy] - wide[means.index[0]]).dropna())[0]
            right = rows.loc[rows[col.POLICY] == policy, col.CORRECT].mean() if col.CORRECT in rows else np.nan
            parts.append(
                {col.PROBLEM: problem, **facts, col.HORIZON: horizon, "place": place, col.POLICY: policy}
                | {"runs": int(wide[policy].count()), "regret": mean, "low": low, "high": high}
                | {"to_best": mean / best if best > 0 else np.nan, "to_bound": mean / bound, "accuracy": right}
                | {"tied": place == 1 or bool(np.isnan(near) or near <= 0)}
            )
    return pd.DataFrame(parts)


def _interval(values: pd.Series) -> tuple[float, float]:
    """Return the interval of a mean; what cannot be negative has none that begins below zero."""
    low, high = student_interval(values)
    return (max(low, 0.0) if values.min() >= 0 else low), high
