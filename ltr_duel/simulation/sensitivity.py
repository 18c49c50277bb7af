"""Sensitivity: the number of impressions that a comparison method needs to identify the better of two rankers.

Pairs of rankers are drawn at random; the better ranker has the higher NDCG@10. Each method compares each pair
repeatedly on simulated users. After n impressions, the method selects the ranker with the larger sum of outcomes. The
accuracy of the method is the share of repetitions in which it selects the better ranker; equal sums count as half.
Multileaving methods compare the two rankers as a set.

After Hofmann, Whiteson, de Rijke. Fidelity, Soundness, and Efficiency of Interleaved Comparison Methods. TOIS 2013,
Section 5.3 (efficiency). A method may never reach 100 % accuracy, because users and NDCG disagree about some pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ltr_duel.clicks import ClickModel, click_model
from ltr_duel.core import (
    FloatVector,
    InputError,
    IntVector,
    Streams,
    arguments,
    checked_seed,
    errors,
    interpreted,
    parallel,
    stream,
)
from ltr_duel.interleaving import METHODS, Comparer
from ltr_duel.rankers import Rankings, measure_by_query, require_rankings
from ltr_duel.simulation.repeated import walk_pairs, walk_slates
from ltr_duel.simulation.run import checkpoints


class _Task(NamedTuple):
    """One method on one pair."""

    method: str
    comparer: Comparer
    better: int
    worse: int
    times: IntVector
    repetitions: int
    seed: int


def measure_sensitivity(
    rankings: Rankings,
    *,
    clicks: str | ClickModel = "navigational",
    methods: Sequence[str] = (),
    pairs: int = 20,
    least_gap: float = 0.01,
    impressions: int = 3000,
    repetitions: int = 100,
    top: int = 10,
    seed: int = 0,
    jobs: int = -1,
) -> pd.DataFrame:
    """Measure each method's accuracy as a function of the number of impressions.

    Parameters
    ----------
    rankings : Rankings
    clicks : str or ClickModel
    methods : sequence of str
        Names of methods, with or without parameters; by default all methods.
    pairs : int
        Number of pairs of rankers, drawn without replacement; all methods compare the same pairs.
    least_gap : float
        Only pairs whose NDCG@10 differs by more than this are drawn.
    impressions : int
        Number of impressions of each pair in each repetition.
    repetitions : int
    top : int
        Number of documents shown.
    seed : int
    jobs : int
        Number of threads, which does not change the result; -1 for all cores.

    Returns
    -------
    DataFrame
        One row for each method, pair and checkpoint: ``method``, ``clicks``, ``better``, ``worse``, ``gap`` (difference
        of NDCG@10), ``impressions``, ``accuracy`` and ``repetitions``.

    Raises
    ------
    InputError
        If a name is unknown, if a number is out of range, or if no two rankers differ enough.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=10, documents=8, features=3))
    >>> frame = measure_sensitivity(rankings, methods=["team_draft"], pairs=1, impressions=10, repetitions=4)
    >>> frame["impressions"].max(), frame["accuracy"].between(0, 1).all()
    (np.int64(10), np.True_)
    """
    require_rankings(rankings)
    pairs, impressions, repetitions = (
        errors.require_whole(f"the number of {name}", count, 1, most)
        for name, count, most in (
            ("pairs", pairs, 10**9),
            ("impressions", impressions, 10**9),
            ("repetitions", repetitions, 10**6),
        )
    )
    seed = checked_seed(seed)
    errors.require_between("the least difference of NDCG@10", least_gap, 0, 1)
    model = click_model(clicks, rankings.grades)
    chosen = list(dict.fromkeys(map(str.strip, arguments.as_names("methods", methods)))) or METHODS.names()
    comparers = {method: Comparer(rankings, model, method, "", top) for method in chosen}
    quality = measure_by_query(rankings, "NDCG@10").mean(axis=1)
    drawn = draw_pairs(quality, pairs, least_gap, seed)
    times = checkpoints(impressions, per_decade=8)
    tasks = [
        _Task(method, comparer, better, worse, times, repetitions, seed)
        for method, comparer in comparers.items()
        for better, worse in drawn
    ]
    tables = []
    answers = parallel.run_tasks(_measure, tasks, total=len(tasks), jobs=jobs, label="sensitivity", unit="pair")
    for task, accuracy in zip(tasks, answers, strict=True):
        named = {
            "method": task.method,
            "clicks": model.name,
            "better": rankings.names[task.better],
            "worse": rankings.names[task.worse],
            "gap": quality[task.better] - quality[task.worse],
        }
        tables.append(pd.DataFrame({**named, "impressions": times, "accuracy": accuracy, "repetitions": repetitions}))
    frame = pd.concat(tables, ignore_index=True)
    frame.attrs.update(rankings.provenance, top=top, seed=seed, least_gap=least_gap)
    return frame


def draw_pairs(quality: FloatVector, count: int, least_gap: float, seed: int) -> list[tuple[int, int]]:
    """Draw ``count`` pairs (better, worse) of rankers that differ by more than ``least_gap``; if fewer exist, all."""
    better, worse = np.nonzero(quality[:, None] - quality[None, :] > least_gap)
    if not better.size:
        raise InputError(f"no two of the {len(quality)} rankers differ by more than {least_gap:g} in NDCG@10")
    picks = np.argsort(stream(seed, "sensitivity", "pairs").random(len(better)), kind="stable")[:count]
    return [(int(better[k]), int(worse[k])) for k in picks]


def sensitivity_table(frame: pd.DataFrame, accuracy: float = 0.95) -> pd.DataFrame:
    """Compute from a table of `measure_sensitivity` how many impressions each method needs.

    A pair becomes sure at the first checkpoint from which its accuracy stays at or above ``accuracy``. Columns:
    ``method``; ``impressions``, the median of these checkpoints over pairs (NaN unless more than half of the pairs
    become sure); ``pairs_sure``, the share of pairs that become sure; ``accuracy``, the mean accuracy of the pairs at
    the last checkpoint, with its ``standard_error``.
    """
    rows = []
    for method, part in frame.groupby("method", sort=False):
        curves = part.pivot(index="impressions", columns=["better", "worse"], values="accuracy")
        needed = np.array([_needed(curves[pair], accuracy) for pair in curves])
        median = float(np.quantile(needed, 0.5, method="higher"))
        last = curves.iloc[-1]
        rows.append(
            {
                "method": method,
                "impressions": median if np.isfinite(median) else np.nan,
                "pairs_sure": np.isfinite(needed).mean(),
                "accuracy": last.mean(),
                "standard_error": last.std(ddof=1) / np.sqrt(len(last)),
            }
        )
    return pd.DataFrame(rows)


def _needed(curve: pd.Series[float], accuracy: float) -> float:
    """Return the first checkpoint from which the curve stays at or above ``accuracy``; infinity if there is none."""
    missed = np.flatnonzero(curve < accuracy)
    first = missed[-1] + 1 if missed.size else 0
    return float(curve.index[first]) if first < len(curve) else np.inf


def _measure(task: _Task) -> FloatVector:
    """Return the accuracy of one method on one pair at each checkpoint."""
    comparer, right = task.comparer, np.zeros(len(task.times))
    pairs = comparer.configured.component.pairs
    walk = walk_pairs if pairs else walk_slates
    run = walk if comparer.compiled else interpreted(walk)
    comparison, slate = comparer.open(), np.array([task.better, task.worse])
    won = np.zeros((2, 2), np.int8)
    names = [comparer.rankings.names[k] for k in slate]
    for repetition in range(task.repetitions):
        key = ("sensitivity", task.method, comparer.clicks.name, *names, repetition)
        streams = Streams(*(stream(task.seed, *key, name) for name in Streams._fields))
        run(comparison, slate, won, task.times, right, streams)
    return right / task.repetitions
