"""Measure how often the interval of `logs weigh` contains the true mean outcome.

    python -m benchmarks.studies.errors_off_policy [--logs 100] [--model ubm]

There are twenty queries of ten documents and four rankers, A to D. A log contains A:B, A:C and B:D; all six pairs are
weighed. All rankers agree on a share of the queries; on the other queries, each ranker is a common order with noise.
The true value is the mean of 20,000 comparisons of each query, weighted by the queries of the log. Refused pairs do not
count.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.studies.tables import table
from ltr_duel.clicks import click_model
from ltr_duel.core import FloatMatrix, FloatVector, IntVector, kernel, stream
from ltr_duel.interleaving import Comparer, compare_pair
from ltr_duel.logs import ClickLog, simulate_log, weigh_outcomes
from ltr_duel.rankers import Rankings
from tests.conftest import inverse

NAMES = ("A", "B", "C", "D")
PAIRS = tuple(itertools.combinations(range(4), 2))
QUERIES, DOCUMENTS = 20, 10
SHOWN = {("A", "B"): 0.8, ("A", "C"): 0.1, ("B", "D"): 0.1}


class Case(NamedTuple):
    """One kind of log."""

    tau: float
    top: int
    agree: float  # share of the queries on which all rankers agree
    noise: float  # standard deviation of the part of the scores that differs between rankers; the common part has 1
    rows: int = 1500
    users: int = 0  # returning users; 0 for none

    @property
    def method(self) -> str:
        return f"probabilistic:tau={self.tau:g}"


class Answer(NamedTuple):
    """The estimate for a pair, and the true value."""

    found: Any  # result of `weigh_outcomes`
    truth: float
    error: float  # Monte Carlo error of the truth


CASES = [
    Case(tau, top, agree, noise)
    for tau in (0.5, 1.0, 3.0)
    for top in (5, 10)
    for agree in (0.0, 0.5, 0.9)
    for noise in (0.3, 3.0)
] + [Case(1.0, 5, 0.5, 0.3, users=150), Case(0.5, 5, 0.0, 3.0, rows=8000), Case(1.0, 5, 0.5, 3.0, rows=8000)]
DEMONSTRATION = Case(3.0, 5, 0.5, 3.0)


def rankings_of(case: Case, seed: int = 0) -> Rankings:
    """Return four rankers that agree on a share of the queries."""
    rng = np.random.default_rng(seed)
    ptr = np.arange(QUERIES + 1) * DOCUMENTS
    common = rng.normal(size=(QUERIES, DOCUMENTS))
    scores = common + case.noise * rng.normal(size=(4, QUERIES, DOCUMENTS))
    scores[:, : round(case.agree * QUERIES)] = common[: round(case.agree * QUERIES)]
    order = np.argsort(-scores, axis=2).reshape(4, -1).astype(np.int16)
    rank = np.stack([inverse(row, ptr) for row in order])
    grades = rng.integers(0, 5, QUERIES * DOCUMENTS).astype(np.int16)
    return Rankings(NAMES, order, rank, grades, ptr, 5, {"corpus": "study"})


def truths(rankings: Rankings, case: Case, comparisons: int) -> tuple[FloatMatrix, FloatMatrix]:
    """Return the mean outcome of each pair on each query, (pairs, queries), and the variances of the means."""
    comparer = Comparer(rankings, click_model("navigational", 5), case.method, "marginal_sign", case.top)
    sums, squares = np.zeros((2, len(PAIRS), QUERIES))
    lists, clicks = stream(1, "truth", "lists"), stream(1, "truth", "clicks")
    for p, (i, j) in enumerate(PAIRS):
        add_outcomes(comparer.open(), i, j, comparisons, sums[p], squares[p], lists, clicks)
    mean = sums / comparisons
    return mean, (squares / comparisons - mean**2) / comparisons


@kernel
def add_outcomes(
    comparison: Any, i: int, j: int, number: int, sums: FloatVector, squares: FloatVector, lists: Any, clicks: Any
) -> None:
    """Compare two rankers a given number of times on each query."""
    for query in range(sums.shape[0]):
        for _ in range(number):
            y = compare_pair(comparison, query, i, j, lists, clicks)
            sums[query] += y
            squares[query] += y * y


def log_of(folder: Path, rankings: Rankings, case: Case, seed: int) -> tuple[Path, IntVector]:
    """Write a log; return the log and the number of impressions of each query."""
    parts = []
    for k, (pair, share) in enumerate(SHOWN.items()):
        path = folder / "part.parquet"
        simulate_log(
            path,
            rankings[list(pair)],
            pairs=case.method,
            top=case.top,
            horizon=round(share * case.rows),
            users=case.users,
            seed=1000 * seed + k if not case.users else seed,
        )
        parts.append(pq.read_table(path))
    whole = pa.concat_tables(parts)
    n = whole.num_rows
    whole = whole.take(np.random.default_rng(seed).permutation(n))
    whole = whole.set_column(0, "impression", pa.array(range(n)).cast(pa.string()))
    whole = whole.set_column(1, "time", pa.array(np.arange(n, dtype=np.float64)))
    pq.write_table(whole, folder / "log.parquet")
    return folder / "log.parquet", np.bincount(whole["query"].cast(pa.int64()).to_numpy(), minlength=QUERIES)


def answers(
    case: Case, logs: int, pairs: Sequence[tuple[int, int]] = PAIRS, *, comparisons: int = 20_000, **settings: Any
) -> Iterator[Answer]:
    """Yield the estimates of `weigh_outcomes` for the pairs of simulated logs."""
    rankings = rankings_of(case)
    mean, variance = truths(rankings, case, comparisons)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(logs):
            path, counts = log_of(Path(folder), rankings, case, seed)
            share = counts / counts.sum()
            for i, j in pairs:
                found = weigh_outcomes(ClickLog(path), NAMES[i], NAMES[j], **settings)
                p = PAIRS.index((i, j))
                yield Answer(found, float(mean[p] @ share), float(np.sqrt(variance[p] @ share**2)))


def row_of(case: Case, logs: int, **settings: Any) -> tuple[list[str], int, int]:
    """Return a row of the table, the number of intervals, and the number of correct intervals.

    The Monte Carlo error is clustered by log, because the pairs of a log are correlated. The true value also has a
    Monte Carlo error; an interval is correct if its distance from the true value is at most two such errors.
    """
    found = list(answers(case, logs, **settings))
    given = np.array([not one.found.refused for one in found]).reshape(logs, -1)
    held = given & np.array(
        [one.found.low - 2 * one.error <= one.truth <= one.found.high + 2 * one.error for one in found]
    ).reshape(logs, -1)
    count, total = given.sum(axis=1), held.sum(axis=1)
    mean = total.sum() / max(count.sum(), 1)
    error = np.sqrt(((total - mean * count) ** 2).sum()) / max(count.sum(), 1)
    width = np.mean([one.found.high - one.found.low for one in found if not one.found.refused])
    label = f"tau {case.tau:g}, top {case.top}, agree {case.agree:.0%}, noise {case.noise:g}, {case.rows:,} rows"
    label += f", {case.users} users" if case.users else ""
    share = f"{mean:.1%} +- {error:.1%}"
    return [label, f"{given.sum()} of {given.size}", share, f"{width:.3f}"], int(given.sum()), int(held.sum())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=100)
    parser.add_argument("--model", default="", help="a click model, for doubly robust estimates")
    given = parser.parse_args()
    logs = given.logs
    rows, kept, held = [], 0, 0
    for case in CASES:
        row, some, good = row_of(case, logs, click_model=given.model)
        rows.append(row)
        kept, held = kept + some, held + good
        print(row, flush=True)
    rows.append(["all", f"{kept}", f"{held / kept:.1%}", ""])
    table(
        f"95 % intervals of weighted outcomes, {logs} logs each",
        ["logs", "answered", "contain the truth", "width"],
        rows,
    )


if __name__ == "__main__":
    main()
