"""Every method against brute force: the distribution of its lists, and the credit of every click pattern."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ltr_duel.clicks.model import ClickModel, click_model
from ltr_duel.core import interpreted
from ltr_duel.interleaving.comparison import Comparer
from ltr_duel.interleaving.hooks import credit_pair, credit_slate, draw_pair, draw_slate
from ltr_duel.interleaving.method import METHODS
from ltr_duel.interleaving.methods import balanced, pairwise_preference, team_draft
from ltr_duel.interleaving.methods.optimized import CREDITS, credit_of, merge, sensitivity, slot_of
from tests.conftest import make_rankings
from tests.reference import interleaving as literal
from tests.reference import optimized as with_highs
from tests.reference.sampling import bisect_softmax, choose_below, enumerate_choices

TAU = 3.0
CLICK_ALL = ClickModel("all", (1.0, 1.0), (0.0, 0.0))
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


def opened(orders, method, top, outcome=""):
    rankings = make_rankings(orders, 2, [1, *[0] * (len(orders[0]) - 1)])
    return Comparer(rankings, CLICK_ALL, method=method, outcome=outcome, top=top).open()


def drawn(c, size, *, owners=False):
    """{list: probability}, or {(list, owners): probability}, of the method's own sampler."""

    def run(chooser):
        if size == 0:
            length = draw_pair(c.method, c.lists, 0, 0, 1, c.page, chooser)
        else:
            length = draw_slate(c.method, c.lists, 0, np.arange(size), size, c.page, chooser)
        shown = tuple(c.page.shown[:length].tolist())
        return (shown, tuple(c.page.owner[:length].tolist())) if owners else shown

    return enumerate_choices(run)


def same_law(found, expected):
    assert set(found) == set(expected)
    for key, p in expected.items():
        assert found[key] == pytest.approx(p, abs=1e-12)


def patterns(length):
    """All non-empty sets of clicked positions."""
    for count in range(1, length + 1):
        yield from itertools.combinations(range(length), count)


def pair_credit(c, shown, clicks, owners=None):
    c.page.shown[: len(shown)], c.page.clicks[: len(clicks)] = shown, clicks
    if owners is not None:
        c.page.owner[: len(shown)] = owners
    return credit_pair(c.method, c.lists, 0, 0, 1, c.page, len(shown), len(clicks))


def slate_credit(c, size, shown, clicks, owners=None):
    c.page.shown[: len(shown)], c.page.clicks[: len(clicks)] = shown, clicks
    if owners is not None:
        c.page.owner[: len(shown)] = owners
    won = np.zeros((size, size), np.int8)
    credit_slate(c.method, c.lists, 0, np.arange(size), size, c.page, len(shown), len(clicks), won)
    return {(a, b): int(won[a, b]) for a in range(size) for b in range(a + 1, size)}


def signs(scores):
    size = len(scores)
    return {(a, b): literal.sign_of(scores[a] - scores[b]) for a in range(size) for b in range(a + 1, size)}


@pytest.mark.parametrize("orders", PAIRS)
@pytest.mark.parametrize("top", [2, 6])
def test_balanced(orders, top):
    c, expected = opened(orders, "balanced", top), literal.balanced_lists(*orders, top)
    same_law(drawn(c, 0), expected)
    for shown in expected:
        for clicks in patterns(len(shown)):
            assert pair_credit(c, shown, clicks) == literal.balanced_outcome(*orders, shown, clicks)


@pytest.mark.parametrize("orders", PAIRS)
@pytest.mark.parametrize("top", [2, 6])
def test_document_constraints(orders, top):
    c, expected = opened(orders, "document_constraints", top), literal.balanced_lists(*orders, top)
    same_law(drawn(c, 0), expected)
    for shown in expected:
        for clicks in patterns(len(shown)):
            assert pair_credit(c, shown, clicks) == literal.constraints_outcome(*orders, shown, clicks)


