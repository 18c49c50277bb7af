"""Optimized interleave: lists are shown with the probabilities that make the comparison fair and most sensitive.

Allowed lists take, place by place, the best document left of one of the rankers. A document's credit is positive
for the first ranker if it ranks it higher. The probabilities solve a linear program: at every place the expected
credit is zero, so a click anywhere, for no reason, favours nobody; among those, the sensitivity is largest. Where
that is infeasible, the biases are made as small as possible first.

Radlinski, Craswell. Optimized Interleaving for Online Retrieval Evaluation. WSDM 2013. The program is solved by HiGHS
once for each query and pair of rankers, and kept. It runs as plain Python.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog

from ltr_duel.core import InputError, sign
from ltr_duel.interleaving.method import Lists, Shown, Size
from ltr_duel.interleaving.registration import register

CREDITS = ("inverse", "linear", "binary")
_EQUAL = 1e-12  # closer sums of credit differ by rounding alone
_SLACK = 1e-9  # how far a bias may be above the smallest possible one
_MOST_LISTS = 100_000  # a program of more columns takes minutes


class Params(NamedTuple):
    """Parameters of optimized interleave."""

    credit: str = "inverse"  # 1/r1 - 1/r2; linear: r2 - r1; binary: the sign of that


class Choice(NamedTuple):
    """The solved program of one query and pair."""

    lists: NDArray[np.int64]  # (n_lists, length)
    cumulative: NDArray[np.float64]  # (n_lists,) running sums of the probabilities; the last is exactly 1
    credit: dict[int, float]  # of each document that can be shown, positive for the first ranker


class State:
    """The programs solved so far."""

    def __init__(self, size: Size, params: Params) -> None:
        self.top = size.top
        self.credit = params.credit
        self.solved: dict[tuple[int, int, int], Choice] = {}

    def choice(self, lists: Lists, query: int, first: int, second: int) -> Choice:
        """Return the program of a query and a pair of rankers, solved."""
        key = (query, first, second)
        if key not in self.solved:
            start, stop = int(lists.query_ptr[query]), int(lists.query_ptr[query + 1])
            orders = [lists.order[r, start:stop].tolist() for r in (first, second)]
            ranks = [lists.rank[r, start:stop].tolist() for r in (first, second)]
            self.solved[key] = solve(orders, ranks, self.top, self.credit)
        return self.solved[key]


def allowed_lists(orders: list[list[int]], length: int) -> list[tuple[int, ...]]:
    """Return every list made by taking, place by place, the best document left of one of the rankers.

    Raises
    ------
    InputError
        If there are more than a program can have.
    """
    lists: dict[tuple[int, ...], None] = {(): None}
    for _ in range(length):
        longer: dict[tuple[int, ...], None] = {}
        for shown in lists:
            for order in orders:
                longer[(*shown, next(d for d in order if d not in shown))] = None
        lists = longer
        if len(lists) > _MOST_LISTS:
            raise InputError(
                f"method 'optimized': the rankings can be merged in more than {_MOST_LISTS:,} ways; show fewer"
            )
    return list(lists)


def credit_of(kind: str, rank_of_first: int, rank_of_second: int) -> float:
    """Return the credit of a document, positive if the first ranker places it higher."""
    if kind == "inverse":
        return 1 / rank_of_first - 1 / rank_of_second
    difference = rank_of_second - rank_of_first
    return float(difference) if kind == "linear" else float(np.sign(difference))


def sensitivity(credits: NDArray[np.float64]) -> float:
    """Return how evenly a list's places, weighted by 1 / place, are divided between the rankers (Section 4.3).

    ``(1 - w_T)`` times the entropy, in bits, of the split between w_A and w_B; w_T is the weight of the ties.
    """
    weight = 1 / np.arange(1, len(credits) + 1)
    weight /= weight.sum()
    shares = np.array([weight[credits > 0].sum(), weight[credits < 0].sum()])
    decided = shares.sum()
    if decided == 0:
        return 0.0
    split = shares[shares > 0] / decided
    return float(-decided * (split * np.log2(split)).sum())


def solve(orders: list[list[int]], ranks: list[list[int]], top: int, kind: str) -> Choice:
    """Find the probabilities of the allowed lists of two rankers."""
    length = min(top, len(orders[0]))
    lists = allowed_lists(orders, length)
    credit = {d: credit_of(kind, ranks[0][d], ranks[1][d]) for d in {d for shown in lists for d in shown}}
    table = np.array([[credit[d] for d in shown] for shown in lists])  # (n_lists, length)
    worth = np.array([sensitivity(row) for row in table])
    p = least_biased(table.T, -worth)
    return Choice(np.array(lists), running_sums(p), credit)


def least_biased(bias: NDArray[np.float64], cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimise ``cost @ p`` over probabilities p with ``bias @ p == 0``, or where that is impossible the least bias.

    Parameters
    ----------
    bias : ndarray of float64, shape (n_constraints, n_lists)
    cost : ndarray of float64, shape (n_lists,)

    Returns
    -------
    ndarray of float64, shape (n_lists,)
    """
    n_rows, n_lists = bias.shape
    one = np.ones((1, n_lists))
    right = np.append(np.zeros(n_rows), 1)
    exact = solve_program(cost, np.vstack([bias, one]), right)
    if exact is not None:
        return exact
    # bias @ p = over - under; the sum of both is the total absolute bias.
    wide = np.hstack([bias, -np.eye(n_rows), np.eye(n_rows)])
    equal = np.vstack([wide, np.hstack([one, np.zeros((1, 2 * n_rows))])])
    total = np.concatenate([np.zeros(n_lists), np.ones(2 * n_rows)])
    least = solve_program(total, equal, right)
    if least is None:
        raise RuntimeError("the program of least bias always has a solution, but the solver found none")
    both = np.concatenate([cost, np.zeros(2 * n_rows)])
    best = solve_program(both, equal, right, total[None, :], [float(total @ least) + _SLACK])
    return (least if best is None else best)[:n_lists]


