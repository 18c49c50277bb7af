"""Preference matrices and their properties, computed slowly by enumeration and by the papers' definitions."""

from __future__ import annotations

import itertools

import numpy as np

from tests.reference.interleaving import expected_outcome


def exact_preferences(rankings, model, top, tau, rule):
    """p by enumeration of queries, lists, clicks and contributors; `marginal_bernoulli` has the mean of `sampled`."""
    size = len(rankings)
    p = np.full((size, size), 0.5)
    rule = "sampled" if rule == "marginal_bernoulli" else rule
    for i, j in itertools.combinations(range(size), 2):
        outcomes = []
        for begin, end in itertools.pairwise(rankings.query_ptr.tolist()):
            first, second = (tuple(rankings.order[k, begin:end].tolist()) for k in (i, j))
            outcomes.append(
                expected_outcome(first, second, rankings.relevance[begin:end].tolist(), model, top, tau, rule)
            )
        p[i, j] = (1 + np.mean(outcomes)) / 2
        p[j, i] = 1 - p[i, j]
    return p


def winner_of(p):
    """The arm that beats all others, or None."""
    for i in range(len(p)):
        if all(p[i, j] > 0.5 for j in range(len(p)) if j != i):
            return i
    return None


def relaxed_gamma(p, every_pair):
    """The smallest gamma >= 1 with gamma e_1k >= max(e_1j, e_jk), triple by triple."""
    e, one, gamma = p - 0.5, winner_of(p), 1.0
    for j, k in itertools.permutations([a for a in range(len(p)) if a != one], 2):
        if every_pair or e[j, k] > 0:
            gamma = max(gamma, max(e[one, j], e[j, k]) / e[one, k])
    return gamma


def strong_violations(p):
    """(broken, all) triples i beats j beats k of strong stochastic transitivity."""
    e, broken, triples = p - 0.5, 0, 0
    for i, j, k in itertools.permutations(range(len(p)), 3):
        if e[i, j] > 0 and e[j, k] > 0:
            triples += 1
            broken += e[i, k] < max(e[i, j], e[j, k]) - 1e-12
    return broken, triples


def cycles(p):
    """How many sets of three beat each other in a circle."""
    return sum(
        (p[a, b] > 0.5 and p[b, c] > 0.5 and p[c, a] > 0.5) or (p[b, a] > 0.5 and p[c, b] > 0.5 and p[a, c] > 0.5)
        for a, b, c in itertools.combinations(range(len(p)), 3)
    )


def smith_set(p):
    """The smallest set whose members all beat every arm outside the set, by trying all sets."""
    for size in range(1, len(p) + 1):
        for inside in itertools.combinations(range(len(p)), size):
            outside = [a for a in range(len(p)) if a not in inside]
            if all(p[a, b] > 0.5 for a in inside for b in outside):
                return set(inside)
    return None


def is_total_order(p):
    """Return whether an order of the arms exists in which every earlier arm beats every later arm."""
    return any(
        all(p[a, b] > 0.5 for a, b in itertools.combinations(order, 2))
        for order in itertools.permutations(range(len(p)))
    )


def subset_shares(p, size):
    """(share of subsets with a winner, share with a total order), looking at each subset."""
    subsets = [p[np.ix_(s, s)] for s in itertools.combinations(range(len(p)), size)]
    winners = sum(winner_of(s) is not None for s in subsets)
    return winners / len(subsets), sum(is_total_order(s) for s in subsets) / len(subsets)