@pytest.mark.parametrize("constraints, kinds", [(1, (1,)), (2, (2,)), (3, (1, 2))])
def test_document_constraints_of_one_kind(constraints, kinds):
    decided = set()
    for orders in PAIRS:
        c = opened(orders, f"document_constraints:constraints={constraints}", 4)
        for shown in literal.balanced_lists(*orders, 4):
            for clicks in patterns(len(shown)):
                expected = literal.constraints_outcome(*orders, shown, clicks, kinds)
                assert pair_credit(c, shown, clicks) == expected
                decided.add(expected)
    assert decided == {-1, 0, 1}


@pytest.mark.parametrize("orders", CASES)
@pytest.mark.parametrize("method, skip", [("team_draft", True), ("team_draft:prefix_credit=1", False)])
def test_team_draft(orders, method, skip):
    c, expected = opened(orders, method, 5), literal.team_draft_lists(orders, 5, skip)
    same_law(drawn(c, len(orders), owners=True), expected)
    if len(orders) == 2:
        same_law(drawn(c, 0, owners=True), expected)
    for shown, owners in expected:
        for clicks in patterns(len(shown)):
            counts = [sum(owners[k] == j for k in clicks) for j in range(len(orders))]
            assert slate_credit(c, len(orders), shown, clicks, owners) == signs(counts)
            if len(orders) == 2:
                assert pair_credit(c, shown, clicks, owners) == literal.sign_of(counts[0] - counts[1])


@pytest.mark.parametrize("orders", CASES)
def test_sosm(orders):
    c, expected = opened(orders, "sosm", 4), literal.team_draft_lists(orders, 4)
    same_law(drawn(c, len(orders), owners=True), expected)
    for shown in {shown for shown, _ in expected}:
        for clicks in patterns(len(shown)):
            scores = literal.sosm_scores(orders, shown, clicks)
            assert slate_credit(c, len(orders), shown, clicks) == signs(scores)


@pytest.mark.parametrize("orders", CASES)
@pytest.mark.parametrize("top", [3, 4])
def test_pairwise_preference(orders, top):
    c, expected = opened(orders, "pairwise_preference", top), literal.preference_lists(orders, top)
    same_law(drawn(c, len(orders)), expected)
    for shown in expected:
        for clicks in patterns(len(shown)):
            scores = literal.preference_scores(orders, shown, clicks)
            assert slate_credit(c, len(orders), shown, clicks) == signs(scores)


@pytest.mark.parametrize("orders", [CASES[4], [*CASES[4], CASES[4][0]]])
def test_probabilistic_multileave(orders):
    size, top = len(orders), 3
    c, expected = opened(orders, "probabilistic", top, "marginal_sign"), literal.probabilistic_lists(orders, top, TAU)
    found = bisect_softmax(
        lambda rng: draw_slate(c.method, c.lists, 0, np.arange(size), size, c.page, rng),
        c.page, c.method.used, top, size, (1 / 4**3) / (1 + 1 / 2**3 + 1 / 3**3 + 1 / 4**3) / size,
    )  # fmt: skip
    same_law(found, expected)
    for shown in expected:
        for clicks in patterns(top):
            lead = literal.multileave_by_enumeration(orders, shown, clicks, TAU)
            expected_signs = {(a, b): literal.sign_of(lead[a][b]) for a in range(size) for b in range(a + 1, size)}
            assert slate_credit(c, size, shown, clicks) == expected_signs


