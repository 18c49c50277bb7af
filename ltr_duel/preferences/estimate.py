"""Estimate a preference matrix off-line: N simulated comparisons for each pair of rankers."""

from __future__ import annotations

import importlib.metadata
from typing import NamedTuple

import numpy as np

from ltr_duel.clicks.model import ClickModel, click_model
from ltr_duel.core.arrays import FloatVector
from ltr_duel.core.errors import InputError
from ltr_duel.core.jit import kernel
from ltr_duel.core.parallel import run_tasks
from ltr_duel.core.random import random_below, stream
from ltr_duel.interleaving.comparison import METHODS, Comparer, Comparison, compare_pair
from ltr_duel.preferences.matrix import PreferenceMatrix
from ltr_duel.rankers.rankings import Rankings

_COMPARISONS_IN_A_TASK = 100_000  # a tenth of a second: progress moves, and Ctrl-C is heard


class _Task(NamedTuple):
    """Pairs that one worker compares in one go."""

    first: tuple[int, ...]
    second: tuple[int, ...]


def estimate_preferences(
    rankings: Rankings,
    *,
    clicks: str | ClickModel = "navigational",
    method: str = "probabilistic",
    outcome: str = "marginal_sign",
    comparisons: int = 4000,
    top: int = 10,
    seed: int = 0,
    jobs: int = -1,
) -> PreferenceMatrix:
    """Compare each pair of rankers on simulated users, and return how often each one wins.

    A comparison draws a query uniformly with replacement, shows a list interleaved from the two rankers, lets the click
    model click, and credits the clicks. Each pair has its own random stream, named by the two rankers: the result
    does not depend on the number of workers, nor on which other rankers are in the set.

    Parameters
    ----------
    rankings : Rankings
        At least two rankers.
    clicks : str or ClickModel
        Name of a click model, or your own table.
    method, outcome : str
        How two rankers are compared, and who is said to have won (see `ltr_duel.interleaving`).
    comparisons : int
        For each pair, at least 2.
    top : int
        Documents shown.
    seed : int
    jobs : int
        Threads; -1 for all cores.

    Returns
    -------
    PreferenceMatrix
        ``p[i, j]`` counts a tie as half a win; ``standard_error`` is that of the mean over comparisons.

    Raises
    ------
    InputError
        For fewer than two rankers, an unknown name, or a click model that does not fit the corpus.
    """
    if len(rankings) < 2:
        raise InputError(f"preferences need at least two rankers; there is {len(rankings)} ('{rankings.names[0]}')")
    if comparisons < 2:
        raise InputError(f"the number of comparisons must be at least 2, not {comparisons}")
    if not METHODS[method].pairs:
        able = ", ".join(name for name in METHODS.names() if METHODS[name].pairs)
        raise InputError(f"'{method}' compares sets of rankers, not pairs; methods for pairs: {able}")
    model = click_model(clicks, rankings.grades) if isinstance(clicks, str) else clicks
    comparer = Comparer(rankings, model, method, outcome, top)
    size = len(rankings)
    mean, square = np.zeros((size, size)), np.zeros((size, size))

    def compare(task: _Task) -> None:
        comparison, totals = comparer.open(), np.zeros(2)
        for i, j in zip(task.first, task.second, strict=True):
            rng = stream(seed, "preferences", rankings.names[i], rankings.names[j])
            compare_often(comparison, i, j, comparisons, rng, totals)
            mean[i, j], square[i, j] = totals / comparisons

    tasks = _tasks(size, comparisons)
    for _ in run_tasks(
        compare,
        tasks,
        total=size * (size - 1) // 2,
        weight=lambda task: len(task.first),
        jobs=jobs,
        label="preferences",
        unit="pair",
    ):
        pass

    upper = np.triu_indices(size, 1)
    p, error = np.full((size, size), 0.5), np.zeros((size, size))
    p[upper] = (1 + mean[upper]) / 2
    p.T[upper] = 1 - p[upper]
    variance = (square - mean**2)[upper] * (comparisons / (comparisons - 1))
    error[upper] = np.sqrt(np.maximum(variance, 0) / comparisons) / 2
    error.T[upper] = error[upper]
    counts = np.full((size, size), comparisons)
    np.fill_diagonal(counts, 0)
    provenance = {
        **comparer.provenance,
        "comparisons": comparisons,
        "seed": seed,
        "versions": {name: importlib.metadata.version(name) for name in ("ltr-duel", "numba", "numpy")},
    }
    return PreferenceMatrix(p, rankings.names, error, counts, provenance)


@kernel
def compare_often(
    comparison: Comparison, first: int, second: int, times: int, rng: np.random.Generator, totals: FloatVector
) -> None:
    """Compare two rankers ``times`` times: the sum of the outcomes, and of their squares, in ``totals``."""
    totals[0] = 0.0
    totals[1] = 0.0
    n_queries = comparison.lists.query_ptr.shape[0] - 1
    for _ in range(times):
        outcome = compare_pair(comparison, random_below(n_queries, rng), first, second, rng, rng)
        totals[0] += outcome
        totals[1] += outcome * outcome


def _tasks(size: int, comparisons: int) -> list[_Task]:
    """Cut the pairs i < j into pieces of about equal work."""
    first, second = np.triu_indices(size, 1)
    step = max(1, _COMPARISONS_IN_A_TASK // comparisons)
    return [
        _Task(tuple(first[k : k + step].tolist()), tuple(second[k : k + step].tolist()))
        for k in range(0, len(first), step)
    ]
