"""Less variance by what was known before: the coin of each list, and what users did before the experiment.

Who owns place 1 is a fair coin c = 1 or -1, whatever the user, the query and the past. So c, and c times anything that
was known of the user, has the mean 0, and y - b c - b' c x has the mean of y. Users who click on place 1, whatever is
there, let the coin decide; the share of their clicks at place 1 before the experiment, as x, says who they are. The
slopes are those of least squares with an intercept: without one they would take covariates that are noise for a part of
the mean, which would shrink. Each slope costs a degree of freedom (see `fewer_degrees`).

If rankers are the same, outcomes and coins of a user are together as likely as their negatives. Slopes without an
intercept are the same for all these signs, so what they leave of a user's sum has the sign of the user, and counting
signs of it is an exact test. With an intercept it would not be: of 30 users and three covariates it found a difference
in 8 of 100 logs without one, at 5%.

Deng, Xu, Kohavi, Walker. Improving the Sensitivity of Online Controlled Experiments by Utilizing Pre-Experiment Data.
WSDM 2013 (there x is balanced between two groups of users by the coin of each user; here all users are in one group,
and a covariate without the coin would have to be compared with other users).
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

_USERS_EACH = 10  # at least, for each covariate
_GRID = 1 << 20  # slopes are rounded to it, so that the order of sums does not matter


class History:
    """What was known of users before the experiment.

    path: Parquet or CSV with a column ``user`` and columns of numbers, one row a user. Users who are not in it count as
    average. Without it the coin alone is used.

    Raises `InputError` if it cannot be read, or has other columns or repeated users.

    Examples
    --------
    >>> History().names
    ()
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = path
        table = _read(Path(path)) if path is not None else pa.table({"user": pa.array([], pa.string())})
        self.names = tuple(name for name in table.column_names if name != "user")
        self.columns: dict[str, Any] = {"user": table.column("user").cast(pa.string())}
        for name in self.names:
            try:
                x = table.column(name).cast(pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64)
            except (pa.ArrowException, ValueError):
                raise InputError(f"{path}: column '{name}' is not of numbers") from None
            known = np.isfinite(x)
            spread = x[known].std() if known.any() else 0.0
            self.columns[name] = np.where(known, x - x[known].mean(), 0.0) / (spread or 1.0) if known.any() else 0 * x
        if len(set(self.columns["user"].to_pylist())) < len(table):
            raise InputError(f"{path}: a user is there twice; the history has one row for each user")


def _read(path: Path) -> Any:
    import pyarrow.csv
    import pyarrow.parquet

    try:
        table = pyarrow.csv.read_csv(path) if path.suffix == ".csv" else pyarrow.parquet.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as the history of users: {str(error).splitlines()[0]}") from None
    if "user" not in table.column_names or table.num_columns < 2:
        raise InputError(f"{path}: the history of users needs a column 'user' and columns of numbers")
    return table


def adjusted(
    log: Any, rows: Any, outcomes: Any, sets: list[tuple[str, str]], history: History, *, intercept: bool = True
) -> Any:
    """Return outcomes less what the coin decided.

    rows, outcomes: See `Credited`.
    sets: The first and the second ranker of each pair.
    intercept: Whether slopes are fitted with one: for means. Without it, for the test by signs.

    Raises `InputError` if the owners are not known, or lists have more than two rankers.
    """
    import ibis

    two = {"owners", "rankers"} <= set(rows.columns)
    if not two or log.engine.value(((rows.rankers.length() != 2) | rows.owners.isnull()).fill_null(True).sum()):
        raise InputError(f"{log.path}: who owns place 1 is known only where all rows have 'owners' of two 'rankers'")
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
    """Return the slopes of least squares, shape (pairs, covariates)."""
    t = t.mutate(one=1.0, outcome=t.y.cast("float64") / UNIT)
    order = ["one", *names, "outcome"]
    sums = {f"{a} {b}": (t[a] * t[b]).sum() for k, a in enumerate(order) for b in order[k:]}
    slope = np.zeros((pairs, len(names)))
    for row in engine.run(t.group_by("pair").agg(**sums)).to_pylist():
        upper = np.array([[row.get(f"{a} {b}", 0.0) for b in order] for a in order])
        slope[row["pair"]] = slopes_of(upper + np.triu(upper, 1).T, intercept=intercept)
    return np.round(slope * _GRID) / _GRID


def slopes_of(products: FloatMatrix, *, intercept: bool = True) -> FloatVector:
    """Return the slopes of the last column on those between the first, which is 1, and it.

    products: shape (columns, columns); sums of products of the columns.
    intercept: Whether the first column is fitted too.
    """
    left = products[1:, 1:]
    if intercept:
        left = left - np.outer(products[0, 1:], products[0, 1:]) / products[0, 0]
    return np.asarray(np.linalg.lstsq(left[:-1, :-1], left[:-1, -1], rcond=1e-9)[0], np.float64)


def combined(plain: PairSums, less: PairSums, signs: PairSums, history: History) -> PairSums:
    """Return sums with means and errors of adjusted outcomes, and signs of those that were adjusted for them.

    Counts and sequences are those of the outcomes.
    """
    slopes = 1 + len(history.names)
    return dataclasses.replace(
        plain, sum=less.sum, square=less.square, kinds=less.kinds, slopes=slopes, signs=signs.kinds
    )


def require_few_columns(path: Path, history: History, users: int) -> None:
    """Refuse a history with more covariates than a tenth of the users."""
    covariates = 1 + len(history.names)
    if _USERS_EACH * covariates > users:
        raise InputError(
            f"{path}: {covariates} covariates (the coin and {len(history.names)} columns of the history) need"
            f" {_USERS_EACH * covariates:,} users to adjust by, and the log has {users:,}"
        )


def saving_note(plain: PairSums, less: PairSums, history: History) -> str:
    """Say what the adjustment saved."""
    before, after = plain.means().error, less.means().error
    good = np.isfinite(before) & (before > 0)
    share = float(np.median((after[good] / before[good]) ** 2)) if good.any() else 1.0
    what = " and ".join(["the coin of place 1", *(["what is known of users"] if history.names else [])])
    return f"adjusted by {what}: the variance of the mean is {share:.0%} of the plain one" + (
        f", as if there were {1 / share:.2f} times as many impressions" if share < 1 else ""
    )
