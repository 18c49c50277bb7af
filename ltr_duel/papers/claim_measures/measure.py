"""Definition of a measure, and bootstrap errors for the measures of runs.

A measure selects numbers from a table (`gather`: a sample of runs, or cells of a table), and computes from them one
number with its interval (`find`).

Errors of runs are 95 % bootstrap intervals from 2,000 resamples. Repetitions are resampled with replacement within each
problem. If a panel pools several problems that are random draws (matrices from a family, or subsets of a corpus's
rankers), whole problems are resampled instead of repetitions. Intervals are expanded percentile intervals
(see `ltr_duel.core.statistics.bootstrap_interval`). The seed is fixed, so the same table gives the same numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, statistics, stream
from ltr_duel.core import columns as col

DRAWS = 2000


class Missing(Exception):  # noqa: N818  # a result rather than an error: the claim is incomplete
    """The table lacks data that a measure needs; the message names the missing data."""


class Reading(NamedTuple):
    """The number of one panel with the ends of its interval."""

    value: Any
    low: Any
    high: Any


class Group(NamedTuple):
    """Runs that are averaged together."""

    values: FloatMatrix  # (runs, columns); the columns of a run stay together
    problem: IntVector  # (runs,) number of the problem of each run, ascending
    drawn: bool  # whether the problems are random draws

    @property
    def units(self) -> int:
        """Number of independent observations."""
        problems = len(np.unique(self.problem))
        return problems if self.drawn and problems > 1 else len(self.values) - problems + 1


class Sample(NamedTuple):
    """The numbers of one panel: groups of runs, or cells with their standard errors. Curves also have axes."""

    groups: tuple[Group, ...] = ()
    axes: tuple[FloatVector, ...] = ()
    cells: FloatVector = np.zeros(0)  # (cells,)
    errors: FloatVector = np.zeros(0)  # (cells,); 0 for exact cells

    @property
    def units(self) -> int:
        """The number of independent observations of the group that has the fewest."""
        return min(group.units for group in self.groups)


Find = Callable[..., Reading]  # (sample, **settings)


class Measure(NamedTuple):
    """A registered measure. ``words`` contains {settings}; [text in brackets] is omitted if its setting is None."""

    gather: Callable[..., Sample]  # (panel, **settings)
    find: Find
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


def measured_by(words: str, *, find: Find) -> Callable[[Callable[..., Sample]], Callable[..., Sample]]:
    """Register a measure with the name of the decorated function, which becomes its ``gather``."""

    def register(gather: Callable[..., Sample]) -> Callable[..., Sample]:
        MEASURES[gather.__name__] = Measure(gather, find, words)
        return gather

    return register


def in_words(name: str, settings: Mapping[str, Any]) -> str:
    """Describe in words how a claim is measured."""
    measure = MEASURES[name]
    given = {**(measure.gather.__kwdefaults__ or {}), **settings}
    words = re.sub(r"\[(.*?\{(\w+)\}.*?)\]", lambda part: part[1] if given[part[2]] is not None else "", measure.words)
    return words.format_map({key: format_value(value) for key, value in given.items()})


def format_value(value: Any) -> str:
    """Format a setting as text, for example a selection as ``rucb at rankers 64``."""
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
    """Return the mean of each column for the sample and then for each resample; shape (1 + `DRAWS`, columns)."""
    return np.concatenate(
        [_weighted(weights, group.values) for weights, group in zip(_weights(sample), sample.groups, strict=True)],
        axis=1,
    )


def deviations(sample: Sample) -> FloatMatrix:
    """Return the standard deviations over runs, with n - 1 degrees of freedom, in the shape of `means`."""
    parts = []
    for weights, group in zip(_weights(sample), sample.groups, strict=True):
        centred, runs = group.values - group.values.mean(axis=0), len(group.values)
        variance = _weighted(weights, centred**2) - _weighted(weights, centred) ** 2
        variance[variance < 1e-12 * (centred**2).mean(axis=0)] = 0  # the resample consists of copies of one run
        parts.append(np.sqrt(variance * runs / (runs - 1)))
    return np.concatenate(parts, axis=1)


def _weighted(weights: FloatMatrix, values: FloatMatrix) -> FloatMatrix:
    return weights @ values / len(values)


def _weights(sample: Sample) -> list[FloatMatrix]:
    """Return, for each group, how often a run is in the sample and in each resample; shape (1 + `DRAWS`, runs)."""
    if any(group.units < 2 for group in sample.groups):
        raise Missing("one repetition is not enough to estimate an error")
    rng = stream(0, "claims")
    made = []
    for group in sample.groups:
        runs = len(group.values)
        picks = _picks(group, rng) + runs * np.arange(DRAWS)[:, None]
        counts = np.bincount(picks.ravel(), minlength=DRAWS * runs).reshape(DRAWS, runs)
        made.append(np.vstack([np.ones(runs), counts.astype(np.float64)]))
    return made


def _picks(group: Group, rng: np.random.Generator) -> IntMatrix:
    """Return the indices of the runs in each resample."""
    blocks = [np.flatnonzero(group.problem == one) for one in np.unique(group.problem)]
    if not group.drawn or len(blocks) == 1:
        return np.concatenate([block[rng.integers(len(block), size=(DRAWS, len(block)))] for block in blocks], axis=1)
    if len({len(block) for block in blocks}) > 1:
        raise Missing("problems have different numbers of runs")
    return np.stack(blocks)[rng.integers(len(blocks), size=(DRAWS, len(blocks)))].reshape(DRAWS, -1)


def reading(found: FloatVector, units: int) -> Reading:
    """Return the statistic of the sample (the first entry) with the interval from the resamples (the other entries)."""
    low, high = statistics.bootstrap_interval(found[1:], units)
    return Reading(found[0], np.minimum(low, found[0]), np.maximum(high, found[0]))
