"""Comparison of rankers by enumeration: every list, every click pattern, every assignment."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from math import prod


def softmax(order, tau):
    """P(document) of each document by its rank."""
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


def probabilistic_lists(orders, top, tau):
    """{list: probability} of probabilistic interleave or multileave."""
    lists = {}
    for shown in itertools.permutations(orders[0], min(top, len(orders[0]))):
        steps = [step_probabilities(order, shown, tau) for order in orders]
        lists[shown] = prod(sum(p) / len(orders) for p in zip(*steps, strict=True))
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


def click_patterns(grades, p_click, p_stop, p_leave=None, attention=None) -> Iterator[tuple[tuple[int, ...], float]]:
    """All (clicked positions, probability) of the dependent click model; without ``p_leave``, stops follow clicks."""

    def walk(k, clicked, p):
        if k == len(grades):
            yield clicked, p
            return
        grade = grades[k]
        click = p_click[grade] * (1 if attention is None else attention[k])
        leave = 0 if p_leave is None else p_leave[grade]
        yield clicked, p * (1 - click) * leave
        yield from walk(k + 1, clicked, p * (1 - click) * (1 - leave))
        here = (*clicked, k)
        yield here, p * click * p_stop[grade]
        yield from walk(k + 1, here, p * click * (1 - p_stop[grade]))

    merged: dict[tuple[int, ...], float] = {}
    for clicked, p in walk(0, (), 1.0):
        merged[clicked] = merged.get(clicked, 0.0) + p
    yield from merged.items()


def expected_outcome(first, second, relevance, model, top, tau, rule):
    """E[outcome] for one query, ties and no clicks counted as 0."""
    total = 0.0
    for shown, p_list in probabilistic_lists([first, second], top, tau).items():
        grades = [relevance[d] for d in shown]
        for clicks, p_clicks in click_patterns(grades, model.p_click, model.p_stop):
            if clicks:
                p_first, p_second = ownership_by_enumeration(first, second, shown, clicks, tau)
                outcome = p_first - p_second
                if rule == "marginal_sign":
                    outcome = (outcome > 1e-12) - (outcome < -1e-12)
                total += p_list * p_clicks * outcome
    return total


def multileave_by_enumeration(orders, shown, clicks, tau):
    """P(i owns more clicks than j) - P(fewer), for all i, j, over all assignments of the clicked places."""
    steps = [step_probabilities(order, shown, tau) for order in orders]
    lead = [[0.0] * len(orders) for _ in orders]
    for owners in itertools.product(range(len(orders)), repeat=len(clicks)):
        p = prod(steps[o][k] / sum(s[k] for s in steps) for o, k in zip(owners, clicks, strict=True))
        for i, j in itertools.product(range(len(orders)), repeat=2):
            difference = owners.count(i) - owners.count(j)
            lead[i][j] += p * ((difference > 0) - (difference < 0))
    return lead


def balanced_lists(first, second, top):
    """{list: probability} of balanced interleave, by its two pointers."""
    lists: dict[tuple[int, ...], float] = {}
    for first_leads in (True, False):
        shown: list[int] = []
        a = b = 0
        while len(shown) < min(top, len(first)):
            if a < b or (a == b and first_leads):
                shown += [first[a]] if first[a] not in shown else []
                a += 1
            else:
                shown += [second[b]] if second[b] not in shown else []
                b += 1
        lists[tuple(shown)] = lists.get(tuple(shown), 0.0) + 0.5
    return lists


def balanced_outcome(first, second, shown, clicks):
    """+1, -1 or 0: more clicks within the depth k at which one ranker has the lowest clicked document."""
    lowest = shown[clicks[-1]]
    k = min(first.index(lowest), second.index(lowest)) + 1
    clicked = {shown[c] for c in clicks}
    return sign_of(len(clicked & set(first[:k])) - len(clicked & set(second[:k])))


def constraints_outcome(first, second, shown, clicks, kinds=(1, 2)):
    """+1, -1 or 0: fewer violated statements "the clicked document is better than this one" of these kinds."""
    statements = []
    for c in clicks:
        others = [k for k in range(c) if k not in clicks] if 1 in kinds else []
        others += [c + 1] if 2 in kinds and c + 1 < len(shown) and c + 1 not in clicks else []
        statements += [(shown[c], shown[k]) for k in others]
    violated = [sum(order.index(x) > order.index(y) for x, y in statements) for order in (first, second)]
    return sign_of(violated[1] - violated[0])


def team_draft_lists(orders, top, skip_prefix=True):
    """{(list, owners): probability} of team draft; the common prefix has no owner (-1) if it is skipped."""
    n = len(orders[0])
    length, prefix = min(top, n), 0
    while skip_prefix and prefix < length and len({order[prefix] for order in orders}) == 1:
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


def preference_lists(orders, top):
    """{list: probability} of pairwise preference multileave."""
    results: dict[tuple[int, ...], float] = {}

    def extend(shown, p):
        if len(shown) == min(top, len(orders[0])):
            results[shown] = results.get(shown, 0.0) + p
            return
        choices = {d for order in orders for d in order[: len(shown) + 1]} - set(shown)
        for document in choices:
            extend((*shown, document), p / len(choices))

    extend((), 1.0)
    return results


def preference_scores(orders, shown, clicks):
    """Score of each ranker: the summed weight of the preferences it agrees with."""
    length = len(shown)
    sizes = [len({d for order in orders for d in order[: i + 1]} - set(shown[:i])) for i in range(length)]
    top = [min(min(order.index(d) for order in orders), length) for d in shown]
    scores = [0.0] * len(orders)
    for x in clicks:
        for y in range(min(length, clicks[-1] + 2)):
            if y in clicks or min(x, y) < max(top[x], top[y]):
                continue
            weight = 1 / prod(1 - 1 / sizes[i] for i in range(min(top[x], top[y]), max(top[x], top[y])))
            for j, order in enumerate(orders):
                scores[j] += weight * (order.index(shown[x]) < order.index(shown[y]))
    return scores


def sign_of(number, tolerance=1e-12):
    """+1, -1, or 0 within the tolerance."""
    return (number > tolerance) - (number < -tolerance)


def sosm_scores(orders, shown, clicks, tau=3):
    """Score of each ranker: re-rank the shown documents alone, sum rho^-tau over the clicked ones."""
    scores = []
    for order in orders:
        alone = [d for d in order if d in shown]
        scores.append(sum((alone.index(shown[k]) + 1) ** -tau for k in clicks))
    return scores
