"""Every method against brute force: the distribution of its lists, and the credit of every click pattern."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from ltr_duel.clicks import ClickModel, click_model
from ltr_duel.core import interpreted
from ltr_duel.interleaving import METHODS, Comparer
from ltr_duel.interleaving.hooks import credit_pair, credit_slate, draw_pair, draw_slate
from ltr_duel.interleaving.methods import balanced, optimized, pairwise_preference, team_draft
from ltr_duel.interleaving.methods.optimized_multileave import choice_of, solve
from ltr_duel.interleaving.methods.sosm import points_by_rank
from ltr_duel.interleaving.simplex import fairest, new_program
from tests.conftest import make_rankings, random_rankings
from tests.reference import interleaving as literal
from tests.reference import optimized as with_highs
from tests.reference.sampling import choose_below, enumerate_choices

CLICK_ALL, RANDOM = ClickModel("all", (1.0, 1.0), (0.0, 0.0)), click_model("random", 2)
CASES = [  # orders of 2 to 4 rankers on 3 to 6 documents: opposite, close, with a common prefix, twins
    [(0, 1, 2), (2, 1, 0)],
    [(2, 0, 3, 1), (0, 1, 2, 3)],
    [(0, 1, 2, 3, 4), (0, 3, 1, 2, 4)],
    [(0, 1, 2, 3), (0, 1, 2, 3)],
    [(0, 1, 2, 3), (1, 0, 3, 2), (3, 2, 1, 0)],
    [(0, 1, 2, 3, 4, 5), (0, 3, 1, 5, 2, 4), (0, 5, 4, 3, 2, 1), (0, 3, 1, 5, 2, 4)],
]
PAIRS = [case for case in CASES if len(case) == 2]


@pytest.fixture(autouse=True)
def _choices_are_enumerated(monkeypatch):
    """Run the samplers' own source with the enumerator as the source of choices."""
    for module in (balanced, pairwise_preference, team_draft):
        monkeypatch.setattr(module, "random_below", choose_below)
    monkeypatch.setattr(team_draft, "draft_list", interpreted(team_draft.draft_list))


def opened(orders, method, top, outcome="", relevance=None, clicks=CLICK_ALL):
    rankings = make_rankings(orders, clicks.grades, relevance or [1, *[0] * (len(orders[0]) - 1)])
    return Comparer(rankings, clicks, method=method, outcome=outcome, top=top).open()


def drawn(c, size, *, owners=False):
    """{list: probability}, or {(list, owners): probability}, of the method's own sampler; size 0: two rankers."""

    def run(chooser):
        if size == 0:
            length = draw_pair(c.method, c.lists, 0, 0, 1, c.page, chooser)
        else:
            length = draw_slate(c.method, c.lists, 0, np.arange(size), size, c.page, chooser)
        shown = tuple(c.page.shown[:length].tolist())
        return (shown, tuple(c.page.owner[:length].tolist())) if owners else shown

    return enumerate_choices(run)


def patterns(length):
    """All non-empty sets of clicked positions."""
    for count in range(1, length + 1):
        yield from itertools.combinations(range(length), count)


def put(c, shown, clicks, owners=None):
    c.page.shown[: len(shown)], c.page.clicks[: len(clicks)] = shown, clicks
    if owners is not None:
        c.page.owner[: len(shown)] = owners
    return c.page, len(shown), len(clicks)


def pair_credit(c, shown, clicks, owners=None):
    return credit_pair(c.method, c.lists, 0, 0, 1, *put(c, shown, clicks, owners))


def slate_credit(c, size, shown, clicks, owners=None):
    won = np.zeros((size, size), np.int8)
    credit_slate(c.method, c.lists, 0, np.arange(size), size, *put(c, shown, clicks, owners), won)
    return {(a, b): int(won[a, b]) for a, b in itertools.combinations(range(size), 2)}


def signs(scores):
    return {(a, b): literal.sign_of(scores[a] - scores[b]) for a, b in itertools.combinations(range(len(scores)), 2)}


