"""Comparison of rankers by enumeration: every list, every click pattern, every assignment."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from math import prod


def softmax(order, tau):
    """P(document) of each document from its rank alone."""
    weight = {document: (place + 1) ** -tau for place, document in enumerate(order)}
    total = sum(weight.values())
    return {document: w / total for document, w in weight.items()}


def step_probabilities(order, shown, tau):
    """P(document k is drawn by this ranker | the documents above it), for each k."""
    p, left, result = softmax(order, tau), 1.0, []
    for document in shown:
        result.append(p[document] / left)
        left = sum(q for d, q in p.items() if d not in shown[: len(result)])
    return result


def probabilistic_lists(first, second, top, tau):
    """{list: probability} of probabilistic interleave."""
    lists = {}
    for shown in itertools.permutations(first, min(top, len(first))):
        a, b = step_probabilities(first, shown, tau), step_probabilities(second, shown, tau)
        lists[shown] = prod((x + y) / 2 for x, y in zip(a, b, strict=True))
    return lists


def ownership_by_enumeration(first, second, shown, clicks, tau):
    """P(first owns more clicks) and P(second owns more), over all 2^L assignments given the list."""
    a, b = step_probabilities(first, shown, tau), step_probabilities(second, shown, tau)
    weights = {}
    for owners in itertools.product((0, 1), repeat=len(shown)):
        weights[owners] = prod((a, b)[owner][k] for k, owner in enumerate(owners))
    total = sum(weights.values())
    p_first = sum(w for o, w in weights.items() if sum(1 - 2 * o[k] for k in clicks) > 0) / total
    p_second = sum(w for o, w in weights.items() if sum(1 - 2 * o[k] for k in clicks) < 0) / total
    return p_first, p_second


def click_patterns(grades, p_click, p_stop) -> Iterator[tuple[tuple[int, ...], float]]:
    """All (clicked places, probability) of the dependent click model, stop only after a click."""

    def walk(k, clicked, p):
        if k == len(grades):
            yield clicked, p
            return
        grade = grades[k]
        yield from walk(k + 1, clicked, p * (1 - p_click[grade]))
        here = (*clicked, k)
        yield here, p * p_click[grade] * p_stop[grade]
        yield from walk(k + 1, here, p * p_click[grade] * (1 - p_stop[grade]))

    merged: dict[tuple[int, ...], float] = {}
    for clicked, p in walk(0, (), 1.0):
        merged[clicked] = merged.get(clicked, 0.0) + p
    yield from merged.items()


def expected_outcome(first, second, relevance, model, top, tau, rule):
    """E[outcome] for one query, ties and no clicks counted as 0."""
    total = 0.0
    for shown, p_list in probabilistic_lists(first, second, top, tau).items():
        grades = [relevance[d] for d in shown]
        for clicks, p_clicks in click_patterns(grades, model.p_click, model.p_stop):
            if clicks:
                p_first, p_second = ownership_by_enumeration(first, second, shown, clicks, tau)
                outcome = p_first - p_second
                if rule == "marginal_sign":
                    outcome = (outcome > 1e-12) - (outcome < -1e-12)
                total += p_list * p_clicks * outcome
    return total


def team_draft_lists(orders, top):
    """{(list, owners): probability} of team-draft multileave with the common prefix owned by nobody (-1)."""
    n = len(orders[0])
    length, prefix = min(top, n), 0
    while prefix < length and len({order[prefix] for order in orders}) == 1:
        prefix += 1
    results: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}

    def extend(shown, owners, waiting, p):
        if len(shown) == length:
            results[shown, owners] = results.get((shown, owners), 0.0) + p
            return
        waiting = waiting or tuple(range(len(orders)))
        for place in waiting:
            document = next(d for d in orders[place] if d not in shown)
            rest = tuple(w for w in waiting if w != place)
            extend((*shown, document), (*owners, place), rest, p / len(waiting))

    extend(tuple(orders[0][:prefix]), (-1,) * prefix, (), 1.0)
    return results


def sosm_scores(orders, shown, clicks, tau=3):
    """Score of each ranker: re-rank the shown documents alone, sum rho^-tau over the clicked ones."""
    scores = []
    for order in orders:
        alone = [d for d in order if d in shown]
        scores.append(sum((alone.index(shown[k]) + 1) ** -tau for k in clicks))
    return scores