def test_the_leads_of_probabilistic_multileave_are_exact():
    from ltr_duel.interleaving.methods.probabilistic import bound_owned, distance, lead_among_many, trace_clicks

    orders = CASES[5]
    c = opened(orders, "probabilistic", 6, "marginal_sign")
    rng = np.random.default_rng(0)
    for _ in range(40):
        shown = tuple(rng.permutation(6).tolist())
        clicks = tuple(np.flatnonzero(rng.random(6) < 0.6).tolist()) or (2,)
        c.page.shown[:6], c.page.clicks[: len(clicks)] = shown, clicks
        trace_clicks(c.method, c.lists, 0, np.arange(4), 4, c.page, len(clicks))
        expected = literal.multileave_by_enumeration(orders, shown, clicks, TAU)
        bound_owned(c.method, 4, len(clicks))
        least, most, source = c.method.least, c.method.most, c.method.source[: len(clicks), :4]
        assert least == pytest.approx(1 - np.prod(1 - source, axis=0)) and most == pytest.approx(source.sum(axis=0))
        for a, b in itertools.combinations(range(4), 2):
            lead = expected[a][b]
            assert lead_among_many(c.method, a, b, len(clicks)) == pytest.approx(lead, abs=1e-12)
            assert least[a] - most[b] - 1e-12 <= lead <= most[a] - least[b] + 1e-12
            assert abs(lead) <= distance(c.method, a, b, len(clicks)) + 1e-12
            if len(clicks) == 1:
                assert least[a] - most[b] == pytest.approx(lead, abs=1e-12)


def test_many_rankers_of_probabilistic_multileave_are_credited_as_pairs_of_few():
    """Bounds decide most pairs; two of the rankers are identical."""
    rng = np.random.default_rng(3)
    orders = [tuple(rng.permutation(12).tolist()) for _ in range(40)]
    orders[17] = orders[3]
    c, credited = opened(orders, "probabilistic", 6, "marginal_sign"), 0
    from ltr_duel.interleaving.methods.probabilistic import lead_among_many

    for _ in range(20):
        clicks = tuple(np.flatnonzero(rng.random(6) < 0.5).tolist()) or (0,)
        won = slate_credit(c, 40, tuple(rng.permutation(12)[:6].tolist()), clicks)
        for a, b in itertools.combinations(range(40), 2):
            lead = float(lead_among_many(c.method, a, b, len(clicks)))  # the clicks are traced already
            assert won[a, b] == literal.sign_of(lead)
            credited += won[a, b] != 0
    assert credited > 10_000


# ------------------------------------------------------------------- expected outcomes under click models

MODELS = [click_model(name, 2) for name in ("perfect", "navigational", "informational", "almost_random", "random")]


def expected_pair_outcome(c, lists, relevance, model):
    """E[outcome]: the package computes the credit, and enumeration gives all lists and clicks."""
    total = 0.0
    for key, p in lists.items():
        shown, owners = key if isinstance(key[0], tuple) else (key, None)
        for clicks, q in literal.click_patterns([relevance[d] for d in shown], model.p_click, model.p_stop):
            if clicks:
                total += p * q * pair_credit(c, shown, clicks, owners)
    return total


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
@pytest.mark.parametrize("rule", ["marginal_sign", "expectation"])
def test_the_expected_outcome_of_probabilistic_interleave(model, rule):
    orders, relevance = CASES[1], [0, 1, 1, 0]
    c, lists = opened(orders, "probabilistic", 3, rule), literal.probabilistic_lists(orders := CASES[1], 3, TAU)
    expected = literal.expected_outcome(*orders, relevance, model, 3, TAU, rule)
    assert expected_pair_outcome(c, lists, relevance, model) == pytest.approx(expected, abs=1e-12)


RANDOM = click_model("random", 2)


@pytest.mark.parametrize("orders", PAIRS)
def test_random_clicks_prefer_nobody_in_fair_methods(orders):
    n = len(orders[0])
    for top in range(1, n + 1):
        c = opened(orders, "team_draft", top)
        assert expected_pair_outcome(c, literal.team_draft_lists(orders, top), [0] * n, RANDOM) == pytest.approx(0)
        c = opened(orders, "probabilistic", top, "expectation")
        lists = literal.probabilistic_lists(orders, top, TAU)
        assert expected_pair_outcome(c, lists, [0] * n, RANDOM) == pytest.approx(0, abs=1e-12)


LISTS = {
    "balanced": lambda orders, top: literal.balanced_lists(*orders, top),
    "document_constraints": lambda orders, top: literal.balanced_lists(*orders, top),
    "probabilistic": lambda orders, top: literal.probabilistic_lists(orders, top, TAU),
    "team_draft": literal.team_draft_lists,
}


