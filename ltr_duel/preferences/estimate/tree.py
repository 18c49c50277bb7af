"""The users of a shown list as a tree, which branches at each rank: some users click, some stop, the others go on.

`walk_users` traverses the tree. A branch taken by fewer than one user in 16 is not split further. The users on such
branches are sampled systematically (Cochran, Sampling Techniques, 3rd ed., chapter 8): one user per sixteenth of all
users is simulated to the end and represents this sixteenth. The mean is unbiased, and the time is bounded.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, dispatched, implement, kernel, uniform, vector
from ltr_duel.interleaving import Comparer, Comparison, Shown, credit_pair

RARE = 1 / 16  # share of all users; a branch with a smaller share is not split
_EQUAL = 1e-12  # smaller differences between posteriors count as ties


class Duel(NamedTuple):
    """The list on the page: its query, its two rankers, and its length."""

    query: int
    first: int
    second: int
    length: int


class ByCredit(NamedTuple):
    """For any method: the method credits the clicks of each branch."""

    any_method: bool = True  # numba does not support empty NamedTuple classes


class ByPosterior(NamedTuple):
    """The outcome is the sign of Pr(the first ranker owns more clicks) - Pr(the second ranker owns more clicks)."""

    any_method: bool = False


class ByBalance(NamedTuple):
    """The outcome is Pr(the first ranker owns more clicks) - Pr(the second ranker owns more clicks)."""

    any_method: bool = False


class Tree(NamedTuple):
    """Probabilities of actions at each rank, and scratch arrays for `walk_users` and `mean_balance`.

    The scratch arrays of `walk_users` are indexed by the number of clicks on a branch so far. The balance of a user is
    the number of clicks that the first ranker owns, minus the number that the second ranker owns.
    """

    credit: ByCredit | ByPosterior | ByBalance
    rare: float
    click: FloatVector  # (top,) Pr(click | the user reaches the rank)
    stop: FloatVector  # (top,) Pr(stop | click)
    leave: FloatVector  # (top,) Pr(leave | no click)
    go_on: FloatVector  # (top,) Pr(no click, and on to the next rank | the user reaches the rank)
    mass: FloatVector  # (top + 1,) share of all users who are on this branch
    place: IntVector  # (top + 1,) rank of the next document on this branch
    outcome: FloatVector  # (top + 1,) outcome of the clicks so far
    q: FloatVector  # (top,) Pr(the first ranker contributed rank k), given the list
    owned: FloatMatrix  # (top + 1, top + 1) owned[n, m] = Pr(the first ranker owns m of the first n clicks)
    balance: FloatVector  # (2 top + 3,) share of users whose balance is index - length - 1
    moved: FloatVector  # (2 top + 3,) the balance after the next rank


def open_tree(comparer: Comparer, rare: float = RARE) -> Tree:
    """Allocate a tree for the lists of a comparison; with ``rare = 0`` the whole tree is traversed."""
    method, top = comparer.configured.component, comparer.top
    independent = ByPosterior() if comparer.outcome in method.posterior else ByBalance()
    click, stop, leave, go_on, q = np.zeros((5, top))
    mass, outcome = np.zeros((2, top + 1))
    place, owned = np.zeros(top + 1, np.int64), np.zeros((top + 1, top + 1))
    balance, moved = np.zeros((2, 2 * top + 3))
    return Tree(
        independent if method.find_contributors else ByCredit(),
        rare,
        click,
        stop,
        leave,
        go_on,
        mass,
        place,
        outcome,
        q,
        owned,
        balance,
        moved,
    )


@dispatched
def note_click(credit: Any, tree: Tree, page: Shown, n_clicks: int) -> None:
    """Record the last of ``n_clicks`` clicks on the page; the earlier clicks are recorded already."""


def _note_owned(credit: ByPosterior, tree: Tree, page: Shown, n_clicks: int) -> None:
    q = tree.q[page.clicks[n_clicks - 1]]
    n, before, after = n_clicks, tree.owned[n_clicks - 1], tree.owned[n_clicks]
    after[0] = before[0] * (1.0 - q)
    for m in range(1, n):
        after[m] = before[m] * (1.0 - q) + before[m - 1] * q
    after[n] = before[n - 1] * q


@dispatched
def outcome_so_far(credit: Any, comparison: Comparison, tree: Tree, duel: Duel, n_clicks: int) -> float:
    """Return the outcome of the first ``n_clicks`` clicks on the page, all of which are recorded."""
    c = comparison
    return credit_pair(c.method, c.lists, duel.query, duel.first, duel.second, c.page, duel.length, n_clicks)


def _sign_of_posterior(credit: ByPosterior, comparison: Comparison, tree: Tree, duel: Duel, n_clicks: int) -> float:
    n, owned = n_clicks, tree.owned[n_clicks]
    difference = 0.0
    for m in range((n + 1) // 2):
        difference += owned[n - m] - owned[m]
    return float(vector.sign(difference, _EQUAL))


@kernel
def walk_users(comparison: Comparison, tree: Tree, duel: Duel, rng: np.random.Generator) -> float:
    """Return the mean outcome over users: the sum of outcome times share over the tree, depth first."""
    c = comparison
    total, n = 0.0, 0  # n: number of clicks so far
    rare, next_one = 0.0, tree.rare * uniform(rng)  # users on rare branches: share so far, share at next sample
    tree.mass[0] = 1.0
    tree.place[0] = 0
    tree.outcome[0] = 0.0
    while n >= 0:
        k, mass = tree.place[n], tree.mass[n]
        if k == duel.length or mass == 0.0:
            total += mass * tree.outcome[n]
            n -= 1
            continue
        if mass < tree.rare:
            rare += mass
            total += mass * tree.outcome[n]
            if next_one < rare:
                next_one += tree.rare
                final = follow_user(c, tree, duel, n, k, rng)
                total += tree.rare * (final - tree.outcome[n])
            n -= 1
            continue
        clicked = mass * tree.click[k]
        leaving = (mass - clicked) * tree.leave[k]
        total += leaving * tree.outcome[n]
        tree.mass[n] = mass - clicked - leaving
        tree.place[n] = k + 1
        if clicked > 0.0:
            c.page.clicks[n] = k
            n += 1
            note_click(tree.credit, tree, c.page, n)
            tree.outcome[n] = outcome_so_far(tree.credit, c, tree, duel, n)
            stopping = clicked * tree.stop[k]
            total += stopping * tree.outcome[n]
            tree.mass[n] = clicked - stopping
            tree.place[n] = k + 1
    return total


@kernel
def follow_user(
    comparison: Comparison, tree: Tree, duel: Duel, n_clicks: int, place: int, rng: np.random.Generator
) -> float:
    """Simulate a user who reaches rank ``place`` after ``n_clicks`` clicks; return the outcome of all clicks."""
    c = comparison
    n, k, length = n_clicks, place, duel.length
    while k < length:
        u, here = uniform(rng), 1.0  # ``here``: share of the users with these clicks who reach rank k
        while k < length and u < here * tree.go_on[k]:
            here *= tree.go_on[k]
            k += 1
        if k == length or here - u > here * tree.click[k]:
            break  # the list ended, or the user left
        c.page.clicks[n] = k
        n += 1
        note_click(tree.credit, tree, c.page, n)
        if here - u <= here * tree.click[k] * tree.stop[k]:
            break
        k += 1
    if n == n_clicks:
        return tree.outcome[n]
    return outcome_so_far(tree.credit, c, tree, duel, n)


implement(note_click, ByPosterior, _note_owned)
implement(outcome_so_far, ByPosterior, _sign_of_posterior)
