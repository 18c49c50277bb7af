"""RCS and D-TS choose with the probabilities of their papers, computed at selected states of three and four arms.

The states are such that each rule matters: known cycles, a known loser, champions that were chosen unequally often.
"""

import itertools
from copy import deepcopy
from math import log

import numpy as np
import pytest
from scipy import stats

from ltr_duel.bandits.batches import new_batches
from ltr_duel.bandits.compiling import plain_text
from ltr_duel.bandits.policies.double_thompson import candidates
from ltr_duel.bandits.policies.merge_dts import join_next
from ltr_duel.bandits.policy import POLICIES
from ltr_duel.core.random import stream
from tests.reference.bandits.walk import upper_bounds
from tests.reference.uniform import law_of

NOTHING = np.zeros((3, 3), int)
CYCLE = np.array([[0, 3, 0], [0, 0, 3], [3, 0, 0]])  # each arm is known to lose to one other
LOSER = np.array([[0, 2, 3], [1, 0, 4], [0, 0, 0]])  # arm 2 is known to lose
WINNER = np.array([[0, 6, 7, 5], [1, 0, 3, 2], [0, 2, 0, 2], [1, 2, 2, 0]])
CIRCLES = np.array([[0, 4, 0, 1], [0, 0, 4, 2], [4, 0, 0, 1], [1, 0, 2, 0]])
STATES = {"nothing": NOTHING, "cycle": CYCLE, "loser": LOSER, "winner": WINNER, "circles": CIRCLES}


def state_after(text, wins):
    """Return a policy, its parameters and its state when these duels have been won."""
    _, policy, params = POLICIES.configure(text)
    state, update = policy.init(len(wins), 0, params), plain_text(policy.update)
    for (i, j), count in np.ndenumerate(wins):
        for _ in range(count):
            update(state, params, 1, i, j, 1, None)
    return policy, params, state


def copy_of(state):
    return deepcopy(state)


def ahead(wins):
    """q[i, j] = Pr(theta_ij > 1/2), theta_ij ~ Beta(w_ij + 1, w_ji + 1)."""
    return stats.beta.sf(0.5, wins + 1, wins.T + 1)


def add(law, key, p):
    law[key] = law.get(key, 0.0) + p


def law_of_rcs(wins, chosen, alpha, t):
    """Algorithm 4 of Wolfenfeld's survey: the champion beats all others in a sample, or was it least often."""
    k, q, u, law = len(wins), ahead(wins), upper_bounds(wins, alpha, log(t)), {}
    champion = np.array([np.prod([q[i, j] for j in range(k) if j != i]) for i in range(k)])
    least = chosen == chosen.min()
    champion = champion + (1 - champion.sum()) * least / least.sum()
    for c in range(k):
        best = [j for j in range(k) if u[j, c] == u[:, c].max()]
        rivals = [j for j in best if j != c] or [c]
        for d in rivals:
            add(law, (c, d), champion[c] / len(rivals))
    return law


@pytest.mark.parametrize("chosen", [(0, 0, 0, 0), (5, 2, 3, 2), (1, 0, 2, 0)])
@pytest.mark.parametrize("t", [5, 40])
@pytest.mark.parametrize("name", STATES)
def test_rcs_chooses_with_exactly_the_probabilities_of_its_paper(name, t, chosen):
    wins = STATES[name]
    policy, params, state = state_after("rcs", wins)
    state.chosen[:] = chosen[: len(wins)]
    select = plain_text(policy.select)
    found = law_of(lambda rng: tuple(map(int, select(copy_of(state), params, t, rng))))
    expected = {pair: p for pair, p in law_of_rcs(wins, state.chosen, params.alpha, t).items() if p > 1e-12}
    assert set(found) == set(expected)
    for pair, p in expected.items():
        assert found[pair] == pytest.approx(p, abs=1e-12)


def test_rcs_counts_every_champion_and_starts_from_the_last():
    policy, params, state = state_after("rcs", CIRCLES)
    select, rng = plain_text(policy.select), stream(1, "champions")
    champions = [select(state, params, 7, rng)[0] for _ in range(50)]
    assert state.chosen.tolist() == np.bincount(champions, minlength=4).tolist()
    assert state.last[0] == champions[-1] and len(set(champions)) > 2


@pytest.mark.parametrize(
    "blocked, number, first", [([1, 0, 0], 2, 1), ([2, 1, 0], 1, 2), ([3, 3, 3], 3, 0), ([0, 1, 0], 2, 0)]
)
def test_candidates_of_double_thompson_are_blocked_by_the_fewest_arms(blocked, number, first):
    assert candidates(np.array(blocked)) == (number, first)


def law_of_double_thompson(wins, alpha, t):
    """Algorithm 1 of Wu and Liu: coins for the first sample, integrals over theta for the second."""
    k, q, u, law = len(wins), ahead(wins), upper_bounds(wins, alpha, log(t)), {}
    lower = 1 - u.T
    score = [sum(u[i, j] > 0.5 for j in range(k) if j != i) for i in range(k)]
    candidates = [i for i in range(k) if score[i] == max(score)]
    pairs = list(itertools.combinations(range(k), 2))
    for coins in itertools.product((True, False), repeat=len(pairs)):
        p, won = 1.0, [0] * k
        for (i, j), first_wins in zip(pairs, coins, strict=True):
            p *= q[i, j] if first_wins else q[j, i]
            won[i if first_wins else j] += 1
        best = [i for i in candidates if won[i] == max(won[c] for c in candidates)]
        for c in best:
            eligible = [i for i in range(k) if i != c and lower[i, c] <= 0.5]
            for d, share in largest_theta(wins, c, eligible).items():
                add(law, (c, d), p / len(best) * share)
    return law