@pytest.mark.parametrize("method", LISTS)
def test_a_method_declares_the_rules_under_which_random_clicks_favour_a_ranker(method):
    pairs = [[[0, 1, 2, 3], list(order)] for order in itertools.permutations(range(4))]

    def moved(rule):
        means = (expected_pair_outcome(opened(o, method, 4, rule), LISTS[method](o, 4), [0] * 4, RANDOM) for o in pairs)
        return any(abs(mean) > 1e-9 for mean in means)

    without_coins = [rule for rule in METHODS[method].outcomes if rule not in ("sampled", "marginal_bernoulli")]
    assert METHODS[method].biased == tuple(filter(moved, without_coins))


@pytest.mark.parametrize("orders", CASES)
def test_random_clicks_give_all_rankers_the_same_expected_score(orders):
    size, n = len(orders), len(orders[0])
    top = min(4, n)
    preference, draft = np.zeros(size), np.zeros(size)
    for shown, p in literal.preference_lists(orders, top).items():
        for clicks, q in literal.click_patterns([0] * top, RANDOM.p_click, RANDOM.p_stop):
            if clicks:
                preference += p * q * np.array(literal.preference_scores(orders, shown, clicks))
    for (_, owners), p in literal.team_draft_lists(orders, top).items():
        draft += p * np.array([sum(o == j for o in owners) for j in range(size)])
    assert draft == pytest.approx(draft.mean(), abs=1e-12)
    assert preference == pytest.approx(preference.mean(), abs=1e-12)


# ------------------------------------------------------------------- optimized


def solved(c, top, first=0, second=1):
    """{list: probability} of the program that the method solved."""
    length = min(top, int(c.lists.query_ptr[1]))
    slot = slot_of(c.method, c.lists, 0, first, second, length)
    kept, size = c.method.solutions, c.method.solutions.size[slot]
    lists = kept.lists[slot, : size * length].reshape(size, length)
    p = np.diff(kept.cumulative[slot, :size], prepend=0)
    return dict(zip(map(tuple, lists.tolist()), p.tolist(), strict=True))


def optimized_law(orders, top):
    return solved(opened(orders, "optimized", top), top)


@pytest.mark.parametrize("orders", [*PAIRS, [tuple(range(6)), (5, 3, 1, 0, 2, 4)]])
@pytest.mark.parametrize("credit", CREDITS)
def test_optimized_lists_are_fair_at_every_place_and_most_sensitive(orders, credit):
    c = opened(orders, f"optimized:credit={credit}", 4)
    found = solved(c, 4)
    length = min(4, len(orders[0]))
    allowed = with_highs.allowed_lists([list(order) for order in orders], length)
    count = merge(c.method, c.lists, 0, 0, 1, length)
    assert [tuple(row) for row in c.method.lists[:count].tolist()] == allowed and set(found) <= set(allowed)
    ranks = [{d: k + 1 for k, d in enumerate(order)} for order in orders]
    for a, b in itertools.product(range(1, 7), repeat=2):
        assert credit_of(CREDITS.index(credit), a, b) == pytest.approx(with_highs.credit_of(credit, a, b))
        assert (credit_of(CREDITS.index(credit), a, b) > 0) == (a < b)
    table = np.array([[with_highs.credit_of(credit, ranks[0][d], ranks[1][d]) for d in shown] for shown in found])
    p, (exact, best) = np.array(list(found.values())), with_highs.optimized_lists(orders, 4, credit)
    assert p @ [with_highs.sensitivity(row) for row in table] == pytest.approx(best, abs=1e-8)
    bias = np.abs(p @ table)
    if bias.max() > 1e-9:  # binary credits of close rankers: each list favours the first one by one document
        assert credit == "binary" and (table.sum(axis=1) == 1).all() and bias.sum() == pytest.approx(1, abs=1e-6)
    assert sum(exact.values()) == pytest.approx(1)