@pytest.mark.parametrize(
    ("method", "outcome"),
    [
        ("balanced", literal.balanced_outcome),
        ("document_constraints:constraints=1", lambda *given: literal.constraints_outcome(*given, kinds=(1,))),
        ("document_constraints:constraints=2", lambda *given: literal.constraints_outcome(*given, kinds=(2,))),
        ("document_constraints", literal.constraints_outcome),
    ],
)
def test_balanced_interleaving_equals_enumeration(method, outcome):
    outcomes = set()
    for orders, top in itertools.product(PAIRS, (2, 6)):
        c, expected = opened(orders, method, top), literal.balanced_lists(*orders, top)
        assert drawn(c, 0) == pytest.approx(expected, abs=1e-12)
        for shown in expected:
            for clicks in patterns(len(shown)):
                won = outcome(*orders, shown, clicks)
                assert pair_credit(c, shown, clicks) == won
                outcomes.add(won)
    assert outcomes == {-1, 0, 1}


@pytest.mark.parametrize(("method", "skip"), [("team_draft", True), ("team_draft:prefix_credit=1", False)])
def test_team_draft_equals_enumeration(method, skip):
    for orders in CASES:
        c, expected, size = opened(orders, method, 5), literal.team_draft_lists(orders, 5, skip), len(orders)
        assert drawn(c, size, owners=True) == pytest.approx(expected, abs=1e-12)
        if size == 2:
            assert drawn(c, 0, owners=True) == pytest.approx(expected, abs=1e-12)
        for shown, owners in expected:
            for clicks in patterns(len(shown)):
                counts = [sum(owners[k] == j for k in clicks) for j in range(size)]
                assert slate_credit(c, size, shown, clicks, owners) == signs(counts)
                if size == 2:
                    assert pair_credit(c, shown, clicks, owners) == literal.sign_of(counts[0] - counts[1])


def test_sosm_equals_enumeration():
    for orders in CASES:
        c, expected = opened(orders, "sosm", 4), literal.team_draft_lists(orders, 4)
        assert drawn(c, len(orders), owners=True) == pytest.approx(expected, abs=1e-12)
        for shown in {shown for shown, _ in expected}:
            for clicks in patterns(len(shown)):
                assert slate_credit(c, len(orders), shown, clicks) == signs(literal.sosm_scores(orders, shown, clicks))


def test_points_of_sosm_are_exact_for_ten_documents_and_do_not_overflow_for_a_thousand():
    points = points_by_rank(10, 3.0)
    assert [Fraction(int(p), int(points[1])) for p in points[1:]] == [Fraction(1, rho**3) for rho in range(1, 11)]
    points = points_by_rank(1000, 2.5)
    assert (np.diff(points[1:]) < 0).all() and sum(map(int, points)) < 2**63


def test_long_pages_of_sosm_are_scored_like_short_ones():
    """More shown documents than one block of comparisons; pages of different lengths in turn for query 1."""
    rankings, rng = random_rankings(6, 2, 40, grades=2), np.random.default_rng(2)
    c = Comparer(rankings, CLICK_ALL, method="sosm", top=37).open()
    orders = [tuple(order[40:].tolist()) for order in rankings.order]
    slate = np.array([3, 0, 5, 1, 4, 2])
    for n in (37, 5, 20):
        shown, clicks = rng.permutation(40)[:n], np.flatnonzero(rng.random(n) < 0.3)
        credit_slate(c.method, c.lists, 1, slate, 6, *put(c, shown, clicks), np.zeros((6, 6), np.int8))
        scores = literal.sosm_scores([orders[ranker] for ranker in slate], shown.tolist(), clicks.tolist())
        assert c.method.scores / c.method.points[1] == pytest.approx(scores, rel=1e-9)


