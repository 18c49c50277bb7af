"""Optimized multileave: sampled lists are shown with probabilities that make the comparison of many rankers fair.

Each sampled list shows, at each position, the best remaining document of a random ranker. Ranker j credits document d
with 1 / rank_j(d). The probabilities of the lists give all rankers the same expected credit at every depth. Among all
such probabilities, a linear program selects the probabilities with the smallest expected variance between the rankers'
scores for a list. A ranker's score for a list is the sum of 1 / (rank_j(d) k) over the documents d at positions k.
With few lists and many rankers, equal credit is often infeasible; the program then minimises the variance plus, for
each depth, the largest difference between the expected credits of two rankers, as Manabe et al. propose.

Schuth, Sietsma, Whiteson, Lefortier, de Rijke. Multileaved Comparisons for Fast Online Evaluation. CIKM 2014; Manabe,
Nishida, Kato, Yamamoto, Fujita. A Comparative Live Evaluation of Multileaving Methods. SIGIR 2017. The last position
is constrained like all other positions (public implementations omit its constraint). For each query and set of rankers,
the lists are sampled from a separate random stream, and the program is solved once, by HiGHS. The method runs as plain
Python.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy  # submodules are loaded on first use
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from ltr_duel.core import IntVector, SignMatrix, random_below, stream
from ltr_duel.interleaving.hooks import Lists, Shown, Size
from ltr_duel.interleaving.registration import register

_EQUAL = 1e-12


class Params(NamedTuple):
    """Parameters of optimized multileave."""

    lists: int = 10  # number of lists to sample for each query and set of rankers


class Choice(NamedTuple):
    """The solved program of one query and set of rankers."""

    lists: NDArray[np.int64]  # (n_lists, length)
    cumulative: NDArray[np.float64]  # (n_lists,)
    feasible: bool  # whether all rankers have the same expected credit at every depth


class State:
    """The programs solved so far."""

    def __init__(self, size: Size, params: Params) -> None:
        self.top = size.top
        self.samples = params.lists
        self.solved: dict[tuple[int, ...], Choice] = {}

    def choice(self, lists: Lists, query: int, slate: IntVector) -> Choice:
        """Return the solved program of a query and a set of rankers."""
        key = (int(query), *map(int, slate))
        if key not in self.solved:
            start, stop = int(lists.query_ptr[query]), int(lists.query_ptr[query + 1])
            orders = [lists.order[r, start:stop].tolist() for r in slate]
            length = min(self.top, stop - start)
            sample = sample_lists(orders, length, self.samples, stream(0, "optimized multileave", *key))
            credits = np.stack([1.0 / lists.rank[r, start:stop].astype(np.float64) for r in slate])
            self.solved[key] = solve(sample, credits)
        return self.solved[key]


def sample_lists(orders: list[list[int]], length: int, count: int, rng: Generator) -> NDArray[np.int64]:
    """Draw ``count`` lists; return the distinct lists in order of first appearance, shape (at most count, length)."""
    found: dict[tuple[int, ...], None] = {}
    for _ in range(count):
        shown: list[int] = []
        for _ in range(length):
            order = orders[random_below(len(orders), rng)]
            shown.append(next(d for d in order if d not in shown))
        found[tuple(shown)] = None
    return np.array(list(found))


def solve(sample: NDArray[np.int64], credits: NDArray[np.float64]) -> Choice:
    """Find the probabilities of the lists in ``sample``, shape (n_lists, length).

    credits: 1 / rank, shape (rankers, documents).
    """
    n_lists, length = sample.shape
    earned = np.cumsum(credits[:, sample], axis=2)  # (rankers, lists, depth): cumulative credit at each depth
    weighted = (credits[:, sample] / np.arange(1, length + 1)).sum(axis=2)  # (rankers, lists)
    variance = ((weighted - weighted.mean(axis=0)) ** 2).sum(axis=0)
    total = np.ones((1, n_lists))
    apart = (earned[1:] - earned[:1]).transpose(0, 2, 1).reshape(-1, n_lists)
    exact = solve_program(variance, np.vstack([apart, total]), np.append(np.zeros(len(apart)), 1))
    if exact is not None:
        return Choice(sample, running_sums(exact), True)
    # Unknowns: p, then the highest and the lowest expected credit at each depth: low_k <= earned_jk @ p <= high_k.
    rows = earned.transpose(0, 2, 1).reshape(-1, n_lists)  # one row for each ranker and depth, ranker by ranker
    depth = np.tile(np.eye(length), (len(earned), 1))
    none = np.zeros_like(depth)
    bounds = np.vstack([np.hstack([rows, -depth, none]), np.hstack([-rows, none, depth])])
    cost = np.concatenate([variance, np.ones(length), -np.ones(length)])
    solved = solve_program(cost, np.hstack([total, np.zeros((1, 2 * length))]), [1.0], bounds, np.zeros(len(bounds)))
    if solved is None:
        raise RuntimeError("the relaxed program always has a solution, but the solver found none")
    return Choice(sample, running_sums(solved[:n_lists]), False)


def solve_program(
    cost: NDArray[np.float64],
    equal: NDArray[np.float64],
    right: ArrayLike,
    upper: NDArray[np.float64] | None = None,
    limit: ArrayLike | None = None,
) -> NDArray[np.float64] | None:
    """Minimise ``cost @ x`` over x >= 0 with ``equal @ x == right`` and ``upper @ x <= limit``; None if infeasible."""
    solve: Any = scipy.optimize.linprog  # scipy's annotations forbid missing bounds
    result = solve(cost, A_ub=upper, b_ub=limit, A_eq=equal, b_eq=right, method="highs")
    return np.asarray(result.x) if result.success else None


def running_sums(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cumulative distribution; negative probabilities are set to 0, and the last entry is exactly 1."""
    cumulative = np.cumsum(np.maximum(p, 0))
    return np.asarray(cumulative / cumulative[-1])


def pick(cumulative: NDArray[np.float64], rng: Generator) -> int:
    """Draw an index from a cumulative distribution."""
    return int(np.searchsorted(cumulative, rng.random(), side="right"))


def draw_slate(state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, rng: Generator) -> int:
    """Draw a list with the solved probabilities."""
    choice = state.choice(lists, query, slate[:size])
    shown = choice.lists[pick(choice.cumulative, rng)]
    page.shown[: len(shown)] = shown
    page.owner[: len(shown)] = -1
    return len(shown)


def credit_slate(
    state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, length: int, n_clicks: int,
    won: SignMatrix,
) -> None:  # fmt: skip
    """Add up 1 / rank of the clicked documents."""
    rows = lists.query_ptr[query] + page.shown[page.clicks[:n_clicks]]
    scores = (1.0 / lists.rank[slate[:size]][:, rows].astype(np.float64)).sum(axis=1)
    lead = scores[:, None] - scores
    won[:size, :size] = (lead > _EQUAL).astype(np.int8) - (lead < -_EQUAL)


def init(size: Size, params: Params, outcome: str) -> State:
    """Return a state without solved programs."""
    return State(size, params)


register(
    __name__,
    limits={"lists": (1, 100_000)},
    compiled=False,
    shows="one of the sampled lists (ten by default), with probabilities from a linear program, fair at every depth",
    wins="the sum of inverse ranks of clicked documents",
    needs="a linear program for each query and set of rankers",
    cost="one linear program per query and set of rankers; then O(rankers x clicks + rankers^2)",
    cite="schuth2014multileaved,manabe2017comparative",
)