def largest_theta(wins, c, eligible):
    """{arm: probability that its theta_ic is the largest of the eligible ones, and above 1/2}; c itself has 1/2."""
    nodes, weights = np.polynomial.legendre.leggauss(80)
    x, weights = 0.75 + nodes / 4, weights / 4
    laws = {i: stats.beta(wins[i, c] + 1, wins[c, i] + 1) for i in eligible}
    shares = {c: float(np.prod([laws[i].cdf(0.5) for i in eligible]))}
    for i in eligible:
        others = np.prod([laws[j].cdf(x) for j in eligible if j != i], axis=0)
        shares[i] = float((weights * laws[i].pdf(x) * others).sum())
    return shares


@pytest.mark.parametrize("t", [3, 30])
@pytest.mark.parametrize("name", STATES)
def test_double_thompson_chooses_with_the_probabilities_of_its_paper(name, t):
    wins, draws = STATES[name], 2500
    policy, params, state = state_after("double_thompson", wins)
    expected = law_of_double_thompson(wins, params.alpha, t)
    assert sum(expected.values()) == pytest.approx(1, abs=1e-9)
    select, rng, found = plain_text(policy.select), stream(2, name, t), dict.fromkeys(expected, 0)
    for _ in range(draws):
        add(found, tuple(map(int, select(copy_of(state), params, t, rng))), 1)
    assert {pair for pair in found if expected.get(pair, 0) < 1e-12 and found[pair]} == set()
    for pair, p in expected.items():
        assert stats.binomtest(found[pair], draws, min(p, 1.0)).pvalue > 1e-5, (pair, p, found[pair] / draws)


def test_the_second_arm_of_double_thompson_may_be_known_to_lose_but_not_known_to_win():
    """The states above show that the rule is l_ic <= 1/2, not u_ic >= 1/2, and not both conditions."""
    alpha, t = 0.51, 3
    u = upper_bounds(CYCLE, alpha, log(t))
    assert u[1, 0] < 0.5 < 1 - u[0, 2]  # arm 1 is known to lose to arm 0, arm 2 to win against it
    law = law_of_double_thompson(CYCLE, alpha, t)
    first = sum(p for (c, _), p in law.items() if c == 0)
    assert law[0, 1] / first == pytest.approx(stats.beta.sf(0.5, 1, 4)) == pytest.approx(1 / 16)
    assert (0, 2) not in law


@pytest.mark.parametrize("text", ["rcs", "double_thompson", "merge_dts"])
def test_both_arms_wins_are_counted_and_a_duel_with_oneself_is_not(text):
    policy, params, state = state_after(text, NOTHING)
    wins, update = getattr(state, "known", state).wins, plain_text(policy.update)
    before = wins.copy()
    for first, second, outcome in [(0, 1, 1), (0, 1, -1), (2, 1, -1), (1, 2, 1), (2, 2, 0), (0, 0, 0)]:
        update(state, params, 1, first, second, outcome, None)
    assert (wins - before).tolist() == [[0, 1, 0], [1, 0, 2], [0, 0, 0]]


@pytest.mark.parametrize("place, left", [(0, [4, 2, 1]), (1, [2, 4, 1]), (2, [2, 2, 3]), (3, [2, 2, 3])])
def test_merge_dts_joins_a_batch_with_the_next_and_the_last_with_the_one_before(place, left):
    batches = new_batches(7, 2)
    joined = plain_text(join_next)(batches, place)
    count = batches.now[0].count
    assert np.diff(batches.ends[: count + 1]).tolist() == left and batches.ends[0] == 0
    assert joined == min(place, 2) and batches.arms.tolist() == list(range(7))


def test_the_arms_of_a_batch_that_meets_sit_side_by_side_however_batches_changed():
    _, policy, params = POLICIES.configure("merge_dts:batch=3,alpha=0.05,head_start=2")
    state, rng, p = policy.init(11, 0, params), stream(1, "seats"), np.triu(np.full((11, 11), 0.9), 1)
    select, update = plain_text(policy.select), plain_text(policy.update)
    most_wins, seen = select.__globals__["most_wins_among"], set()

    def checked(tournament, prefer, arms, *rest):
        expected = (prefer[np.ix_(arms, arms)] * 65536).astype(int)
        off = ~np.eye(arms.size, dtype=bool)
        assert (np.abs(tournament.odds[arms, : arms.size] - expected)[off] == 0).all()
        seen.add((state.batches.now[0].count, arms.size))
        return most_wins(tournament, prefer, arms, *rest)

    select.__globals__["most_wins_among"] = checked
    for t in range(1, 400):
        first, second = select(state, params, t, rng)
        if first != second:
            update(state, params, t, first, second, 1 if rng.random() < p[first, second] else -1, rng)
    assert len(seen) > 5, seen


def test_random_slates_count_each_pair_of_places_once():
    _, policy, params = POLICIES.configure("random_slate")
    state, won = policy.init(4, 0, params), np.zeros((4, 4), np.int8)
    won[0, 1], won[0, 2], won[1, 2] = 1, -1, -1
    policy.update(state, params, 1, np.array([0, 2, 3, 0]), 3, won, None)
    assert {(i, j): int(state.lead[i, j]) for i, j in np.argwhere(state.lead)} == {(0, 2): 1, (0, 3): -1, (2, 3): -1}
    assert policy.recommend(state, params) == 3
    won[1, 2] = 0  # a tie
    policy.update(state, params, 2, np.array([0, 2, 3, 0]), 3, won, None)
    assert state.lead[2, 3] == -1
