"""Distortion: measure whether the comparison of many rankers at once changes which ranker wins.

If many rankers share one short list, some of them contribute no document to it. The best ranker may then lose, although
it beats each other ranker when only two are compared. To measure this effect, random sets of rankers with a known
winner are compared by multileaving: the rankings of all rankers of a set are combined into one list. The distortion is
the share of the other rankers that beat the winner.

Brost, Seldin, Cox, Lioma. Multi-Dueling Bandits and Their Application to Online Ranker Evaluation. CIKM 2016 (arXiv
1608.06253), Section 4.2.6 and Table 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ltr_duel.clicks import ClickModel, click_model
from ltr_duel.core import (
    IntVector,
    SignMatrix,
    Streams,
    arguments,
    checked_seed,
    coin,
    errors,
    interpreted,
    kernel,
    parallel,
    random_below,
    stream,
)
from ltr_duel.interleaving import METHODS, Comparer, Comparison, compare_slate, require_able
from ltr_duel.preferences import draw_winner_set, estimate_preferences
from ltr_duel.rankers import Rankings, require_rankings

KEYS = ["method", "clicks", "rankers"]


def measure_distortion(
    rankings: Rankings,
    *,
    clicks: Sequence[str | ClickModel] = ("perfect", "navigational", "informational"),
    methods: Sequence[str] = (),
    sizes: Sequence[int] = (3, 10, 100),
    multileavings: int = 3000,
    repetitions: int = 30,
    comparisons: int = 4000,
    variance_reduction: str = "none",
    top: int = 10,
    seed: int = 0,
    jobs: int = -1,
) -> pd.DataFrame:
    """Compare random sets of rankers by multileaving, and count the rankers that beat the known winner of their set.

    The winner of a set beats each other ranker of the set in a preference matrix. This matrix is estimated first, by
    probabilistic interleaving with simulated users. All methods compare the same sets.

    Parameters
    ----------
    rankings : Rankings
    clicks : sequence of str or ClickModel
        The simulated users. For each click model, a preference matrix is estimated, and sets are drawn.
    methods : sequence of str
        Multileaving methods, with or without parameters; by default all.
    sizes : sequence of int
        The numbers of rankers in a set, each at least 2.
    multileavings : int
        The number of combined lists that are shown for each set.
    repetitions : int
        The number of sets of each size.
    comparisons : int
        The number of comparisons of each pair of rankers by which the preference matrix is estimated.
    variance_reduction : {"none", "auto"}
        The way to estimate the preference matrix. With "auto", it has smaller errors, see `estimate_preferences`.
    top : int
        The number of documents that a list shows.
    seed : int
    jobs : int
        The number of threads, which does not change the result; -1 for all cores.

    Returns
    -------
    DataFrame
        Columns: ``method``, ``clicks``, ``rankers`` (the size), ``repetition``, ``winner``, ``percent``,
        ``percent_clear``. ``percent`` is the percentage of the other rankers that won more often than they lost against
        the winner. ``percent_clear`` counts only the rankers that lead over the winner by more than two standard
        errors. If no set of this size has a winner, ``winner`` is empty and the percentages are NaN.

    Raises
    ------
    InputError
        If a name is unknown, if a method only compares pairs, or if a size is below 2 or above the number of rankers.

    Examples
    --------
    >>> from ltr_duel.data import make_corpus
    >>> from ltr_duel.rankers import feature_rankers
    >>> rankings = feature_rankers(make_corpus(queries=10, documents=8, features=3))
    >>> frame = measure_distortion(
    ...     rankings, clicks=["perfect"], methods=["sosm"], sizes=[3], repetitions=2, multileavings=50, comparisons=50
    ... )
    >>> frame[["method", "rankers", "repetition"]].values.tolist()
    [['sosm', 3, 0], ['sosm', 3, 1]]
    """
    require_rankings(rankings)
    multileavings = errors.require_whole("the number of multileavings", multileavings, 1, 10**9)
    repetitions = errors.require_whole("the number of repetitions", repetitions, 1, 10**6)
    seed = checked_seed(seed)
    sizes = [errors.require_whole("the number of rankers in a set", size, 2, len(rankings)) for size in sizes]
    chosen = list(dict.fromkeys(arguments.as_names("methods", methods))) or [m.name for m in METHODS if m.slates]
    cells: list[tuple[str, Comparer, int, int, IntVector]] = []  # method, its comparer, size, repetition, set
    for name in [clicks] if isinstance(clicks, str | ClickModel) else clicks:
        model, comparers = click_model(name, rankings.grades), {}
        for method in chosen:
            require_able(method, sets=True)
            rule = METHODS.configure(method).component.default_outcome(sets=True)
            comparers[method] = Comparer(rankings, model, method, rule, top)
        estimated: dict[str, Any] = {"outcome": "marginal_sign", "comparisons": comparisons}  # the paper's rule
        estimated |= {"variance_reduction": variance_reduction, "top": top, "seed": seed, "jobs": jobs}
        matrix = estimate_preferences(rankings, clicks=model, **estimated)
        for size in dict.fromkeys(sizes):
            keys = [(seed, "distortion", "set", model.name, size, repetition) for repetition in range(repetitions)]
            sets = [draw_winner_set(matrix, size, stream(*key)) for key in keys]
            for method, comparer in comparers.items():
                cells += [(method, comparer, size, repetition, picks) for repetition, picks in enumerate(sets)]

    def measured(cell: tuple[str, Comparer, int, int, IntVector]) -> tuple[Any, ...]:
        method, comparer, size, repetition, picks = cell
        key = (method, comparer.clicks.name, size, repetition)
        if not picks.size:
            return (*key, "", np.nan, np.nan)
        streams = Streams(*(stream(seed, "distortion", *key, name) for name in Streams._fields))
        run = multileave_often if comparer.compiled else interpreted(multileave_often)
        lead, won = np.zeros(size, np.int64), np.zeros((size, size), np.int8)
        run(comparer.open(), picks, multileavings, won, lead, streams)
        deficit = -lead[1:] / np.sqrt(multileavings)  # how far the winner is behind each ranker, in standard errors
        return (*key, rankings.names[picks[0]], 100 * float((deficit > 0).mean()), 100 * float((deficit > 2).mean()))

    rows = parallel.run_tasks(measured, cells, total=len(cells), jobs=jobs, label="distortion", unit="set")
    frame = pd.DataFrame(rows, columns=[*KEYS, "repetition", "winner", "percent", "percent_clear"])
    settings = {"multileavings": multileavings, "comparisons": comparisons, "top": top, "seed": seed}
    frame.attrs.update(rankings.provenance, queries=rankings.n_queries, rankers=len(rankings), **settings)
    return frame


def distortion_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Average a table of `measure_distortion` over the repetitions.

    There is a row for each method, click model and size. ``percent`` and ``percent_clear`` are means, and
    ``standard_error`` is the standard error of ``percent``. ``repetitions`` counts the repetitions that have a winner.
    """
    cells = frame.groupby(KEYS, sort=False)
    repetitions = cells["percent"].count()
    return pd.DataFrame(
        {
            "percent": cells["percent"].mean(),
            "standard_error": cells["percent"].std(ddof=1) / np.sqrt(repetitions),
            "percent_clear": cells["percent_clear"].mean(),
            "repetitions": repetitions,
        }
    ).reset_index()


@kernel
def multileave_often(
    comparison: Comparison, slate: IntVector, times: int, won: SignMatrix, lead: IntVector, streams: Streams
) -> None:
    """Compare a set ``times`` times, and add up in ``lead[j]`` by how many the first ranker leads over ranker j."""
    size, n_queries = slate.shape[0], comparison.lists.query_ptr.shape[0] - 1
    for _ in range(times):
        query = random_below(n_queries, streams.queries)
        compare_slate(comparison, query, slate, size, won, streams.lists, streams.clicks)
        for j in range(1, size):
            outcome = int(won[0, j])
            lead[j] += outcome if outcome != 0 else coin(streams.feedback)