def test_pairwise_preference_equals_enumeration():
    for orders, top in itertools.product(CASES, (3, 4)):
        c, expected, size = (
            opened(orders, "pairwise_preference", top),
            literal.preference_lists(orders, top),
            len(orders),
        )
        assert drawn(c, size) == pytest.approx(expected, abs=1e-12)
        for shown in expected:
            for clicks in patterns(len(shown)):
                assert slate_credit(c, size, shown, clicks) == signs(literal.preference_scores(orders, shown, clicks))


LISTS = {
    "balanced": lambda orders: literal.balanced_lists(*orders, 4),
    "document_constraints": lambda orders: literal.balanced_lists(*orders, 4),
    "probabilistic": lambda orders: literal.probabilistic_lists(orders, 4, 3.0),
    "team_draft": lambda orders: literal.team_draft_lists(orders, 4),
}


@pytest.mark.parametrize("method", LISTS)
def test_a_method_declares_the_rules_under_which_random_clicks_favour_a_ranker(method):
    def mean_outcome(orders, rule):
        c, total = opened(orders, method, 4, rule), 0.0
        for key, p in LISTS[method](orders).items():
            shown, owners = key if isinstance(key[0], tuple) else (key, None)
            for clicks, q in literal.click_patterns([0] * 4, RANDOM.p_click, RANDOM.p_stop):
                if clicks:
                    total += p * q * pair_credit(c, shown, clicks, owners)
        return total

    pairs = [[[0, 1, 2, 3], list(order)] for order in itertools.permutations(range(4))]
    without_coins = [rule for rule in METHODS[method].outcomes if rule not in ("sampled", "marginal_bernoulli")]
    biased = [rule for rule in without_coins if any(abs(mean_outcome(orders, rule)) > 1e-9 for orders in pairs)]
    assert METHODS[method].biased == tuple(biased)


def solved(c, top, first=0, second=1):
    """{list: probability} of the program that `optimized` solved."""
    length = min(top, int(c.lists.query_ptr[1]))
    slot = optimized.slot_of(c.method, c.lists, 0, first, second, length)
    kept, size = c.method.solutions, c.method.solutions.size[slot]
    p = np.diff(kept.cumulative[slot, :size], prepend=0)
    lists = kept.lists[slot, : size * length].reshape(size, length)
    return dict(zip(map(tuple, lists.tolist()), p.tolist(), strict=True))


@pytest.mark.parametrize("credit", optimized.CREDITS)
def test_optimized_lists_are_as_fair_and_as_sensitive_as_those_of_a_general_solver(credit):
    rng, impossible = np.random.default_rng(optimized.CREDITS.index(credit)), 0
    close = [
        [np.argsort(np.arange(n) + s * rng.normal(size=n)) for _ in "ab"] for n in (6, 40) for s in (0.5, 2, 50) * 4
    ]
    for orders in [*PAIRS, *(tuple(order.tolist() for order in orders) for orders in close)]:
        c, top = opened(orders, f"optimized:credit={credit}", 6), min(6, len(orders[0]))
        law, (exact, best) = solved(c, 6), with_highs.optimized_lists(orders, 6, credit)
        allowed = with_highs.allowed_lists([list(order) for order in orders], top)
        count = optimized.merge(c.method, c.lists, 0, 0, 1, top)
        assert [tuple(row) for row in c.method.lists[:count].tolist()] == allowed and set(law) <= set(allowed)
        ranks = [{d: k + 1 for k, d in enumerate(order)} for order in orders]

        def bias_and_worth(law, ranks=ranks):
            table = np.array([[with_highs.credit_of(credit, ranks[0][d], ranks[1][d]) for d in shown] for shown in law])
            p = np.array(list(law.values()))
            return np.abs(p @ table).sum(), p @ [with_highs.sensitivity(row) for row in table]

        (bias, worth), least = bias_and_worth(law), bias_and_worth(exact)[0]
        assert sum(law.values()) == pytest.approx(1, abs=1e-12) and min(law.values()) > 0
        assert bias == pytest.approx(least, abs=1e-8)
        assert worth == pytest.approx(best, abs=1e-9 if least < 1e-6 else 1e-7), "the general one may use its slack"
        impossible += bool(least > 1e-6)
        for shown in law:
            for clicks in patterns(len(shown)) if top < 6 else ():
                earned = sum(with_highs.credit_of(credit, ranks[0][shown[k]], ranks[1][shown[k]]) for k in clicks)
                assert pair_credit(c, shown, clicks) == literal.sign_of(earned)
    assert (impossible > 0) == (credit == "binary"), "each list may favour one ranker by a document"


