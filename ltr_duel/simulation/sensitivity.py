"""Sensitivity: measure how many impressions a comparison method needs to find the better of two rankers.

Random pairs of rankers are drawn. The better ranker of a pair has the higher NDCG@10. Each method compares each pair
with simulated users, in many repetitions. The accuracy after n impressions is the share of repetitions in which the
better ranker is ahead. It can stay below 100 %, because users may prefer the ranker with the lower NDCG@10.

After Hofmann, Whiteson, de Rijke. Fidelity, Soundness, and Efficiency of Interleaved Comparison Methods. TOIS 2013,
Section 5.3 (efficiency).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd
from scipy import special

from ltr_duel.clicks import ClickModel, click_model
from ltr_duel.core import (
    FloatVector,
    InputError,
    IntVector,
    SignMatrix,
    Streams,
    arguments,
    checked_seed,
    errors,
    interpreted,
    kernel,
    parallel,
    random_below,
    stream,
)
from ltr_duel.interleaving import METHODS, Comparer, Comparison, compare_pair, compare_slate
from ltr_duel.rankers import Rankings, measure_by_query, require_rankings
from ltr_duel.simulation.run import checkpoints


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
    """Measure how often each method finds the better of two rankers, after a growing number of impressions.

    Parameters
    ----------
    rankings : Rankings
    clicks : str or ClickModel
        The simulated users.
    methods : sequence of str
        The comparison methods, with or without parameters; by default all.
    pairs : int
        The number of different pairs of rankers. All methods compare the same pairs.
    least_gap : float
        The difference of NDCG@10 that the two rankers of a pair must exceed.
    impressions : int
        The number of impressions of each pair in a repetition.
    repetitions : int
    top : int
        The number of documents that a list shows.
    seed : int
    jobs : int
        The number of threads, which does not change the result; -1 for all cores.

    Returns
    -------
    DataFrame
        One row for each method, pair and number of impressions. Columns: ``method``, ``clicks``, ``better``, ``worse``,
        ``gap`` (the difference of NDCG@10 of the two rankers), ``impressions``, ``accuracy`` and ``repetitions``.

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
    pairs = errors.require_whole("the number of pairs", pairs, 1, 10**9)
    impressions = errors.require_whole("the number of impressions", impressions, 1, 10**9)
    repetitions = errors.require_whole("the number of repetitions", repetitions, 1, 10**6)
    errors.require_between("the least difference of NDCG@10", least_gap, 0, 1)
    seed, model = checked_seed(seed), click_model(clicks, rankings.grades)
    chosen = list(dict.fromkeys(arguments.as_names("methods", methods))) or METHODS.names()
    comparers = {method: Comparer(rankings, model, method, "", top) for method in chosen}
    quality = measure_by_query(rankings, "NDCG@10").mean(axis=1)
    times = checkpoints(impressions, per_decade=8)
    cells = list(product(chosen, draw_pairs(quality, pairs, least_gap, seed)))

    def accuracy_of(cell: tuple[str, tuple[int, int]]) -> FloatVector:
        (method, pair), comparer = cell, comparers[cell[0]]
        count = count_pairs if comparer.configured.component.pairs else count_sets
        run = count if comparer.compiled else interpreted(count)
        comparison, correct, won = comparer.open(), np.zeros(len(times)), np.zeros((2, 2), np.int8)
        key = ("sensitivity", method, model.name, *(rankings.names[k] for k in pair))
        for repetition in range(repetitions):
            streams = Streams(*(stream(seed, *key, repetition, name) for name in Streams._fields))
            run(comparison, np.array(pair), won, times, correct, streams)
        return correct / repetitions

    tables = []
    curves = parallel.run_tasks(accuracy_of, cells, total=len(cells), jobs=jobs, label="sensitivity", unit="pair")
    for (method, (better, worse)), accuracy in zip(cells, curves, strict=True):
        names, gap = (
            {"better": rankings.names[better], "worse": rankings.names[worse]},
            quality[better] - quality[worse],
        )
        row = {"method": method, "clicks": model.name, **names, "gap": gap}
        tables.append(pd.DataFrame({**row, "impressions": times, "accuracy": accuracy, "repetitions": repetitions}))
    frame = pd.concat(tables, ignore_index=True)
    frame.attrs.update(rankings.provenance, top=top, seed=seed, least_gap=least_gap)
    return frame


