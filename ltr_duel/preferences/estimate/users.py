"""Compute the mean outcome of a shown list over all users who might see it.

This mean varies less than the outcome of one user. The users of a list form a tree with branches at each rank: some
users click, some leave, and the others go on to the next rank. To save time, a branch with fewer than 1/16 of all users
is not split further. Instead, a few users on these branches are simulated to the end, and each of them represents 1/16
of all users. The mean remains unbiased. This method is systematic sampling (Cochran, Sampling Techniques, 3rd ed.,
chapter 8).

The balance of a list is the number of clicks that the first ranker owns, minus the number of clicks that the second
ranker owns. Some methods need no tree, because their outcome depends only on the balance. The probability of each
balance is computed rank by rank, and the mean is exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.core import FloatMatrix, FloatVector, IntVector, dispatched, implement, kernel, uniform, vector
from ltr_duel.interleaving import Comparer, Comparison, credit_pair, find_contributors

RARE = 1 / 16  # a branch with a smaller share of all users is not split
_EQUAL = 1e-12  # smaller differences of probabilities count as ties


class PairList(NamedTuple):
    """The shown list: its query, its two rankers, and its length."""

    query: int
    first: int
    second: int
    length: int


class ByCredit(NamedTuple):
    """Marks an outcome rule for which `credit_pair` computes the outcome from the clicks of each branch."""

    any_method: bool = True  # numba does not support empty NamedTuple classes


class BySign(NamedTuple):
    """Marks an outcome rule that names one winner: the ranker that is more likely to own most clicks."""

    owned: FloatMatrix  # (top + 1, top + 1) owned[n, m] = Pr(the first ranker owns m of the first n clicks)


class ByBalance(NamedTuple):
    """Marks an outcome rule: the probability that the first ranker owns more clicks, minus the second ranker's."""

    any_method: bool = False


class Tree(NamedTuple):
    """The probabilities of the users' actions at each rank, and working memory."""

    credit: ByCredit | BySign | ByBalance
    rare: float
    click: FloatVector  # (top,) Pr(click | the user reaches the rank)
    stop: FloatVector  # (top,) Pr(stop | click)
    leave: FloatVector  # (top,) Pr(leave | no click)
    go_on: FloatVector  # (top,) Pr(no click, and go on to the next rank | the user reaches the rank)
    mass: FloatVector  # (top + 1,) share of all users on each open branch
    rank: IntVector  # (top + 1,) rank of the next document on the branch
    outcome: FloatVector  # (top + 1,) outcome of the clicks so far
    q: FloatVector  # (top,) Pr(the first ranker contributed rank k), given the list
    balance: FloatVector  # (2 top + 3,) share of users whose balance is index - length - 1
    moved: FloatVector  # (2 top + 3,) the balance after the next rank


def open_tree(comparer: Comparer, rare: float = RARE) -> Tree:
    """Allocate the memory of a tree. If ``rare`` is 0, all branches are followed to the end."""
    method, top = comparer.configured.component, comparer.top
    click, stop, leave, go_on, q = np.zeros((5, top))
    mass, outcome = np.zeros((2, top + 1))
    credit: ByCredit | BySign | ByBalance = ByBalance() if method.find_contributors else ByCredit()
    if method.find_contributors and comparer.outcome in method.posterior:
        credit = BySign(np.eye(top + 1))
    balances = np.zeros((2, 2 * top + 3))
    return Tree(credit, rare, click, stop, leave, go_on, mass, np.zeros(top + 1, np.int64), outcome, q, *balances)


@kernel
def mean_over_users(comparison: Comparison, tree: Tree, shown: PairList, rng: np.random.Generator) -> float:
    """Return the mean outcome of the shown list over all users, or an unbiased estimate of this mean."""
    c = comparison
    start = c.lists.query_ptr[shown.query]
    for k in range(shown.length):
        grade = c.relevance[start + c.page.shown[k]]
        tree.click[k] = c.users.p_click[grade] * c.users.attention[k]
        tree.stop[k] = c.users.p_stop[grade]
        tree.leave[k] = c.users.p_leave[grade]
        tree.go_on[k] = (1.0 - tree.click[k]) * (1.0 - tree.leave[k])
    return mean_outcome(tree.credit, c, tree, shown, rng)


@dispatched
def mean_outcome(credit: Any, comparison: Comparison, tree: Tree, shown: PairList, rng: np.random.Generator) -> float:
    """Return the mean outcome, given the probabilities of the users' actions."""
    return walk_users(comparison, tree, shown, rng)


def _mean_of_signs(
    credit: BySign, comparison: Comparison, tree: Tree, shown: PairList, rng: np.random.Generator
) -> float:
    find_owners(comparison, tree, shown)
    return walk_users(comparison, tree, shown, rng)


def _mean_by_balance(
    credit: ByBalance, comparison: Comparison, tree: Tree, shown: PairList, rng: np.random.Generator
) -> float:
    find_owners(comparison, tree, shown)
    return mean_balance(tree, shown.length)


