"""The coins of a sampled tournament have exactly their probabilities, and every win is credited once."""

import numpy as np
import pytest

from ltr_duel.bandits.compiling import plain_text
from ltr_duel.bandits.tournament import new_tournament, play_tournament, set_odds, toss, toss_equal
from ltr_duel.core.random import stream
from tests.bandits.matrices import bradley_terry


class Fixed:
    """A generator that returns one number."""

    def __init__(self, number):
        self.number = number

    def random(self):
        return self.number


def player(p, players):
    """Return a tournament in which arm i beats j with probability p[i, j], and a function that plays it."""
    n = len(p)
    tournament, rank = new_tournament(n), np.ones(n, np.int64)
    rank[players] = 0
    for i in range(n):
        for j in range(n):
            set_odds(tournament.odds, i, j, p[i, j])
    return tournament, lambda rng: play_tournament(tournament, p.copy(), rank, 0, rng)


@pytest.mark.parametrize("p", [0.0, 1e-9, 1 / 3, 0.5, 0.7, 1 - 1e-12, 1.0])
def test_a_coin_has_exactly_its_probability(p):
    """All leading words are enumerated; where they leave the coin open, the number that decides it is bisected."""
    odds, words = np.zeros((1, 1), np.uint16), np.arange(65536).astype(np.uint16)
    set_odds(odds, 0, 0, p)
    row, unmet, score = np.full(65536, odds[0, 0]), np.ones(65536, np.uint16), np.zeros(65536, np.int16)
    won, equal = toss(words, row, unmet, score)
    assert equal == 1
    assert won == -score.sum() == odds[0, 0]
    at = slice(odds[0, 0], int(odds[0, 0]) + 1)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        wins = plain_text(toss_equal)(words[at], row[at], np.array([p]), unmet[at], score[at], Fixed(middle))
        low, high = (middle, high) if wins else (low, middle)
    assert (won + low) / 65536 == pytest.approx(p, rel=1e-15, abs=1e-20)


@pytest.mark.parametrize("players", [np.arange(150), np.arange(0, 150, 3), np.array([7, 149])])
def test_certain_coins_rank_the_arms(players):
    """The better of two arms always wins, so a player's score is the number of arms behind it."""
    tournament, play = player(np.triu(np.ones((150, 150)), 1), players)
    play(stream(1, "certain"))
    expected = np.full(150, -1)
    expected[players] = 149 - players
    np.testing.assert_array_equal(tournament.score, expected)


def test_every_pair_has_one_winner():
    (tournament, play), rng = player(bradley_terry(61), np.arange(61)), stream(2, "pairs")
    for _ in range(50):
        play(rng)
        assert tournament.score.sum() == 61 * 60 // 2


@pytest.mark.parametrize("players", [np.arange(37), np.array([0, 5, 6, 20, 36])])
def test_scores_have_the_mean_and_the_spread_of_independent_coins(players):
    p, draws = bradley_terry(37, spread=3), 4000
    (tournament, play), rng = player(p, players), stream(3, "scores")
    scores = np.zeros((draws, players.size))
    for row in scores:
        play(rng)
        row[:] = tournament.score[players]
    np.fill_diagonal(p, 0.0)
    mean, variance = p.sum(axis=1)[players], (p * (1 - p)).sum(axis=1)[players]
    np.testing.assert_allclose(scores.mean(axis=0), mean, atol=5 * np.sqrt(variance.max() / draws))
    np.testing.assert_allclose(scores.var(axis=0), variance, rtol=5 * np.sqrt(2 / draws))
    shared = np.cov(scores.T) + (p * (1 - p))[np.ix_(players, players)]  # what i wins against j, j loses
    off = ~np.eye(players.size, dtype=bool)
    assert np.abs(shared[off]).max() < 5 * variance.max() / np.sqrt(draws)
