"""The contract: every registered method keeps it, and broken methods are detected."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from ltr_duel.core import random_below
from ltr_duel.core.errors import InputError
from ltr_duel.interleaving.check import check_method
from ltr_duel.interleaving.comparison import Comparer
from ltr_duel.interleaving.method import METHODS, Method, MethodError
from ltr_duel.interleaving.plain import interleave
from ltr_duel.interleaving.registration import method_from_functions
from tests.conftest import random_rankings
from tests.interleaving.test_enumeration import CLICK_ALL


@pytest.mark.parametrize("name", METHODS.names())
def test_every_method_keeps_the_contract(name):
    check_method(name)


@pytest.mark.parametrize(
    "text", ["probabilistic:tau=1", "sosm:tau=1.5", "team_draft:prefix_credit=1", "optimized:credit=linear"]
)
def test_methods_with_parameters_keep_the_contract(text):
    check_method(text)


def team_draft(orders, top, rng):
    shown: list[int] = []
    while len(shown) < min(top, len(orders[0])):
        for place in rng.permutation(len(orders)):
            left = [d for d in orders[place] if d not in shown]
            if left and len(shown) < top:
                shown.append(left[0])
    return shown


def inverse_ranks(orders, shown, clicks):
    return [sum(1 / (order.index(shown[k]) + 1) for k in clicks) for order in orders]


def test_a_method_of_two_functions_keeps_the_contract():
    check_method(method_from_functions("mine", team_draft, inverse_ranks))


def test_a_method_of_two_functions_for_two_rankers_keeps_the_contract():
    def draw(orders, top, rng):
        one, other = orders
        return team_draft([one, other], top, rng)

    mine = method_from_functions("mine", draw, inverse_ranks, slates=False)
    assert mine.pairs and not mine.slates
    check_method(mine)
    with pytest.raises(ValueError, match="unpack"):
        check_method(method_from_functions("mine", draw, inverse_ranks))


def owned_team_draft(orders, top, rng):
    shown, owners = [], []
    while len(shown) < min(top, len(orders[0])):
        for ranker in rng.permutation(len(orders)):
            left = [d for d in orders[ranker] if d not in shown]
            if left and len(shown) < top:
                shown.append(left[0])
                owners.append(ranker)
    return shown, owners


def clicks_owned(orders, shown, clicks, owners):
    return [sum(owners[k] == ranker for k in clicks) for ranker in range(len(orders))]


def test_team_draft_can_be_written_as_two_functions_with_owners():
    mine = method_from_functions("mine", owned_team_draft, clicks_owned)
    check_method(mine)
    page = interleave({"one": ["a", "b", "c", "d"], "other": ["d", "c", "b", "a"]}, mine, seed=2, top=2)
    first = page.owners[0]
    assert set(page.owners) == {"one", "other"}, "each contributes one of two documents"
    assert page.credit([page.shown[0]]) == {("one", "other"): 1.0 if first == "one" else -1.0}


@pytest.mark.parametrize(
    "draw, complaint",
    [
        (team_draft, "draw must return the documents and their owners"),
        (lambda o, t, rng: (team_draft(o, t, rng), []), "one owner for each of 1 documents, from -1 to 1"),
        (lambda o, t, rng: (team_draft(o, t, rng), [2] * min(t, len(o[0]))), "one owner for each .*: \\[2\\]"),
    ],
)
def test_wrong_owners_are_refused(draw, complaint):
    with pytest.raises(MethodError, match=complaint):
        check_method(method_from_functions("mine", draw, clicks_owned))


def test_pairs_alone_are_checked_against_the_reverse():
    def credit(orders, shown, clicks):
        return [-x for x in inverse_ranks(orders, shown, clicks)]

    with pytest.raises(MethodError, match="a ranker does not beat its own reverse"):
        check_method(method_from_functions("mine", team_draft, credit, slates=False))


@pytest.mark.parametrize(
    "draw, credit, complaint",
    [
        (lambda orders, top, rng: [orders[0][0]] * min(top, len(orders[0])), inverse_ranks, "shows a document twice"),
        (lambda orders, top, rng: [len(orders[0]), *orders[0][1:top]], inverse_ranks, "of other queries"),
        (lambda orders, top, rng: orders[0][: max(1, top // 2)], inverse_ranks, "could be longer"),
        (lambda orders, top, rng: orders[0][:top], lambda o, s, c: [1.0] + [0.0] * (len(o) - 1), "one half each"),
        (team_draft, lambda o, s, c: [-x for x in inverse_ranks(o, s, c)], "does not beat its own reverse"),
        (
            team_draft,
            lambda o, s, c: inverse_ranks(o, s, c) if len(o) == 2 else [0.0] * len(o),
            "in a set, a ranker does not beat",
        ),
        (lambda o, t, rng: np.random.permutation(len(o[0]))[:t].tolist(), inverse_ranks, "same seed"),  # noqa: NPY002
    ],
)  # the last one uses numpy's global generator, which is the mistake to be found
def test_broken_methods_are_found_out(draw, credit, complaint):
    with pytest.raises(MethodError, match=complaint):
        check_method(method_from_functions("broken", draw, credit))


class State(NamedTuple):
    top: int


def draw_slate(state, lists, query, slate, size, page, rng):
    start = lists.query_ptr[query]
    length, owner = min(state.top, lists.query_ptr[query + 1] - start), random_below(size, rng)
    for k in range(length):
        page.shown[k], page.owner[k] = lists.order[slate[owner], start + k], owner
    return length


def credit_slate(state, lists, query, slate, size, page, length, n_clicks, won):
    for a in range(size):
        for b in range(a + 1, size):
            lead = 0.0
            for c in range(n_clicks):
                document = lists.query_ptr[query] + page.shown[page.clicks[c]]
                lead += 1.0 / lists.rank[slate[a], document] - 1.0 / lists.rank[slate[b], document]
            won[a, b] = 0 if abs(lead) < 1e-12 else 2 * np.sign(lead)


@pytest.mark.parametrize("compiled", [True, False])
def test_signs_of_compiled_code_are_minus_one_zero_or_one(compiled):
    twice = Method(
        name="twice",
        state=State,
        init=lambda size, params, outcome: State(size.top),
        draw_slate=draw_slate,
        credit_slate=credit_slate,
        compiled=compiled,
    )
    with pytest.raises(MethodError, match="method 'twice': credit_slate writes a sign that is not -1, 0 or 1"):
        check_method(twice)


def test_unknown_methods_and_parameters_are_refused():
    for text, sentence in {
        "team_daft": "no comparison method 'team_daft'; did you mean 'team_draft'",
        "probabilistic:tao=3": "no parameter of comparison method probabilistic called 'tao'; did you mean 'tau'",
        "probabilistic:tau=-1": "tau must be between 0 and 100, not -1",
        "probabilistic:tau=nan": "tau must be between 0 and 100, not nan",
        "probabilistic:tau=x": "tau must be a number, not 'x'",
        "optimized:credit=cubic": r"no credit for .* optimized called 'cubic'.*\(inverse, linear, binary\)",
        "balanced:tau=1": "no parameter of comparison method balanced called 'tau'",
    }.items():
        with pytest.raises(InputError, match=sentence):
            METHODS.configure(text)


def test_a_solved_method_refuses_ties_ordered_anew():
    rankings = random_rankings(2, 1, 4, grades=2)
    rankings.provenance["ties"] = "resample"
    with pytest.raises(InputError, match="method 'optimized_multileave' solves one program for each query"):
        Comparer(rankings, CLICK_ALL, "optimized_multileave")