def solve_program(
    cost: NDArray[np.float64],
    equal: NDArray[np.float64],
    right: ArrayLike,
    upper: NDArray[np.float64] | None = None,
    limit: ArrayLike | None = None,
) -> NDArray[np.float64] | None:
    """Minimise ``cost @ x`` over x >= 0 with ``equal @ x == right`` and ``upper @ x <= limit``; None if infeasible."""
    solve: Any = linprog  # its types allow no missing bounds
    result = solve(cost, A_ub=upper, b_ub=limit, A_eq=equal, b_eq=right, method="highs")
    return np.asarray(result.x) if result.success else None


def running_sums(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cumulative distribution, free of the solver's rounding: nothing negative, and 1 at the end."""
    cumulative = np.cumsum(np.maximum(p, 0))
    return np.asarray(cumulative / cumulative[-1])


def pick(cumulative: NDArray[np.float64], rng: Generator) -> int:
    """Draw an index from a cumulative distribution."""
    return int(np.searchsorted(cumulative, rng.random(), side="right"))


def draw_pair(state: State, lists: Lists, query: int, first: int, second: int, page: Shown, rng: Generator) -> int:
    """Draw a list by its solved probability."""
    choice = state.choice(lists, int(query), int(first), int(second))
    shown = choice.lists[pick(choice.cumulative, rng)]
    page.shown[: len(shown)] = shown
    page.owner[: len(shown)] = -1
    return len(shown)


def credit_pair(
    state: State, lists: Lists, query: int, first: int, second: int, page: Shown, length: int, n_clicks: int
) -> float:
    """Add up the credit of the clicked documents."""
    start, total = lists.query_ptr.item(query), 0.0
    for k in page.clicks[:n_clicks].tolist():
        row = start + page.shown.item(k)
        total += credit_of(state.credit, lists.rank.item(first, row), lists.rank.item(second, row))
    return float(sign(total, _EQUAL))


def init(size: Size, params: Params, outcome: str) -> State:
    """Begin with no program solved."""
    return State(size, params)


register(
    __name__,
    choices={"credit": CREDITS},
    compiled=False,
    shows="probabilities from a linear program: every click favours nobody, most sensitive",
    wins="the sum of credits",
    needs="a linear program for each query and pair",
    cost="2^top lists and one program, once; then O(top)",
    cite="radlinski2013optimized",
)