@kernel
def find_owners(comparison: Comparison, tree: Tree, shown: PairList) -> None:
    """Compute, for each document that can be clicked, the probability that the first ranker contributed it."""
    c, n = comparison, 0
    for k in range(shown.length):
        if tree.click[k] > 0.0:
            c.page.clicks[n] = k
            n += 1
    if n > 0:
        find_contributors(c.method, c.lists, shown.query, shown.first, shown.second, c.page, n, tree.q)


@kernel
def mean_balance(tree: Tree, length: int) -> float:
    """Compute the probability of each balance, and return the mean outcome over all users."""
    total, zero = 0.0, length + 1
    for d in range(2 * length + 3):
        tree.balance[d] = 0.0
    tree.balance[zero] = 1.0
    for k in range(length):
        click, stop, leave = tree.click[k], tree.stop[k], tree.leave[k]
        if click == 0.0 and leave == 0.0:
            continue
        q = tree.q[k] if click > 0.0 else 0.5
        for d in range(zero - k - 1, zero + k + 2):
            arrived = click * (tree.balance[d - 1] * q + tree.balance[d + 1] * (1.0 - q))
            passed = (1.0 - click) * tree.balance[d]
            total += vector.sign(d - zero, 0) * (arrived * stop + passed * leave)
            tree.moved[d] = arrived * (1.0 - stop) + passed * (1.0 - leave)
        for d in range(zero - k - 1, zero + k + 2):
            tree.balance[d] = tree.moved[d]
    for d in range(2 * length + 3):
        total += vector.sign(d - zero, 0) * tree.balance[d]
    return total


@dispatched
def outcome_of(credit: Any, comparison: Comparison, tree: Tree, shown: PairList, begin: int, n_clicks: int) -> float:
    """Return the outcome of a user's first ``n_clicks`` clicks. Earlier, the first ``begin`` clicks were credited."""
    c = comparison
    return credit_pair(c.method, c.lists, shown.query, shown.first, shown.second, c.page, shown.length, n_clicks)


def _sign_of_owned(
    credit: BySign, comparison: Comparison, tree: Tree, shown: PairList, begin: int, n_clicks: int
) -> float:
    for n in range(begin, n_clicks):
        q, before, after = tree.q[comparison.page.clicks[n]], credit.owned[n], credit.owned[n + 1]
        after[0] = before[0] * (1.0 - q)
        for m in range(1, n + 1):
            after[m] = before[m] * (1.0 - q) + before[m - 1] * q
        after[n + 1] = before[n] * q
    lead = 0.0
    for m in range((n_clicks + 1) // 2):
        lead += credit.owned[n_clicks, n_clicks - m] - credit.owned[n_clicks, m]
    return float(vector.sign(lead, _EQUAL))


@kernel
def walk_users(comparison: Comparison, tree: Tree, shown: PairList, rng: np.random.Generator) -> float:
    """Go through the tree of users, depth first, and return the mean outcome."""
    c = comparison
    total, n = 0.0, 0  # n: number of clicks so far
    rare, next_sample = 0.0, tree.rare * uniform(rng)  # share of users on rare branches: so far, at the next sample
    tree.mass[0] = 1.0
    tree.rank[0] = 0
    tree.outcome[0] = 0.0
    while n >= 0:
        k, mass = tree.rank[n], tree.mass[n]
        if k == shown.length or mass == 0.0:
            total += mass * tree.outcome[n]
            n -= 1
            continue
        if mass < tree.rare:
            rare += mass
            total += mass * tree.outcome[n]
            if next_sample < rare:
                next_sample += tree.rare
                final = follow_user(c, tree, shown, n, k, rng)
                total += tree.rare * (final - tree.outcome[n])
            n -= 1
            continue
        clicked = mass * tree.click[k]
        leaving = (mass - clicked) * tree.leave[k]
        total += leaving * tree.outcome[n]
        tree.mass[n] = mass - clicked - leaving
        tree.rank[n] = k + 1
        if clicked > 0.0:
            c.page.clicks[n] = k
            n += 1
            tree.outcome[n] = outcome_of(tree.credit, c, tree, shown, n - 1, n)
            stopping = clicked * tree.stop[k]
            total += stopping * tree.outcome[n]
            tree.mass[n] = clicked - stopping
            tree.rank[n] = k + 1
    return total


@kernel
def follow_user(
    comparison: Comparison, tree: Tree, shown: PairList, n_clicks: int, rank: int, rng: np.random.Generator
) -> float:
    """Simulate a user who reaches ``rank`` after ``n_clicks`` clicks, and return the outcome of all clicks."""
    c = comparison
    n, k, length = n_clicks, rank, shown.length
    while k < length:
        u, share = uniform(rng), 1.0  # ``share``: the share of users with these clicks who reach rank k
        while k < length and u < share * tree.go_on[k]:
            share *= tree.go_on[k]
            k += 1
        if k == length or share - u > share * tree.click[k]:
            break  # the list ended, or the user left
        c.page.clicks[n] = k
        n += 1
        if share - u <= share * tree.click[k] * tree.stop[k]:
            break
        k += 1
    if n == n_clicks:
        return tree.outcome[n]
    return outcome_of(tree.credit, c, tree, shown, n_clicks, n)


implement(mean_outcome, BySign, _mean_of_signs)
implement(mean_outcome, ByBalance, _mean_by_balance)
implement(outcome_of, BySign, _sign_of_owned)
