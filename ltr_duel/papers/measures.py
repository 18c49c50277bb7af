"""Measurements for figures that need no runs of policies.

Each function gets the path of the data in ``entry``, and the settings of the figure as further arguments. It returns a
table with a row for each measured value. The column ``item`` says what was measured, and ``rankers`` says for how many
rankers. The columns ``low`` and ``high`` are the ends of an interval around ``value``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
import pandas as pd
import scipy  # its modules are loaded on first use

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, parallel, statistics, stream
from ltr_duel.data import load_dataset
from ltr_duel.preferences import (
    PreferenceMatrix,
    arxiv,
    condorcet_shares,
    gamma_btm,
    gamma_rucb,
    load_preferences,
    random_condorcet_subset,
    strong_violations,
    total_order_share,
    transitive_null,
    triangle_violations,
    wins_beyond_noise,
)
from ltr_duel.rankers import Rankings, constant_features, feature_rankers
from ltr_duel.simulation import distortion_table, measure_distortion

_COLUMNS = ["item", "rankers", "value", "low", "high"]
_SETS = 1000  # number of sampled sets of each size, from which the largest possible share is computed
_REDRAWN = 400  # number of matrices drawn around a published one
_WORLDS, _FEW_SUBSETS = 99, 200


def arxiv_properties(*, entry: Mapping[str, Any], jobs: int) -> pd.DataFrame:
    """Compute properties of the preference matrix that Beat the Mean prints in its Table 1."""
    matrix = arxiv()
    violations, (broken, triples) = triangle_violations(matrix), strong_violations(matrix)
    values = {
        "gamma": gamma_btm(matrix),
        "pairs that the order A, ..., F does not contradict": (matrix.p >= 0.5)[np.triu_indices(len(matrix), 1)].sum(),
        "violations of the triangle inequality": np.nan if violations is None else violations,
        "violations of strong transitivity": broken,
        "triples in which A beats B beats C": triples,
    }
    return _exact((item, len(matrix), value) for item, value in values.items())


def subset_shares(*, entry: Mapping[str, Any], jobs: int, subsets: int, seed: int = 0) -> pd.DataFrame:
    """Return which share of the sets of each size has a Condorcet winner or a total order (RUCB, section 8.1).

    The published matrix is an estimate, so each share has an interval. ``subsets`` is the number of random sets of each
    size. If there are fewer sets of a size, all of them are used.
    """
    matrix = _published(entry)
    sizes = range(1, len(matrix) + 1)
    tasks: dict[str, Any] = {"total": len(sizes), "jobs": jobs, "unit": "size", "first_alone": False}
    ordered = list(
        parallel.run_tasks(
            lambda size: total_order_share(matrix, size, subsets=subsets, seed=seed), sizes, label="subsets", **tasks
        )
    )
    wins = wins_beyond_noise(matrix)
    # the upper end is the share of sets in which the clear wins leave a winner (or a total order) possible
    most = np.array([_possible(wins, size, seed) for size in sizes])
    # the lower end is a quantile of the shares if noise is added to the matrix; 0 for total orders
    least = np.quantile([condorcet_shares(other) for other in _around(matrix, seed)], 0.025, axis=0)
    rows = [
        *zip(["condorcet winner"] * len(sizes), sizes, condorcet_shares(matrix), least, most[:, 0], strict=True),
        *zip(["total order"] * len(sizes), sizes, ordered, np.zeros(len(sizes)), most[:, 1], strict=True),
        ("sizes from which fewer than a tenth have a total order", len(matrix), *_below(ordered, most[:, 1])),
    ]
    return pd.DataFrame(rows, columns=_COLUMNS)


def _below(*curves: Sequence[float] | FloatVector) -> tuple[float, float, float]:
    sizes = []
    for curve in curves:
        above = np.flatnonzero(np.asarray(curve) >= 0.1)[-1] + 1
        sizes.append(float(above + 1) if above < len(curve) else np.inf)
    return sizes[0], min(sizes), max(sizes)


def _possible(wins: FloatMatrix, size: int, seed: int) -> tuple[float, float]:
    components = scipy.sparse.csgraph.connected_components
    if comb(len(wins), size) > 1 and components(wins, directed=True, connection="strong")[0] == len(wins):
        return 1.0, 1.0
    rng, counts = stream(seed, "possible orders", size), np.zeros(2)
    for _ in range(_SETS):
        picks = rng.permutation(len(wins))[:size]
        inside = wins[np.ix_(picks, picks)]
        counts += not inside.any(axis=0).all(), components(inside, directed=True, connection="strong")[0] == size
    return float(counts[0] / _SETS), float(counts[1] / _SETS)


def _around(matrix: PreferenceMatrix, seed: int) -> Iterator[PreferenceMatrix]:
    # adds noise that is as large as the standard errors
    rng, upper = stream(seed, "around an estimate"), np.triu_indices(len(matrix), 1)
    for _ in range(_REDRAWN):
        p = np.full(matrix.p.shape, 0.5)
        p[upper] = np.clip(matrix.p[upper] + matrix.standard_error[upper] * rng.standard_normal(len(upper[0])), 0, 1)
        p.T[upper] = 1 - p[upper]
        yield PreferenceMatrix(p, matrix.names)


def subset_gammas(
    *, entry: Mapping[str, Any], jobs: int, printed: Mapping[str, float], subsets: int, seed: int = 0
) -> pd.DataFrame:
    """Return gamma of a published matrix, and of random subsets that have a Condorcet winner (RUCB, section 3).

    Gamma measures how far preferences are from strong transitivity. The intervals are ranges over the subsets.
    ``printed`` is the gamma that the paper prints for one subset of each size. The column ``percentile`` is the
    percentage of our subsets whose gamma is at most the printed gamma.

    The item "p of strong transitivity" is the p-value of a test of strong transitivity. The test compares the published
    matrix with simulated matrices that have strong transitivity.
    """
    matrix = _published(entry)
    rows: list[tuple[Any, ...]] = [
        ("gamma", len(matrix), gamma_rucb(matrix)),
        ("comparisons of each pair", len(matrix), int(matrix.comparisons.max())),
    ]
    for size, gamma in ((int(size), gamma) for size, gamma in printed.items()):
        drawn = _gammas(matrix, size, subsets, seed, jobs)[:, 1]
        rows.append(("gamma", size, np.median(drawn), drawn.min(), drawn.max(), 100 * (drawn <= gamma).mean()))

        # the test compares a low quantile of gamma over the subsets, with gamma as defined in Beat the Mean
        def low_gamma(world: PreferenceMatrix, size: int = size) -> float:
            return float(np.quantile(_gammas(world, size, _FEW_SUBSETS, seed, 1)[:, 0], 0.05))

        rng = stream(seed, "transitive worlds", matrix.digest)
        table = transitive_null(matrix, rng, worlds=_WORLDS, statistics={"": (low_gamma, +1)})
        rows.append(("p of strong transitivity", size, float(table["p_value"].iloc[0])))
    filled = [(*row, *[row[2]] * 2, np.nan) if len(row) == 3 else row for row in rows]
    return pd.DataFrame(filled, columns=[*_COLUMNS, "percentile"])


def _gammas(matrix: PreferenceMatrix, size: int, subsets: int, seed: int, jobs: int) -> FloatMatrix:
    # the columns are gamma by Beat the Mean, and gamma by RUCB

    def of_subset(number: int) -> tuple[float, float]:
        chosen = random_condorcet_subset(matrix, size, seed=seed * subsets + number)
        return float(gamma_btm(chosen) or np.nan), float(gamma_rucb(chosen) or np.nan)

    tasks: dict[str, Any] = {"label": f"gamma of {size} rankers", "unit": "set", "first_alone": False}
    return np.array(list(parallel.run_tasks(of_subset, range(subsets), total=subsets, jobs=jobs, **tasks)))


def distortion(
    *,
    entry: Mapping[str, Any],
    jobs: int,
    corpus: str,
    sizes: Sequence[int],
    resamples: int,
    without: int | None = None,
    seed: int = 0,
    **sampled: Any,
) -> pd.DataFrame:
    """Return the percentage of rankers that beat the winner of their set if the whole set is interleaved.

    The winner of a set beats each other ranker of the set in a comparison of two (Multi-Dueling Bandits, Table 3). For
    the interval, queries are drawn again at random, and everything is measured again. The column ``clear`` counts only
    rankers that beat the winner by more than two standard errors.

    ``without`` is the position, from 0, of a feature to leave out. ``sampled`` are further arguments of
    `ltr_duel.simulation.measure_distortion`.
    """
    dataset = load_dataset(entry["path"], jobs=jobs)
    left_out = {*constant_features(dataset), *([] if without is None else [dataset.feature_names[without]])}
    features = [name for name in dataset.feature_names if name not in left_out]
    rankings = feature_rankers(dataset, features=features, jobs=jobs)
    fitting = [size for size in sizes if size <= len(rankings)]

    def table(users: Rankings, seed: int) -> pd.DataFrame:
        rows = measure_distortion(users, methods=["sosm"], sizes=fitting, jobs=jobs, seed=seed, **sampled)
        return distortion_table(rows)

    rng, whole = stream(seed, "resampled queries"), table(rankings, seed)
    queries = [rng.integers(rankings.n_queries, size=rankings.n_queries) for _ in range(resamples)]
    again = [table(_of_queries(rankings, picks), seed + n)["percent"] for n, picks in enumerate(queries, 1)]
    reach = np.std(again, axis=0, ddof=1) * statistics.student_quantile(0.975, resamples - 1)
    return pd.DataFrame(
        {
            "item": corpus,
            "clicks": whole["clicks"],
            "rankers": whole["rankers"],
            "value": whole["percent"],
            "low": np.clip(whole["percent"] - reach, 0, 100),
            "high": np.clip(whole["percent"] + reach, 0, 100),
            "clear": whole["percent_clear"],
            "queries": rankings.n_queries,
        }
    )


def _of_queries(rankings: Rankings, picks: IntVector) -> Rankings:
    ptr = rankings.query_ptr
    rows = np.concatenate([np.arange(ptr[query], ptr[query + 1]) for query in picks])
    return replace(
        rankings,
        order=rankings.order[:, rows],
        rank=rankings.rank[:, rows],
        tied=rankings.tied[:, rows] if rankings.tied.size else rankings.tied,
        relevance=rankings.relevance[rows],
        query_ptr=np.append(0, np.cumsum(np.diff(ptr)[picks])),
        tied_documents=np.zeros(0, np.int64),
    )


def stored_runs(*, entry: Mapping[str, Any], jobs: int, file: str, **facts: Any) -> pd.DataFrame:
    """Read final regrets from a CSV file with the columns gamma and policy, and a column for each repetition."""
    wide = pd.read_csv(file)
    frame = wide.melt(["gamma", "policy"], var_name="repetition", value_name="regret_average")
    problem = "gamma " + frame["gamma"].astype(str)
    return frame.assign(repetition=frame["repetition"].astype(int), problem=problem, **facts)


def _published(entry: Mapping[str, Any]) -> PreferenceMatrix:
    return load_preferences(entry["file"], comparisons=entry.get("comparisons"))


def _exact(rows: Any) -> pd.DataFrame:
    return pd.DataFrame([(*row, row[-1], row[-1]) for row in rows], columns=_COLUMNS)
