"""What a measure is, and the errors that all measures share.

A measure takes numbers from a table (`gather`: a sample of runs, or cells), and makes one number with its interval of
them (`find`). What `find` does to one sample it does to many at once, stacked along a last axis: so a claim can be
tested in hundreds of simulated worlds (`ltr_duel.papers.reliability`), which `aim` makes true or false.

Errors are 95 % intervals by bootstrap: 2,000 times as many repetitions are drawn with replacement as there are, within
each problem. Where a panel pools several problems that are themselves random draws (of a family of matrices, of the
rankers of a corpus), problems are drawn and not repetitions. Intervals are expanded percentile intervals, see
`ltr_duel.core.statistics.bootstrap_interval`. The seed is fixed: the same table gives the same numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, statistics, stream
from ltr_duel.core import columns as col

DRAWS = 2000


class Missing(Exception):  # noqa: N818  # not an error: the table cannot answer
    """The table lacks data that a measure needs; the message names them."""


class Reading(NamedTuple):
    """What a measure found in one panel; or, as arrays, in one panel of many worlds."""

    value: Any
    low: Any
    high: Any


class Group(NamedTuple):
    """Runs that are averaged together."""

    values: FloatMatrix  # (runs, columns) or (runs, columns, worlds); the columns of a run stay together
    problem: IntVector  # (runs,) ascending: which problem a run is of
    drawn: bool  # whether the problems are random draws

    @property
    def units(self) -> int:
        """Number of independent observations."""
        problems = len(np.unique(self.problem))
        return problems if self.drawn and problems > 1 else len(self.values) - problems + 1


class Sample(NamedTuple):
    """The numbers of one panel: runs in groups, or cells with their standard errors; and the axes of curves."""

    groups: tuple[Group, ...] = ()
    axes: tuple[FloatVector, ...] = ()
    cells: FloatVector = np.zeros(0)  # (cells,) or (cells, worlds)
    errors: FloatVector = np.zeros(0)  # (cells,); 0 where a cell is exact

    @property
    def units(self) -> int:
        """Fewest independent observations of a group."""
        return min(group.units for group in self.groups)


Find = Callable[..., Reading]  # (sample, **settings)
Aim = Callable[..., Sample]  # (worlds, population, target, **settings)


class Measure(NamedTuple):
    """A registered measure. In the words {settings} are in braces; text in brackets is left out if not given."""

    gather: Callable[..., Sample]  # (panel, **settings)
    find: Find
    aim: Aim
    words: str

    def read(self, sample: Sample, **settings: Any) -> Reading:
        """Return the number of one sample with its interval."""
        found = self.find(sample, **settings)
        if not np.isfinite(found.value) and sample.groups:
            raise Missing("the number is not finite")
        return Reading(*(float(one) for one in found))

    def run(self, panel: Any, **settings: Any) -> Reading:
        """Measure a panel of a table."""
        return self.read(self.gather(panel, **settings), **settings)


MEASURES: dict[str, Measure] = {}


def measured_by(words: str, *, find: Find, aim: Aim) -> Callable[[Callable[..., Sample]], Callable[..., Sample]]:
    """Register a function that gathers numbers as the measure of its name."""

    def register(gather: Callable[..., Sample]) -> Callable[..., Sample]:
        MEASURES[gather.__name__] = Measure(gather, find, aim, words)
        return gather

    return register


def in_words(name: str, settings: Mapping[str, Any]) -> str:
    """Return how a claim is measured, in words."""
    measure = MEASURES[name]
    given = {**(measure.gather.__kwdefaults__ or {}), **settings}
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


def means(sample: Sample) -> FloatMatrix:
    """Return the mean over runs of each column of each group: (1 + `DRAWS`, columns, ...), the sample itself first."""
    return np.concatenate(
        [_weighted(weights, group.values) for weights, group in zip(_weights(sample), sample.groups, strict=True)],
        axis=1,
    )


def deviations(sample: Sample) -> FloatMatrix:
    """Return the standard deviations over runs (n - 1) in the same way."""
    parts = []
    for weights, group in zip(_weights(sample), sample.groups, strict=True):
        centred, runs = group.values - group.values.mean(axis=0), len(group.values)
        variance = _weighted(weights, centred**2) - _weighted(weights, centred) ** 2
        variance[variance < 1e-12 * (centred**2).mean(axis=0)] = 0  # one run, drawn again and again
        parts.append(np.sqrt(variance * runs / (runs - 1)))
    return np.concatenate(parts, axis=1)


def _weighted(weights: FloatMatrix, values: FloatMatrix) -> FloatMatrix:
    return (weights @ values.reshape(len(values), -1)).reshape(-1, *values.shape[1:]) / len(values)


def _weights(sample: Sample) -> list[FloatMatrix]:
    """Return how often each run is in the sample itself and in its bootstrap samples: (1 + DRAWS, runs)."""
    if any(group.units < 2 for group in sample.groups):
        raise Missing("one repetition gives no error")
    rng = stream(0, "claims")
    made = []
    for group in sample.groups:
        runs = len(group.values)
        picks = _picks(group, rng) + runs * np.arange(DRAWS)[:, None]
        counts = np.bincount(picks.ravel(), minlength=DRAWS * runs).reshape(DRAWS, runs)
        made.append(np.vstack([np.ones(runs), counts.astype(np.float64)]))
    return made


def _picks(group: Group, rng: np.random.Generator) -> IntMatrix:
    """Return the places of the runs of each bootstrap sample."""
    blocks = [np.flatnonzero(group.problem == one) for one in np.unique(group.problem)]
    if not group.drawn or len(blocks) == 1:
        return np.concatenate([block[rng.integers(len(block), size=(DRAWS, len(block)))] for block in blocks], axis=1)
    if len({len(block) for block in blocks}) > 1:
        raise Missing("problems have different numbers of runs")
    return np.stack(blocks)[rng.integers(len(blocks), size=(DRAWS, len(blocks)))].reshape(DRAWS, -1)


def reading(found: FloatMatrix, units: int) -> Reading:
    """Turn a statistic, first of the sample and then of its bootstrap samples, into a number with its interval."""
    if found.ndim == 1:
        low, high = statistics.bootstrap_interval(found[1:], units)
    else:
        low, high = np.transpose(
            [statistics.bootstrap_interval(one, units) for one in np.ascontiguousarray(found[1:].T)]
        )
    return Reading(found[0], np.minimum(low, found[0]), np.maximum(high, found[0]))