@pytest.mark.parametrize("credit", CREDITS)
@pytest.mark.parametrize("documents", [3, 6, 40])
def test_optimized_solves_its_programs_as_well_as_a_general_solver(credit, documents):
    rng, impossible = np.random.default_rng([CREDITS.index(credit), documents]), 0
    for noise in (0.5, 2, 50) * 6:
        orders = [np.argsort(np.arange(documents) + noise * rng.normal(size=documents)).tolist() for _ in range(2)]
        found = solved(opened(orders, f"optimized:credit={credit}", 6), 6)
        exact, best = with_highs.optimized_lists(orders, 6, credit)
        ranks = [{d: k + 1 for k, d in enumerate(order)} for order in orders]

        def bias_and_worth(law, ranks=ranks):
            table = np.array([[with_highs.credit_of(credit, ranks[0][d], ranks[1][d]) for d in shown] for shown in law])
            p = np.array(list(law.values()))
            return np.abs(p @ table).sum(), p @ [with_highs.sensitivity(row) for row in table]

        bias, worth = bias_and_worth(found)
        least = bias_and_worth(exact)[0]
        assert sum(found.values()) == pytest.approx(1, abs=1e-12) and min(found.values()) > 0
        assert bias == pytest.approx(least, abs=1e-8)
        impossible += bool(least > 1e-6)
        assert worth == pytest.approx(best, abs=1e-9 if least < 1e-6 else 1e-7), "the general one may use its slack"
    assert (impossible > 0) == (credit == "binary"), "each list may favour one ranker by a document"


def test_a_kept_solution_is_that_of_its_own_documents(monkeypatch):
    from ltr_duel.interleaving.methods import optimized

    monkeypatch.setattr(optimized, "_KEPT", 1)  # all programs share one slot
    orders = [(0, 1, 2, 3), (3, 1, 2, 0), (2, 0, 1, 3)]
    c = opened(orders, "optimized", 3)
    for pair in 2 * list(itertools.permutations(range(3), 2)):
        assert solved(c, 3, *pair) == optimized_law([orders[k] for k in pair], 3)


def test_sensitivity_is_the_entropy_of_the_split():
    weight = np.array([1, 1 / 2, 1 / 3]) / (1 + 1 / 2 + 1 / 3)
    a, b = weight[0], weight[1]  # the third place ties
    expected = -(a + b) / (a + b) * np.log2(a**a * b**b / (a + b) ** (a + b))
    assert sensitivity(a, b) == pytest.approx(expected)
    assert with_highs.sensitivity(np.array([1.0, -1.0, 0.0])) == pytest.approx(expected)
    assert sensitivity(0.0, 0.0) == 0 and sensitivity(1.0, 0.0) == 0


def test_an_infeasible_program_is_as_fair_as_it_can_be():
    from ltr_duel.interleaving.simplex import fairest, new_program

    bias = np.array([[1.0, 3.0, 2.0], [0.0, 0.0, 1.0]])  # every list favours the first ranker at the first place
    program = new_program(2, 3)
    program.table[:, :3], program.worth[:3] = bias, (0.0, 1.0, 5.0)
    assert fairest(program, 2, 3) == pytest.approx(1)
    assert dict(zip(program.basis.tolist(), program.value.tolist(), strict=True))[0] == pytest.approx(1)
    assert with_highs.least_biased(bias, -np.array([0.0, 1.0, 5.0])) == pytest.approx([1, 0, 0], abs=1e-6)


def test_optimized_multileave_gives_all_rankers_the_same_credit_at_every_depth():
    orders = [(0, 1, 2, 3, 4), (1, 0, 4, 2, 3)]
    c = opened(orders, "optimized_multileave:lists=200", 3)
    choice = c.method.choice(c.lists, 0, np.arange(2))
    assert choice.feasible
    p = np.diff(choice.cumulative, prepend=0)
    credits = np.array([[1 / (order.index(d) + 1) for d in range(5)] for order in orders])
    earned = np.cumsum(credits[:, choice.lists], axis=2)
    assert np.abs((earned[0] - earned[1]).T @ p).max() < 1e-9, "the last depth included"
    weighted = (credits[:, choice.lists] / np.arange(1, 4)).sum(axis=2)
    assert p @ weighted.var(axis=0) <= weighted.var(axis=0).max()