def draw_pairs(quality: FloatVector, count: int, least_gap: float, seed: int) -> list[tuple[int, int]]:
    """Draw up to ``count`` pairs of rankers, the better ranker first, that differ by more than ``least_gap``."""
    better, worse = np.nonzero(quality[:, None] - quality[None, :] > least_gap)
    if not better.size:
        raise InputError(f"no two of the {len(quality)} rankers differ by more than {least_gap:g} in NDCG@10")
    picks = np.argsort(stream(seed, "sensitivity", "pairs").random(len(better)), kind="stable")[:count]
    return [(int(better[k]), int(worse[k])) for k in picks]


def sensitivity_table(frame: pd.DataFrame, accuracy: float = 0.95) -> pd.DataFrame:
    """Return how many impressions each method needs, from a table of `measure_sensitivity`.

    A pair becomes sure when its accuracy reaches ``accuracy`` and stays at least as high. ``impressions`` is the median
    number of impressions until a pair becomes sure. It is NaN if at least half of the pairs never become sure. ``low``
    and ``high`` are its 95% interval over pairs, and the extremes for fewer than six pairs; NaN has the same meaning.
    ``pairs_sure`` is the share of pairs that become sure. ``accuracy`` is the mean accuracy after all impressions, with
    its ``standard_error``.
    """
    rows = []
    for method, part in frame.groupby("method", sort=False):
        curves = part.pivot(index="impressions", columns=["better", "worse"], values="accuracy")
        sure = (curves >= accuracy)[::-1].cummin()[::-1].to_numpy()  # at this checkpoint and all later ones
        needed, n = np.sort(np.where(sure[-1], curves.index[sure.argmax(axis=0)], np.nan)), sure.shape[1]
        rank = max(1, int(np.searchsorted(special.bdtr(np.arange(n), n, 0.5), 0.025, side="right")))  # of the sign test
        last = curves.iloc[-1]
        rows.append(
            {
                "method": method,
                "impressions": needed[n // 2],
                "low": needed[rank - 1],
                "high": needed[-rank],
                "pairs_sure": sure[-1].mean(),
                "accuracy": last.mean(),
                "standard_error": last.std(ddof=1) / np.sqrt(len(last)),
            }
        )
    return pd.DataFrame(rows)


@kernel
def count_pairs(
    comparison: Comparison, slate: IntVector, won: SignMatrix, times: IntVector, correct: FloatVector, streams: Streams
) -> None:
    """Run one repetition. Add 1 to ``correct[c]`` if the better ranker leads at checkpoint c, and 1/2 for a tie."""
    n_queries, balance, t = comparison.lists.query_ptr.shape[0] - 1, 0.0, 0
    for c in range(times.shape[0]):
        while t < times[c]:
            query = random_below(n_queries, streams.queries)
            balance += compare_pair(comparison, query, slate[0], slate[1], streams.lists, streams.clicks)
            t += 1
        correct[c] += leads(balance)


@kernel
def count_sets(
    comparison: Comparison, slate: IntVector, won: SignMatrix, times: IntVector, correct: FloatVector, streams: Streams
) -> None:
    """Do the same as `count_pairs` with a method that compares sets of rankers."""
    n_queries, balance, t = comparison.lists.query_ptr.shape[0] - 1, 0.0, 0
    for c in range(times.shape[0]):
        while t < times[c]:
            query = random_below(n_queries, streams.queries)
            compare_slate(comparison, query, slate, 2, won, streams.lists, streams.clicks)
            balance += float(won[0, 1])
            t += 1
        correct[c] += leads(balance)


@kernel
def leads(balance: float) -> float:
    """Return 1 if the first ranker is ahead, 0 if the second ranker is ahead, and 1/2 if they are equal."""
    return 0.5 + 0.5 * (int(balance > 1e-9) - int(balance < -1e-9))
