"""The coins of a sampled tournament have exact probabilities; the arm with most wins has the right distribution."""

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from ltr_duel.bandits import POLICIES
from ltr_duel.bandits.batches import largest_batch
from ltr_duel.bandits.compiling import plain_text
from ltr_duel.bandits.tournament import (
    MOST,
    Coins,
    bits_of,
    most_wins,
    new_seed,
    new_tournament,
    open_tournament,
    seat,
    toss_arm,
    toss_block,
)
from ltr_duel.core import InputError, compare_words, kernel
from ltr_duel.core.random import stream
from tests.bandits.matrices import bradley_terry


class Fixed:
    """A generator that returns one number."""

    def __init__(self, number):
        self.number = number

    def random(self):
        return self.number


def seated(p, arms):
    """Return a tournament with these arms in their seats."""
    made = new_tournament(len(p), len(p))
    seat(made.bits, np.zeros(len(p), np.int64), p, arms)
    return made


@kernel
def meet_all(made, p, arms, lost, rng):
    """Compare all pairs of arms once for each row of ``lost``."""
    for row in range(lost.shape[0]):
        open_tournament(made, p.shape[0])
        seed = new_seed(rng)
        for i in range(p.shape[0]):
            toss_arm(made, Coins(arms, made.bits[i], p[i], made.lane), i, seed, rng)
        for i in range(p.shape[0]):
            lost[row, i] = made.lost[i]


@kernel
def winners(made, p, arms, rank, favourite, found, rng):
    for row in range(found.shape[0]):
        found[row] = arms[most_wins(made, p, arms, rank, 0, favourite, rng)]


def sampled_winners(p, arms, players, favourite, draws):
    """Return winners of tournaments of ``arms`` in which only ``players`` may win."""
    rank, found = np.ones(len(p), np.int64), np.zeros(draws, np.int64)
    rank[players] = 0
    winners(seated(p, arms), p, arms, rank, favourite, found, stream(4, "winners", favourite))
    return found


@pytest.mark.parametrize("p", [0.0, 1e-9, 1 / 3, 0.5, 1 - 1e-12, 1.0])
def test_a_coin_has_exactly_its_probability(p):
    """All leading words are enumerated; if the words leave the coin undecided, the deciding number is bisected."""
    bits, every, won = np.full(32, bits_of(p)), np.arange(32), 0
    toss, ones = plain_text(toss_block), (1 << 32) - 1
    for start in range(0, 65536, 32):
        words = np.arange(start, start + 32).astype(np.uint16)
        toss.__globals__["write_words"] = lambda lane, *_, words=words: np.copyto(lane, words.view(np.uint64))
        below, equal = compare_words(words, bits)
        won += below.bit_count()
        low, high = 0.0, 1.0
        for _ in range(60 * (equal > 0)):
            middle = (low + high) / 2
            wins = toss(Coins(every, bits, np.full(32, p), np.zeros(8, np.uint64)), 0, 0, 0, ones, Fixed(middle))
            assert wins in (below, below | equal)
            low, high = (middle, high) if wins & equal else (low, middle)
        won += low
    assert won / 65536 == pytest.approx(p, rel=1e-15, abs=1e-20)


def test_a_tournament_of_certain_coins_ranks_the_arms():
    """The better of two arms always wins, so the losses of an arm equal the number of better arms."""
    for n in (1, 32, 33, 150):
        p, lost, arms = np.triu(np.ones((n, n)), 1), np.zeros((1, n), np.int64), np.arange(n)
        meet_all(seated(p, arms), p, arms, lost, stream(1, "certain"))
        assert lost.tolist() == [list(range(n))]


@pytest.mark.parametrize("players", [np.arange(150), np.arange(0, 150, 3), np.array([7, 149])])
def test_the_best_arm_wins_the_tournament_in_any_order(players):
    p = np.triu(np.ones((150, 150)), 1)
    for favourite in (0, 7, 149):
        assert set(sampled_winners(p, np.arange(150), players, favourite, 5).tolist()) == {players[0]}
    assert set(sampled_winners(p, players, players, len(players) - 1, 5).tolist()) == {players[0]}


SOME = np.array([12, 3, 39, 17, 20])


@pytest.mark.parametrize("arms, players", [(np.arange(45), np.array([0, 2, 3, 5, 31, 32, 40, 44])), (SOME, SOME)])
@pytest.mark.parametrize("spread, favourite", [(0.2, 0), (6.0, 4)])
def test_the_tournament_winner_has_the_law_of_all_coins_tossed(spread, favourite, arms, players):
    """The tournament skips rows that cannot win any more; this test samples all rows. Ties are broken at random."""
    p, draws, rng, n = bradley_terry(45, spread), 6000, np.random.default_rng(0), len(arms)
    found = sampled_winners(p, arms, players, favourite, draws)
    upper = np.triu(rng.random((draws, n, n)) < p[np.ix_(arms, arms)], 1)
    lower = np.tri(n, k=-1, dtype=bool) & ~upper.transpose(0, 2, 1)
    wins = (upper | lower).sum(axis=2) + 0.9 * rng.random((draws, n))  # a random number below one breaks ties
    expected = players[wins[:, np.isin(arms, players)].argmax(axis=1)]
    table = np.array([np.bincount(one, minlength=45) for one in (found, expected)])
    often = table.sum(axis=0) > 20
    table = np.column_stack([table[:, often], table[:, ~often].sum(axis=1)])
    assert stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > 1e-5
    assert not np.setdiff1d(found, players).size


@pytest.mark.parametrize("name, changed", [("double_thompson", {}), ("merge_dts", {"batch": 300})])
def test_more_arms_than_losses_are_counted_of_are_refused_before_anything_is_kept_of_them(name, changed, monkeypatch):
    monkeypatch.setattr("ltr_duel.bandits.tournament.MOST", 300)
    policy = POLICIES[name]
    params = policy.params(**changed)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"^a sampled tournament takes at most 300 arms, not 301$"):
            policy.init(301, 0, params)
        assert tracemalloc.get_traced_memory()[1] < 100_000  # bytes; one K x K matrix has 725,000
    finally:
        tracemalloc.stop()
    policy.init(300, 0, params)
    assert np.iinfo(new_tournament(1, 300).lost.dtype).max == MOST - 1


def test_batches_are_small_among_however_many_arms():
    assert [largest_batch(n, 16) for n in (5, 16, 96, 97, 100_000)] == [5, 16, 30, 31, 6274]
