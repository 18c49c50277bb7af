"""The contract: every registered method keeps it, and broken methods are detected."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from ltr_duel.core import InputError, random_below
from ltr_duel.interleaving import METHODS, Comparer, Method, MethodError, check_method, method_from_functions
from tests.conftest import random_rankings
from tests.interleaving.test_enumeration import CLICK_ALL


@pytest.mark.parametrize(
    "method", [*METHODS.names(), "probabilistic:tau=1", "team_draft:prefix_credit=1", "optimized:credit=linear"]
)
def test_every_method_keeps_the_contract(method):
    check_method(method)


def team_draft(orders, top, rng):
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


def first_list(orders, top, rng):
    shown = orders[0][:top]
    return shown, [0] * len(shown)


def test_a_method_of_two_functions_keeps_the_contract():
    check_method(method_from_functions("mine", team_draft, clicks_owned))


def test_a_method_of_two_functions_may_be_for_pairs_only():
    def draw_two(orders, top, rng):
        first, second = orders
        return team_draft([first, second], top, rng)

    check_method(method_from_functions("mine", draw_two, clicks_owned, slates=False))
    with pytest.raises(MethodError, match=r"method 'mine': ValueError: .*unpack.*; if .*slates=False"):
        check_method(method_from_functions("mine", draw_two, clicks_owned))


def shorter(orders, top, rng):
    shown = orders[0][: max(1, top // 2)]
    return shown, [0] * len(shown)


def from_numpys_global_generator(orders, top, rng):
    shown = np.random.permutation(len(orders[0]))[:top].tolist()  # noqa: NPY002 -- that is the mistake
    return shown, [0] * len(shown)


def loses_in_sets(orders, shown, clicks, owners):
    return clicks_owned(orders, shown, clicks, owners) if len(orders) == 2 else [0] * len(orders)


@pytest.mark.parametrize(
    ("draw", "credit", "fault"),
    [
        (lambda orders, top, rng: orders[0][:top], clicks_owned, "draw must return"),
        (lambda orders, top, rng: ([0] * 2, [0] * 2), clicks_owned, "at most 1 different documents"),
        (lambda orders, top, rng: (orders[0][:top], [2] * min(top, len(orders[0]))), clicks_owned, "from -1 to 1"),
        (team_draft, lambda *_: [1], "credit must return one finite number for each of 2 rankers"),
        (shorter, clicks_owned, "could be longer"),
        (first_list, lambda orders, *_: [1.0] + [0.0] * (len(orders) - 1), "identical rankers do not win one half"),
        (team_draft, lambda *given: [-x for x in clicks_owned(*given)], "does not beat its own reverse"),
        (team_draft, loses_in_sets, "in a set, a ranker does not beat"),
        (from_numpys_global_generator, clicks_owned, "same seed"),
    ],
)
def test_broken_methods_are_found(draw, credit, fault):
    with pytest.raises(MethodError, match=f"method 'broken': .*{fault}"):
        check_method(method_from_functions("broken", draw, credit))


def draw_slate(state, lists, query, slate, size, page, rng):
    start = lists.query_ptr[query]
    length, owner = min(state.top, lists.query_ptr[query + 1] - start), random_below(size, rng)
    for k in range(length):
        page.shown[k], page.owner[k] = lists.order[slate[owner], start + k], owner
    return length


def credit_slate(state, lists, query, slate, size, page, length, n_clicks, won):
    for a in range(size):
        for b in range(a + 1, size):
            won[a, b] = 2


def credit_undefined(state, lists, query, slate, size, page, length, n_clicks, won):
    if n_clicks > 99:
        undefined_name  # noqa: B018, F821 -- that is the mistake


@pytest.mark.parametrize(
    ("credit", "fault"), [(credit_slate, "outcome is outside -1..1"), (credit_undefined, r"test_check.py:\d+: .*undef")]
)
def test_broken_compiled_methods_are_found(credit, fault):
    class State(NamedTuple):
        top: int

    def init(size, params, outcome):
        return State(size.top)

    with pytest.raises(MethodError, match=f"method 'broken': .*{fault}"):
        check_method(Method(name="broken", state=State, init=init, draw_slate=draw_slate, credit_slate=credit))


def test_a_module_without_the_functions_of_a_method_is_refused():
    for parts in ({"draw_slate": draw_slate}, {}):
        with pytest.raises(InputError, match="method 'half' must define draw_pair and credit_pair"):
            METHODS.configure(Method(name="half", state=tuple, init=tuple, **parts))


def test_unknown_methods_and_parameters_are_refused():
    for text, sentence in {
        "team_daft": "no comparison method 'team_daft'; did you mean 'team_draft'",
        "probabilistic:tau=-1": "tau must be between 0 and 100, not -1",
        "optimized:credit=cubic": r"no credit for .* optimized called 'cubic'.*\(inverse, linear, binary\)",
    }.items():
        with pytest.raises(InputError, match=sentence):
            METHODS.configure(text)


def test_a_solved_method_refuses_ties_ordered_anew():
    rankings = random_rankings(2, 1, 4, grades=2)
    rankings.provenance["ties"] = "resample"
    with pytest.raises(InputError, match="method 'optimized_multileave' solves one program for each query"):
        Comparer(rankings, CLICK_ALL, "optimized_multileave")
