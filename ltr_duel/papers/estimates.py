"""From the table of a figure, compute the numbers that test a paper's statements, each with a 95 % interval.

The intervals come from 2,000 bootstrap resamples. A resample draws repetitions of each problem. If the problems are
random, a resample draws whole problems instead. If two policies used the same random numbers, their runs are drawn
together.

Some papers do not say which random subset of rankers they used. For such a paper, use ``subsets=True``. A number is
then computed for each of our random subsets, and its interval is the range of the results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np
import pandas as pd

from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, statistics, stream
from ltr_duel.core import columns as col
from ltr_duel.simulation import final_rows

DRAWS = 2000
Selection = Mapping[str, Any] | str  # {column: value, list of values, "least" or "greatest"}, or a policy
_RUN = [col.PROBLEM, col.REPETITION]


class Missing(Exception):  # noqa: N818  # this is an answer, not a failure
    """Raised if a number cannot be computed. The message says what is missing in the table."""


class Estimate(NamedTuple):
    """A number with its interval, and how many runs it was computed from."""

    value: float
    low: float
    high: float
    runs: float = math.inf  # infinite if the number does not come from runs


class Panels(TypedDict, total=False):
    """The options of `ratio`, `rank` and all other functions that return a `Check`."""

    low: float  # the statement is true if the number is at least this; by default, there is no limit
    high: float  # the statement is true if the number is at most this; by default, there is no limit
    where: Selection  # the rows of the table to use; by default, all
    each: Sequence[str]  # columns; the number is computed for each combination of their values
    subsets: bool  # whether the problems are random subsets of rankers, so that the interval is a range
    words: str  # what readers see as the name of the number


@dataclass(frozen=True)
class Check:
    """A number that tests a statement, and the range of numbers for which the statement is true."""

    words: str
    estimate: Callable[[pd.DataFrame], Estimate]
    low: float
    high: float
    where: Selection
    each: Sequence[str]


# A statistic compares sides. A side is a table with a row for each run, for example the final regrets of one policy.
Statistic = Callable[[FloatMatrix, list[FloatVector]], Any]  # takes the means of all columns, and each side's columns


def ratio(dividend: Selection, divisor: Selection, *, column: str = col.REGRET, **panels: Unpack[Panels]) -> Check:
    """Divide the mean final regret of one policy by the mean final regret of another policy."""

    def sides(rows: pd.DataFrame) -> list[pd.DataFrame]:
        return [_ends(select(rows, side), column) for side in (dividend, divisor)]

    return _of_runs(f"{_name(dividend)} / {_name(divisor)}", sides, lambda mean, _: mean[:, 0] / mean[:, 1], panels)


def spread(dividend: Selection, divisor: Selection, *, column: str = col.REGRET, **panels: Unpack[Panels]) -> Check:
    """Divide the standard deviation of one policy's regret by the standard deviation of another policy's regret."""

    def sides(rows: pd.DataFrame) -> list[pd.DataFrame]:
        ends = [_ends(select(rows, side), column) for side in (dividend, divisor)]
        return [pd.concat([end - end.mean(), (end - end.mean()) ** 2], axis=1) for end in ends]

    def quotient(mean: FloatMatrix, _: list[FloatVector]) -> FloatVector:
        variance = mean[:, 1::2] - mean[:, ::2] ** 2
        variance[variance < 1e-12 * variance[0]] = np.nan  # this resample has one run many times
        return np.sqrt(variance[:, 0] / variance[:, 1])

    return _of_runs(f"standard deviation, {_name(dividend)} / {_name(divisor)}", sides, quotient, panels)


def rank(
    policy: str, among: Sequence[str], *, most: bool = False, column: str = col.REGRET, **panels: Unpack[Panels]
) -> Check:
    """Return the rank of a policy by regret. Rank 1 has the least regret, or with ``most`` the most regret."""

    def sides(rows: pd.DataFrame) -> list[pd.DataFrame]:
        return [_ends(select(rows, name), column) for name in (policy, *among)]

    def position(mean: FloatMatrix, _: list[FloatVector]) -> FloatVector:
        ahead = mean[:, 1:] > mean[:, :1] if most else mean[:, 1:] < mean[:, :1]
        return 1.0 + ahead.sum(axis=1)

    return _of_runs(f"rank of {policy}, {'most' if most else 'least'} regret first", sides, position, panels)


def slope(policy: str, *, along: str = col.RANKERS, column: str = col.REGRET, **panels: Unpack[Panels]) -> Check:
    """Return the exponent with which regret grows with a column: 1 for linear regret, and 0 for constant regret."""

    def exponent(mean: FloatMatrix, axes: list[FloatVector]) -> FloatVector:
        x = np.log(np.concatenate(axes))
        return np.log(mean) @ (x - x.mean()) / ((x - x.mean()) ** 2).sum()

    def sides(rows: pd.DataFrame) -> list[pd.DataFrame]:
        return _curve(select(rows, policy), along, column)

    return _of_runs(f"slope of log regret on log {along}, {policy}", sides, exponent, panels)


def steepest(policy: str, *, along: str, column: str = col.REGRET, **panels: Unpack[Panels]) -> Check:
    """Find where log regret rises most steeply. Return two neighbouring values of the column ``along``."""

    def ends(mean: FloatMatrix, axes: list[FloatVector]) -> FloatMatrix:
        x = np.concatenate(axes)
        first = np.argmax(np.diff(np.log(mean), axis=1) / np.diff(x), axis=1)
        return np.column_stack([x[first], x[first + 1]])

    def sides(rows: pd.DataFrame) -> list[pd.DataFrame]:
        return _curve(select(rows, policy), along, column)

    return _of_runs(f"{along} of the steepest rise, {policy}", sides, ends, panels)


def late_share(policy: str, *, column: str = col.REGRET, **panels: Unpack[Panels]) -> Check:
    """Return the share of a policy's regret that arises in the second half of the steps.

    The share is 1/2 if regret grows linearly, and smaller if regret grows more and more slowly.
    """

    def sides(rows: pd.DataFrame) -> list[pd.DataFrame]:
        rows = select(rows, policy)
        end, half = _ends(rows, column), _ends(rows[rows[col.T] <= rows[col.T].max() / 2], column)
        return [pd.concat([end - half, end], axis=1)]

    return _of_runs(f"share of the last half, {policy}", sides, lambda mean, _: mean[:, 0] / mean[:, 1], panels)


def time_ratio(dividend: str, divisor: str, *, levels: Sequence[float], **panels: Unpack[Panels]) -> Check:
    """Divide the number of steps that one policy needs to find the winner by the number that another policy needs.

    A level is a share of runs. A policy reaches the level when at least this share of its runs recommends the winner,
    and continues to do so. The result is the geometric mean of the ratios at all ``levels`` that at least one policy
    reaches.
    """

    def sides(rows: pd.DataFrame) -> list[pd.DataFrame]:
        return [_accuracy(select(rows, side)) for side in (dividend, divisor)]

    def quotient(mean: FloatMatrix, axes: list[FloatVector]) -> FloatVector:
        curves = mean[:, : len(axes[0])], mean[:, len(axes[0]) :]
        logs = []
        for level in levels:
            first, second = (_reached(x, curve, level) for x, curve in zip(axes, curves, strict=True))
            # if only one policy reaches a level, the last step is used for the other policy
            if np.isfinite(first[0]) or np.isfinite(second[0]):
                logs.append(np.log(np.minimum(first, axes[0][-1]) / np.minimum(second, axes[1][-1])))
        if not logs:
            raise Missing("neither policy reaches any of the levels of accuracy")
        return np.exp(np.mean(logs, axis=0))

    return _of_runs(f"time to name the winner, {dividend} / {divisor}", sides, quotient, panels)


def cell(column: str = "value", *, take: str = "", **panels: Unpack[Panels]) -> Check:
    """Read a measured value and its interval. With ``take``, use the "least" or the "mean" of several values."""

    def read(rows: pd.DataFrame) -> Estimate:
        if not take and len(rows) != 1:
            raise Missing(f"one value was expected, but there are {len(rows)}")
        ends = rows[[column, "low", "high"] if column == "value" else [column] * 3].to_numpy(np.float64)
        if np.isnan(ends).any():
            raise Missing("the value is not defined")
        return Estimate(*(ends.mean(axis=0) if take == "mean" else ends.min(axis=0)).tolist())

    return _check(f"{take} {column}".strip(), read, panels)


def select(frame: pd.DataFrame, wanted: Selection) -> pd.DataFrame:
    """Return the selected rows. If there is no policy ``rucb``, this name selects policies such as ``rucb:alpha=1``."""
    for column, value in ({col.POLICY: wanted} if isinstance(wanted, str) else wanted).items():
        if column not in frame:
            raise Missing(f"there is no column '{column}'")
        held = frame[column]
        marks = held.isin(value) if isinstance(value, list) else held == value
        if value in ("least", "greatest"):
            marks = held == (held.min() if value == "least" else held.max())
        elif column == col.POLICY and not marks.any():
            marks = held.str.startswith(f"{value}:")
        if not marks.any():
            raise Missing(f"no rows with {column} {value}")
        frame = frame[marks]
    return frame


def _name(wanted: Selection) -> str:
    return wanted if isinstance(wanted, str) else " ".join(map(str, wanted.values()))


def _check(words: str, estimate: Callable[[pd.DataFrame], Estimate], panels: Panels) -> Check:
    low, high, each = panels.get("low", -math.inf), panels.get("high", math.inf), panels.get("each", ())
    return Check(panels.get("words", words), estimate, low, high, panels.get("where", {}), each)


def _of_runs(
    words: str, sides: Callable[[pd.DataFrame], list[pd.DataFrame]], statistic: Statistic, panels: Panels
) -> Check:
    def estimate(rows: pd.DataFrame) -> Estimate:
        whole, random = sides(rows), any(rows[key].nunique() > 1 for key in (col.DRAW, col.SUBSET) if key in rows)
        axes, runs = [side.columns.to_numpy() for side in whole], min(map(len, whole))
        if panels.get("subsets") and rows[col.PROBLEM].nunique() > 1:
            parts = [sides(part) for _, part in rows.groupby(col.PROBLEM)]
            values = [float(statistic(_means(part, draws=0), axes)[0]) for part in parts]
            return Estimate(float(np.median(values)), min(values), max(values), runs)
        units = min(_units(side.index, random) for side in whole)
        if units < 2:
            raise Missing("one run is not enough for an interval")
        draws = statistic(_means(whole, random), axes).reshape(1 + DRAWS, -1)
        low, _ = statistics.bootstrap_interval(draws[1:, 0], units)
        _, high = statistics.bootstrap_interval(draws[1:, -1], units)
        return Estimate(float(draws[0].mean()), min(low, draws[0, 0]), max(high, draws[0, -1]), runs)

    return _check(words, estimate, panels)


def _ends(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    if (policies := rows[col.POLICY].unique()).size > 1:
        raise Missing(f"more than one policy fits: {', '.join(policies)}")
    values = final_rows(rows, [col.PROBLEM]).set_index(_RUN)[column].sort_index()
    if values.isna().any():
        raise Missing(f"{col.regret_label(column)} is not defined: no Condorcet winner")
    return values.to_frame(0)


def _curve(rows: pd.DataFrame, along: str, column: str) -> list[pd.DataFrame]:
    points = [_ends(part, column).set_axis([float(str(x))], axis=1) for x, part in rows.groupby(along)]
    if len(points) < 3:
        raise Missing(f"a curve along '{along}' needs three points, but there are {len(points)}")
    return points


def _accuracy(rows: pd.DataFrame) -> pd.DataFrame:
    if rows[col.CORRECT].isna().any():
        raise Missing("there is no winner to name")
    if rows[col.HORIZON].nunique() > 1:
        rows = final_rows(rows, [col.HORIZON])
    return rows.pivot_table(index=_RUN, columns=col.T, values=col.CORRECT).dropna(axis=1)


def _reached(steps: FloatVector, curves: FloatMatrix, level: float) -> FloatVector:
    # the step after which a curve stays at or above the level; infinite if the curve ends below
    below = curves < level
    last = below.shape[1] - 1 - np.argmax(below[:, ::-1], axis=1)  # the last checkpoint below the level
    before, rows = np.minimum(last, below.shape[1] - 2), np.arange(len(curves))
    low, high = curves[rows, before], curves[rows, before + 1]
    share = np.clip((level - low) / np.where(high > low, high - low, 1.0), 0, 1)
    reached = steps[before] * (steps[before + 1] / steps[before]) ** share
    reached[last == below.shape[1] - 1] = np.inf
    reached[~below.any(axis=1)] = steps[0]
    return reached


def _means(sides: Sequence[pd.DataFrame], random: bool = False, draws: int = DRAWS) -> FloatMatrix:
    # row 0 is for all runs, and the other rows are for resamples
    paired = all(side.index.equals(sides[0].index) for side in sides)
    groups = [pd.concat(sides, axis=1)] if paired else sides
    rng = stream(0, "claims")
    parts = [_counts(group.index, random, draws, rng) @ group.to_numpy(np.float64) / len(group) for group in groups]
    return np.concatenate(parts, axis=1)


def _counts(index: pd.Index[Any], random: bool, draws: int, rng: np.random.Generator) -> FloatMatrix:
    # how often each run counts: once in row 0, and in the other rows as often as it was drawn
    blocks: list[Any] = [block.to_numpy() for _, block in pd.Series(range(len(index)), index).groupby(level=0)]
    if random and len(blocks) > 1:
        if len(set(map(len, blocks))) > 1:
            raise Missing("problems have different numbers of runs")
        picks: IntMatrix = np.stack(blocks)[rng.integers(len(blocks), size=(draws, len(blocks)))].reshape(draws, -1)
    else:
        picks = np.concatenate([block[rng.integers(len(block), size=(draws, len(block)))] for block in blocks], axis=1)
    flat = (picks + len(index) * np.arange(draws)[:, None]).ravel()
    counts = np.bincount(flat, minlength=draws * len(index)).reshape(draws, len(index))
    return np.vstack([np.ones(len(index)), counts])


def _units(index: pd.Index[Any], random: bool) -> int:
    problems = index.get_level_values(0).nunique()
    return problems if random and problems > 1 else len(index) - problems + 1
