"""Who is best where: for each problem the policies by their regret at the horizon, with intervals and ratios."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from ltr_duel.core import unknown_name

FACTS = ("rankers", "clicks", "source")
LEVEL = 0.95


def standings(frame: pd.DataFrame, column: str = "regret_average") -> pd.DataFrame:
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
        policy; runs; regret (mean); low, high (95 % interval of the mean by Student's t, unknown for a single run);
        to_best (regret by that of the best); to_bound (regret by c ln T; may be below 1: the bound is asymptotic, and
        for policies that compare pairs); accuracy (share of runs that name the winner); tied (not told apart from the
        best: the paired interval of the difference covers zero).
    """
    if column not in frame:
        raise unknown_name("column", column, [str(name) for name in frame.columns])
    longest = frame.groupby("problem", sort=False)["horizon"].transform("max")
    ends = frame[(frame["horizon"] == longest) & (frame["t"] == longest) & frame[column].notna()]
    parts = []
    for problem, rows in ends.groupby("problem", sort=False):
        wide = rows.pivot_table(index="repetition", columns="policy", values=column, sort=False)
        horizon = int(rows["horizon"].iloc[0])
        facts = {name: rows[name].iloc[0] if name in rows else None for name in FACTS}
        bound = (rows["lower_bound"].mean() if "lower_bound" in rows else np.nan) * np.log(horizon)
        means = wide.mean().sort_values(kind="stable")
        best = means.iloc[0]
        for place, (policy, mean) in enumerate(means.items(), 1):
            low, high = interval(wide[policy].dropna())
            near = interval((wide[policy] - wide[means.index[0]]).dropna())[0]
            right = rows.loc[rows["policy"] == policy, "correct"].mean() if "correct" in rows else np.nan
            parts.append(
                {"problem": problem, **facts, "horizon": horizon, "place": place, "policy": policy}
                | {"runs": int(wide[policy].count()), "regret": mean, "low": low, "high": high}
                | {"to_best": mean / best if best > 0 else np.nan, "to_bound": mean / bound, "accuracy": right}
                | {"tied": place == 1 or bool(np.isnan(near) or near <= 0)}
            )
    return pd.DataFrame(parts)


def interval(values: pd.Series) -> tuple[float, float]:
    """Return the 95 % interval of a mean by Student's t; unknown for less than two values."""
    if len(values) < 2:
        return float("nan"), float("nan")
    known = values.to_numpy(np.float64)
    mean, error = float(known.mean()), float(known.std(ddof=1)) / len(known) ** 0.5
    reach = float(stats.t.ppf((1 + LEVEL) / 2, len(known) - 1)) * error
    return mean - reach, mean + reach
