"""Optimized interleave with all lists and a general solver (HiGHS), from the paper's Sections 4.1 to 4.3."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog

_SLACK = 1e-9  # how far a bias may be above the smallest possible one


def allowed_lists(orders: list[list[int]], length: int) -> list[tuple[int, ...]]:
    """Return every list that takes the best remaining document of any ranker at each position."""
    lists: dict[tuple[int, ...], None] = {(): None}
    for _ in range(length):
        longer: dict[tuple[int, ...], None] = {}
        for shown in lists:
            for order in orders:
                longer[(*shown, next(d for d in order if d not in shown))] = None
        lists = longer
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


def optimized_lists(orders: list[list[int]], top: int, kind: str) -> tuple[dict[tuple[int, ...], float], float]:
    """{list: probability} of optimized interleave, and the sensitivity; other solutions may be equally good."""
    ranks = [{d: k + 1 for k, d in enumerate(order)} for order in orders]
    lists = allowed_lists(orders, min(top, len(orders[0])))
    table = np.array([[credit_of(kind, ranks[0][d], ranks[1][d]) for d in shown] for shown in lists])
    worth = np.array([sensitivity(row) for row in table])
    p = least_biased(table.T, -worth)
    return dict(zip(lists, p.tolist(), strict=True)), float(p @ worth)


def least_biased(bias: NDArray[np.float64], cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimise ``cost @ p`` over probabilities p with ``bias @ p == 0``, or with the least bias if 0 is impossible.

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
    solve: Any = linprog  # the types of linprog do not allow missing bounds
    result = solve(cost, A_ub=upper, b_ub=limit, A_eq=equal, b_eq=right, method="highs")
    return np.asarray(result.x) if result.success else None