def test_optimized_multileave_has_the_least_variance_of_scores_weighted_by_the_inverse_place():
    """Schuth et al. 2014: minimise sum_l p_l sum_j (sum_i delta_j(l_i) / i - mu_l)^2 among the fair probabilities."""
    from scipy.optimize import linprog

    from ltr_duel.interleaving.methods.optimized_multileave import solve

    orders = [(0, 1, 2, 3, 4, 5), (2, 5, 0, 3, 4, 1)]
    credits = np.array([[1 / (order.index(d) + 1) for d in range(6)] for order in orders])
    lists = [(0, 1, 2), (0, 2, 1), (0, 2, 5), (2, 0, 1), (2, 0, 5), (2, 5, 0)]  # all allowed lists

    def variance(shown, weight):
        scores = [sum(credits[j, d] * weight(i) for i, d in enumerate(shown, start=1)) for j in range(2)]
        return sum((score - np.mean(scores)) ** 2 for score in scores)

    def least(weight):
        cost = [variance(shown, weight) for shown in lists]
        fair = [[sum(credits[0, d] - credits[1, d] for d in shown[:k]) for shown in lists] for k in (1, 2, 3)]
        return np.array(cost), linprog(cost, A_eq=[*fair, [1] * len(lists)], b_eq=[0, 0, 0, 1])

    cost, best = least(lambda i: 1 / i)
    choice = solve(np.array(lists), credits)
    assert choice.feasible
    p = np.diff(choice.cumulative, prepend=0)
    assert p @ cost == pytest.approx(best.fun, abs=1e-9)
    assert least(lambda i: 1.0)[1].x @ cost > best.fun + 0.1, "the weights matter on these lists"


def test_infeasible_programs_of_many_rankers_have_probabilities_too():
    c = opened(CASES[5], "optimized_multileave", 6)
    choice = c.method.choice(c.lists, 0, np.arange(4))
    assert not choice.feasible and choice.cumulative[-1] == 1.0


def test_multileave_credit_is_the_sum_of_inverse_ranks():
    orders = CASES[5]
    c = opened(orders, "optimized_multileave", 4)
    for shown in c.method.choice(c.lists, 0, np.arange(4)).lists.tolist():
        for clicks in patterns(4):
            scores = [sum(1 / (order.index(shown[k]) + 1) for k in clicks) for order in orders]
            assert slate_credit(c, 4, shown, clicks) == signs(scores)


def test_optimized_draws_follow_the_solved_probabilities():
    from ltr_duel.core.random import stream

    c, rng, draws = opened(CASES[1], "optimized", 3), stream(0, "optimized"), 20_000
    law = solved(c, 3)
    p, counts = np.array(list(law.values())), dict.fromkeys(law, 0)
    for _ in range(draws):
        length = draw_pair(c.method, c.lists, 0, 0, 1, c.page, rng)
        counts[tuple(c.page.shown[:length].tolist())] += 1
    seen = np.array(list(counts.values()))
    chi = ((seen - draws * p) ** 2 / (draws * p)).sum()
    assert chi < len(p) + 6 * np.sqrt(2 * len(p))


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_the_expected_outcome_of_probabilistic_multileave(model):
    orders, relevance = CASES[4], [0, 1, 1, 0]
    c, found, expected = opened(orders, "probabilistic", 3, "marginal_sign"), np.zeros((3, 3)), np.zeros((3, 3))
    for shown, p in literal.probabilistic_lists(orders, 3, TAU).items():
        for clicks, q in literal.click_patterns([relevance[d] for d in shown], model.p_click, model.p_stop):
            if clicks:
                lead = literal.multileave_by_enumeration(orders, shown, clicks, TAU)
                for (a, b), won in slate_credit(c, 3, shown, clicks).items():
                    found[a, b] += p * q * won
                    expected[a, b] += p * q * literal.sign_of(lead[a][b])
    assert found == pytest.approx(expected, abs=1e-12)