def test_a_kept_solution_is_that_of_its_own_documents(monkeypatch):
    monkeypatch.setattr(optimized, "_KEPT", 1)  # all programs share one slot
    orders = [(0, 1, 2, 3), (3, 1, 2, 0), (2, 0, 1, 3)]
    c = opened(orders, "optimized", 3)
    for pair in 2 * list(itertools.permutations(range(3), 2)):
        assert solved(c, 3, *pair) == solved(opened([orders[k] for k in pair], "optimized", 3), 3)


def test_sensitivity_is_the_entropy_of_the_split():
    a, b = np.array([1, 1 / 2]) / (1 + 1 / 2 + 1 / 3)  # the third position ties
    expected = -(a + b) / (a + b) * np.log2(a**a * b**b / (a + b) ** (a + b))
    assert optimized.sensitivity(a, b) == pytest.approx(expected)
    assert optimized.sensitivity(0.0, 0.0) == 0 and optimized.sensitivity(1.0, 0.0) == 0


def test_an_infeasible_program_is_as_fair_as_it_can_be():
    bias = np.array([[1.0, 3.0, 2.0], [0.0, 0.0, 1.0]])  # every list favours the first ranker at the first position
    program = new_program(2, 3)
    program.table[:, :3], program.worth[:3] = bias, (0.0, 1.0, 5.0)
    assert fairest(program, 2, 3) == pytest.approx(1)
    assert dict(zip(program.basis.tolist(), program.value.tolist(), strict=True))[0] == pytest.approx(1)


def test_optimized_multileave_has_the_least_variance_of_scores_among_the_fair_probabilities():
    """Schuth et al. 2014: minimise sum_l p_l sum_j (sum_i delta_j(l_i) / i - mu_l)^2, fair at every depth."""
    orders = [(0, 1, 2, 3, 4, 5), (2, 5, 0, 3, 4, 1)]
    credits = np.array([[1 / (order.index(d) + 1) for d in range(6)] for order in orders])
    lists = [(0, 1, 2), (0, 2, 1), (0, 2, 5), (2, 0, 1), (2, 0, 5), (2, 5, 0)]  # all allowed lists

    def least(weight):
        scores = [[sum(row[d] * weight(i) for i, d in enumerate(shown, 1)) for row in credits] for shown in lists]
        cost = 2 * np.var(scores, axis=1)
        fair = [[sum(credits[0, d] - credits[1, d] for d in shown[:k]) for shown in lists] for k in (1, 2, 3)]
        return cost, linprog(cost, A_eq=[*fair, [1] * len(lists)], b_eq=[0, 0, 0, 1])

    cost, best = least(lambda i: 1 / i)
    choice = solve(np.array(lists), credits)
    assert choice.feasible
    assert np.diff(choice.cumulative, prepend=0) @ cost == pytest.approx(best.fun, abs=1e-9)
    assert least(lambda i: 1.0)[1].x @ cost > best.fun + 0.1, "the weights matter on these lists"


def test_optimized_multileave_of_many_rankers_credits_inverse_ranks_even_if_its_program_is_infeasible():
    c = opened(CASES[5], "optimized_multileave", 4)
    choice = choice_of(c.method, c.lists, 0, np.arange(4))
    assert not choice.feasible and choice.cumulative[-1] == 1.0
    for shown in choice.lists.tolist():
        assert len(set(shown)) == 4
        for clicks in patterns(4):
            scores = [sum(1 / (order.index(shown[k]) + 1) for k in clicks) for order in CASES[5]]
            assert slate_credit(c, 4, shown, clicks) == signs(scores)
