"""Optimized multileave: sample some lists, and choose how often each list is shown so that no ranker has an advantage.

At each position, a sampled list shows the best remaining document of a random ranker. A click on a document gives each
ranker the credit 1 / r, where r is the rank of the document in the order of this ranker. A linear program finds a
probability for each list. For every k, clicks on the first k positions should give all rankers the same mean credit. Of
several fair solutions, the program takes the one with the smallest variance between the credits of the rankers. In this
variance, a click at position k has the weight 1 / k.

With few lists and many rankers, a fair solution often does not exist. The program then minimises the sum of variance
and unfairness, as Manabe et al. do. For each k, the unfairness is the largest difference between the mean credits of
two rankers. HiGHS solves the program once for each query and set of rankers. The method runs as plain Python.

Schuth, Sietsma, Whiteson, Lefortier, de Rijke. Multileaved Comparisons for Fast Online Evaluation. CIKM 2014.
Manabe, Nishida, Kato, Yamamoto, Fujita. A Comparative Live Evaluation of Multileaving Methods. SIGIR 2017.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy  # submodules are loaded on first use
from numpy.random import Generator

from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, SignMatrix, random_below, stream
from ltr_duel.interleaving.hooks import Lists, Shown, Size
from ltr_duel.interleaving.registration import register

_EQUAL = 1e-12


class Params(NamedTuple):
    lists: int = 10  # number of lists to sample for each query and set of rankers


class Choice(NamedTuple):
    lists: IntMatrix  # (n_lists, length)
    cumulative: FloatVector  # (n_lists,) cumulative probabilities
    feasible: bool  # whether all rankers have the same expected credit at every depth


class State(NamedTuple):
    top: int
    samples: int
    solved: dict[tuple[int, ...], Choice]


def init(size: Size, params: Params, outcome: str) -> State:
    return State(size.top, params.lists, {})


def choice_of(state: State, lists: Lists, query: int, slate: IntVector) -> Choice:
    key = (int(query), *map(int, slate))
    if key not in state.solved:
        start, stop = lists.query_ptr[query : query + 2]
        orders = [lists.order[ranker, start:stop].tolist() for ranker in slate]
        rng = stream(0, "optimized multileave", *key)
        sample: dict[tuple[int, ...], None] = {}
        for _ in range(state.samples):
            shown: list[int] = []
            while len(shown) < min(state.top, stop - start):
                order = orders[random_below(len(orders), rng)]
                shown.append(next(document for document in order if document not in shown))
            sample[tuple(shown)] = None
        state.solved[key] = solve(np.array(list(sample)), 1.0 / lists.rank[slate, start:stop].astype(np.float64))
    return state.solved[key]


def solve(lists: IntMatrix, credits: FloatMatrix) -> Choice:
    n_lists, length = lists.shape  # credits[j, d]: the credit of ranker j for a click on document d
    earned = np.cumsum(credits[:, lists], axis=2).transpose(0, 2, 1)  # (rankers, depth, lists): cumulative credit
    weighted = (credits[:, lists] / np.arange(1, length + 1)).sum(axis=2)  # (rankers, lists)
    variance = ((weighted - weighted.mean(axis=0)) ** 2).sum(axis=0)
    total = np.ones((1, n_lists))
    apart = (earned[1:] - earned[:1]).reshape(-1, n_lists)
    linprog: Any = scipy.optimize.linprog  # scipy's annotations forbid missing bounds
    exact = linprog(variance, A_eq=np.vstack([apart, total]), b_eq=np.append(np.zeros(len(apart)), 1), method="highs")
    p = exact.x
    if not exact.success:
        # The unknowns are p and, for each depth, bounds of the expected credits: low_k <= earned_jk @ p <= high_k.
        rows = earned.reshape(-1, n_lists)  # one row for each ranker and depth, ranker by ranker
        depth = np.tile(np.eye(length), (len(earned), 1))
        none = np.zeros_like(depth)
        bounds = np.vstack([np.hstack([rows, -depth, none]), np.hstack([-rows, none, depth])])
        cost = np.concatenate([variance, np.ones(length), -np.ones(length)])
        equal = np.hstack([total, np.zeros((1, 2 * length))])
        p = linprog(cost, bounds, np.zeros(len(bounds)), equal, [1.0], method="highs").x[:n_lists]
    cumulative = np.cumsum(np.maximum(p, 0))
    return Choice(lists, cumulative / cumulative[-1], exact.success)


def draw_slate(state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, rng: Generator) -> int:
    choice = choice_of(state, lists, query, slate[:size])
    shown = choice.lists[np.searchsorted(choice.cumulative, rng.random(), side="right")]
    page.shown[: len(shown)] = shown
    page.owner[: len(shown)] = -1
    return len(shown)


def credit_slate(
    state: State, lists: Lists, query: int, slate: IntVector, size: int, page: Shown, length: int, n_clicks: int,
    won: SignMatrix,
) -> None:  # fmt: skip
    rows = lists.query_ptr[query] + page.shown[page.clicks[:n_clicks]]
    scores = (1.0 / lists.rank[slate[:size]][:, rows].astype(np.float64)).sum(axis=1)
    lead = scores[:, None] - scores
    won[:size, :size] = (lead > _EQUAL).astype(np.int8) - (lead < -_EQUAL)


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
