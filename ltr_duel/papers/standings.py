"""Rank the policies on each problem by their regret at the horizon, with bounds on the ratio to the best policy.

Policies that compare pairs and policies that compare sets are ranked separately, because a step with a set gives more
outcomes than a step with a pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ltr_duel.bandits import named_policy
from ltr_duel.core import columns as col
from ltr_duel.core import errors, stream
from ltr_duel.papers.best import compare_with_best
from ltr_duel.simulation import final_rows

_FACTS = (col.RANKERS, col.CLICKS, col.SOURCE, col.ANSWERS)
_SURE = 0.95  # minimum probability of the winner for results that depend on the winner
PAIRS, SETS = "pairs", "sets"


def standings(frame: pd.DataFrame, column: str = col.REGRET) -> pd.DataFrame:
    """Return one row for each problem and policy: problems in order of appearance, each with its best policies first.

    frame: results (`StudyResults.to_frame`). Only the longest horizon of each problem is used, and only policies that
        were run to this horizon. The columns rankers, clicks, source, answers, correct, best_by_ndcg,
        winner_probability, reference_error and lower_bound are optional.

    Columns: the facts of the problem; horizon; compares ("pairs" or "sets"), the group in which policies are ranked;
    place (from 1); to_best (the mean as a multiple of the lowest mean); low and high (bounds on this ratio that hold
    for all policies together with 95 % confidence, see `compare_with_best`; NaN for too few runs); policy; runs; regret
    (mean) and median; to_bound (average regret divided by c ln T, which may be below 1, because the bound is
    asymptotic; NaN for sets, or if the winner has a probability below .95); reference_error (an upper limit on how far
    mean average regret moves if the estimated matrix is wrong by one standard error); accuracy (share of runs that name
    the winner; NaN if the winner has a probability below .95); ndcg_accuracy (share of runs that name a ranker with the
    highest NDCG).
    """
    errors.require_one_of("column", column, [str(name) for name in frame.columns])
    ends = final_rows(frame, [col.PROBLEM])
    ends = ends[ends[column].notna()]
    kinds = {label: kind_of(label) for label in ends[col.POLICY].unique()}
    parts: list[dict[str, Any]] = []
    for problem, rows in ends.groupby(col.PROBLEM, sort=False):
        for compares in (PAIRS, SETS):
            mine = rows[rows[col.POLICY].map(kinds) == compares]
            if len(mine):
                parts += _group(str(problem), compares, mine, column)
    return pd.DataFrame(parts)


def _group(problem: str, compares: str, rows: pd.DataFrame, column: str) -> list[dict[str, Any]]:
    """Return the rows of one problem's policies that compare pairs, or of its policies that compare sets."""
    wide = rows.pivot_table(index=col.REPETITION, columns=col.POLICY, values=column, sort=False)
    means = wide.mean().sort_values(kind="stable")
    wide = wide[means.index]
    rng = stream(0, "comparisons with the best", problem, compares, column)
    low, high = compare_with_best(wide.dropna().to_numpy(np.float64), rng)
    estimated = column == col.REGRET and "reference_error" in rows
    horizon, facts = int(rows[col.T].iloc[0]), {name: rows[name].iloc[0] if name in rows else None for name in _FACTS}
    sure = col.WINNER_PROBABILITY not in rows or rows[col.WINNER_PROBABILITY].iloc[0] >= _SURE
    bounded = sure and compares == PAIRS and column == col.REGRET and col.LOWER_BOUND in rows
    bound = float(rows[col.LOWER_BOUND].mean() * np.log(horizon)) if bounded else np.nan
    moved: Any = rows.groupby(col.POLICY, sort=False)["reference_error"].first() if estimated else {}
    shares = {
        name: rows.groupby(col.POLICY, sort=False)[given].mean() if known and given in rows else means * np.nan
        for name, given, known in (("accuracy", col.CORRECT, sure), ("ndcg_accuracy", col.BEST_BY_NDCG, True))
    }
    return [
        {col.PROBLEM: problem, **facts, col.HORIZON: horizon, "compares": compares, "place": place + 1}
        | {col.POLICY: policy, "runs": int(wide[policy].count()), "regret": mean, "median": wide[policy].median()}
        | {"to_best": mean / means.iloc[0] if means.iloc[0] > 0 else np.nan, "to_bound": mean / bound}
        | {"low": low[place], "high": high[place], "reference_error": float(moved.get(str(policy), np.nan))}
        | {name: float(share[str(policy)]) for name, share in shares.items()}
        for place, (policy, mean) in enumerate(means.items())
    ]


def kind_of(label: str) -> str:
    """Return whether a policy compares pairs or sets."""
    policy = named_policy(label)
    return SETS if policy is not None and policy.feedback == "slate" else PAIRS
