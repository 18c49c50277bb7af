"""Reduce the variance of outcomes by two kinds of covariates: the coin of each list, and users' earlier behaviour.

A fair coin c = 1 or -1 decides which ranker owns position 1 (contributes its document), independently of user, query
and past. Therefore, c and c x have mean 0 for every covariate x known before the experiment, and y - b c - b' c x has
the same mean as y. The slopes b and b' are fitted by least squares with an intercept; without an intercept, noise
covariates would absorb part of the mean.

The exact sign test requires slopes that do not change when all outcomes and coins of a user are negated. It therefore
uses slopes without an intercept. With an intercept, the test found a difference in 8 of 100 logs whose rankers do not
differ (30 users, three covariates).

Deng, Xu, Kohavi, Walker. Improving the Sensitivity of Online Controlled Experiments by Utilizing Pre-Experiment Data.
WSDM 2013. (In the paper, a coin assigns each user to a group, which balances x; here x is multiplied by the coin of
each list.)
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ltr_duel.core import FloatMatrix, FloatVector, InputError
from ltr_duel.logs.outcomes import UNIT
from ltr_duel.logs.sums import PairSums

_USERS_EACH = 10  # minimum number of users for each covariate
_GRID = 1 << 20  # slopes are rounded to multiples of 1 / _GRID, so that the order of sums does not matter


class History:
    """Covariates of users, measured before the experiment, one row per user; if `path` is None, only coins are used."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = path
        table = _read(Path(path)) if path is not None else pa.table({"user": pa.array([], pa.string())})
        self.names = tuple(name for name in table.column_names if name != "user")
        self.columns: dict[str, Any] = {"user": table.column("user").cast(pa.string())}
        for name in self.names:
            try:
                x = table.column(name).cast(pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64)
            except (pa.ArrowException, ValueError):
                raise InputError(f"{path}: column '{name}' is not numeric") from None
            known = np.isfinite(x)
            spread = x[known].std() if known.any() else 0.0
            self.columns[name] = np.where(known, x - x[known].mean(), 0.0) / (spread or 1.0) if known.any() else 0 * x
        if len(set(self.columns["user"].to_pylist())) < len(table):
            raise InputError(f"{path}: a user occurs in several rows; the history needs one row per user")


def _read(path: Path) -> Any:
    import pyarrow.csv
    import pyarrow.parquet

    try:
        table = pyarrow.csv.read_csv(path) if path.suffix == ".csv" else pyarrow.parquet.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as a history of users: {str(error).splitlines()[0]}") from None
    if "user" not in table.column_names or table.num_columns < 2:
        raise InputError(f"{path}: the history of users needs a column 'user' and columns of numbers")
    return table


def adjusted(
    log: Any, rows: Any, outcomes: Any, sets: list[tuple[str, str]], history: History, *, intercept: bool = True
) -> Any:
    """Subtract the part of outcomes that coin and covariates explain; the sign test requires ``intercept=False``."""
    import ibis

    two = {"owners", "rankers"} <= set(rows.columns)
    if not two or log.engine.value(((rows.rankers.length() != 2) | rows.owners.isnull()).fill_null(True).sum()):
        raise InputError(f"{log.path}: adjusted outcomes require 'owners' of two 'rankers' in all rows")
    first = log.engine.small({"pair": list(range(len(sets))), "name": [a for a, _ in sets]})
    owner = ibis.ifelse(rows.owners[0] >= 0, rows.owners[0], rows.owners.filter(lambda one: one >= 0)[0])
    t = outcomes.join(rows.select("line", leader=rows.rankers[owner.cast("int64")]), "line").join(first, "pair")
    t = t.mutate(coin=ibis.cases((t.leader.isnull(), 0.0), (t.leader == t.name, 1.0), else_=-1.0))
    names = ["coin"]
    if history.names:
        renamed = {f"x{k}": history.columns[name] for k, name in enumerate(history.names)}
        t = t.left_join(log.engine.small({"user": history.columns["user"]} | renamed), "user").drop("user_right")
        t = t.mutate(**{name: t.coin * t[name].coalesce(0.0) for name in renamed})
        names += list(renamed)
    slope = _slopes(log.engine, t, names, len(sets), intercept)
    small = log.engine.small({"pair": list(range(len(sets)))} | {f"b{k}": slope[:, k] for k in range(len(names))})
    t = t.join(small, "pair")
    explained = sum(t[f"b{k}"] * t[name] for k, name in enumerate(names))
    t = t.mutate(y=(t.y - (explained * UNIT).round().cast("int64")).cast("int64"))
    t = t.mutate(square=((t.y.cast("float64") / UNIT) ** 2 * UNIT).round().cast("int64"))
    return t.select(*outcomes.columns)


def _slopes(engine: Any, t: Any, names: list[str], pairs: int, intercept: bool) -> FloatMatrix:
    """Return the least-squares slopes, shape (pairs, covariates)."""
    t = t.mutate(one=1.0, outcome=t.y.cast("float64") / UNIT)
    order = ["one", *names, "outcome"]
    sums = {f"{a} {b}": (t[a] * t[b]).sum() for k, a in enumerate(order) for b in order[k:]}
    slope = np.zeros((pairs, len(names)))
    for row in engine.run(t.group_by("pair").agg(**sums)).to_pylist():
        upper = np.array([[row.get(f"{a} {b}", 0.0) for b in order] for a in order])
        slope[row["pair"]] = slopes_of(upper + np.triu(upper, 1).T, intercept=intercept)
    return np.round(slope * _GRID) / _GRID


def slopes_of(products: FloatMatrix, *, intercept: bool = True) -> FloatVector:
    """Regress the last column on the middle columns, given sums of products; the first column is the constant 1."""
    left = products[1:, 1:]
    if intercept:
        left = left - np.outer(products[0, 1:], products[0, 1:]) / products[0, 0]
    return np.asarray(np.linalg.lstsq(left[:-1, :-1], left[:-1, -1], rcond=1e-9)[0], np.float64)


def combined(plain: PairSums, less: PairSums, signs: PairSums, history: History) -> PairSums:
    """Return `plain` with the sums of adjusted outcomes (``less``), and with sums for the sign test (``signs``)."""
    slopes = 1 + len(history.names)
    return dataclasses.replace(
        plain, sum=less.sum, square=less.square, kinds=less.kinds, slopes=slopes, signs=signs.kinds
    )


def require_few_columns(path: Path, history: History, users: int) -> None:
    """Raise `InputError` if the history has more covariates than a tenth of the number of users."""
    covariates = 1 + len(history.names)
    if _USERS_EACH * covariates > users:
        raise InputError(
            f"{path}: {covariates} covariates (the coin and {len(history.names)} columns of the history) require"
            f" {_USERS_EACH * covariates:,} users, but the log has {users:,}"
        )


def saving_note(plain: PairSums, less: PairSums, history: History) -> str:
    """Return a note on the reduction of variance by the adjustment."""
    before, after = plain.means().error, less.means().error
    good = np.isfinite(before) & (before > 0)
    share = float(np.median((after[good] / before[good]) ** 2)) if good.any() else 1.0
    what = " and ".join(["the coin of position 1", *(["the history of users"] if history.names else [])])
    return f"adjusted by {what}: the variance of the mean is {share:.0%} of the unadjusted variance" + (
        f", as if there were {1 / share:.2f} times as many impressions" if share < 1 else ""
    )
