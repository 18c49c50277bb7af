"""What a measure is, and the errors that all measures share.

Errors are 95 % intervals by bootstrap: 2,000 times as many repetitions are drawn with replacement as there are, within
each problem. Where a panel pools several problems that are themselves random draws (of a family of matrices, of the
rankers of a corpus), problems are drawn and not repetitions. Intervals are expanded percentile intervals, see
`ltr_duel.simulation.bootstrap_interval`. The seed is fixed: the same table gives the same numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, stream
from ltr_duel.core import columns as col
from ltr_duel.simulation import bootstrap_interval

DRAWS = 2000


class Missing(Exception):  # noqa: N818  # not an error: the table cannot answer
    """The table does not hold what a measure needs; the message says what."""


class Reading(NamedTuple):
    """What a measure found in one panel."""

    value: float
    low: float
    high: float


class Measure(NamedTuple):
    """A registered measure: ``run(panel, **settings)``, and how it measures.

    In the words {settings} are in braces; text in brackets is left out if its setting is not given.
    """

    run: Callable[..., Reading]
    words: str


MEASURES: dict[str, Measure] = {}


def measured_by(name: str, words: str) -> Callable[[Callable[..., Reading]], Callable[..., Reading]]:
    """Register a function as the measure of that name."""

    def register(run: Callable[..., Reading]) -> Callable[..., Reading]:
        MEASURES[name] = Measure(run, words)
        return run

    return register


def in_words(name: str, settings: Mapping[str, Any]) -> str:
    """Say how a claim is measured."""
    measure = MEASURES[name]
    given = {**(measure.run.__kwdefaults__ or {}), **settings}
    words = re.sub(r"\[(.*?\{(\w+)\}.*?)\]", lambda part: part[1] if given[part[2]] is not None else "", measure.words)
    return words.format_map({key: format_value(value) for key, value in given.items()})


def format_value(value: Any) -> str:
    """Write a setting as text: a selection as ``rucb at rankers 64``."""
    if isinstance(value, Mapping):
        if not value:
            return "each"
        if value.keys() <= {"at_least", "at_most"}:
            return " and ".join(f"{key.replace('_', ' ')} {format_value(one)}" for key, one in value.items())
        others = ", ".join(f"{key} {format_value(one)}" for key, one in value.items() if key != col.POLICY)
        return " at ".join(filter(None, (format_value(value[col.POLICY]) if col.POLICY in value else "", others)))
    if isinstance(value, list | tuple):
        return ", ".join(map(format_value, value))
    if isinstance(value, float):
        return f"{value:g}"
    name = str(value)
    return col.regret_label(name) if name.startswith("regret_") else name


class Group(NamedTuple):
    """Runs that are averaged together."""

    values: FloatMatrix  # (runs, columns); the columns of a run stay together
    problem: IntVector  # (runs,) ascending: which problem a run is of
    drawn: bool  # whether the problems are random draws

    @property
    def units(self) -> int:
        """Number of independent observations."""
        problems = len(np.unique(self.problem))
        return problems if self.drawn and problems > 1 else len(self.values) - problems + 1


def resampled(groups: Sequence[Group], statistic: Callable[[FloatMatrix], FloatVector]) -> list[FloatVector]:
    """Apply a statistic to the groups and to their bootstrap samples.

    Parameters
    ----------
    groups : sequence of Group
    statistic : callable
        Takes (..., runs, columns), returns (..., columns): the mean, or the standard deviation, over runs.

    Returns
    -------
    list of array
        For each group (1 + `DRAWS`, columns): first the group itself, then the samples.
    """
    if any(group.units < 2 for group in groups):
        raise Missing("one repetition gives no error")
    rng = stream(0, "claims")
    return [
        np.concatenate([statistic(group.values)[None], statistic(group.values[_picks(group, rng)])]) for group in groups
    ]


def _picks(group: Group, rng: np.random.Generator) -> IntMatrix:
    """Return the places of the runs of each sample."""
    blocks = [np.flatnonzero(group.problem == one) for one in np.unique(group.problem)]
    if not group.drawn or len(blocks) == 1:
        return np.concatenate([block[rng.integers(len(block), size=(DRAWS, len(block)))] for block in blocks], axis=1)
    if len({len(block) for block in blocks}) > 1:
        raise Missing("problems have different numbers of runs")
    return np.stack(blocks)[rng.integers(len(blocks), size=(DRAWS, len(blocks)))].reshape(DRAWS, -1)


def mean(values: FloatMatrix) -> FloatVector:
    """Over runs."""
    return np.asarray(values.mean(axis=-2))


def deviation(values: FloatMatrix) -> FloatVector:
    """Over runs, n - 1."""
    return np.asarray(values.std(axis=-2, ddof=1))


def reading(found: FloatVector, units: int) -> Reading:
    """Turn a statistic (first of the data, then of its samples) into a number with its interval."""
    if not np.isfinite(found[0]):
        raise Missing("the number is not finite")
    low, high = bootstrap_interval(found[1:], units)
    return Reading(float(found[0]), float(min(low, found[0])), float(max(high, found[0])))
