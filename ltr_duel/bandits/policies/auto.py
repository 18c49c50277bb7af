"""Auto: the policy to take where the problem is not known. Pairs here, sets in `auto_sets`; no parameters.

What speaks against arm i as the Condorcet winner is told by three numbers: the posterior probability that it wins more
than half of all its duels (``pooled``), of those against the champion, and of those against its worst rival
(``prefer``; times 8, as the worst of many is bad by chance). The champion is the arm against which least speaks. Each
other arm challenges it with the smallest of the three probabilities: Thompson sampling that counts evidence once, from
wherever it comes. Of the challengers the one with the best win rate plays, now and then the one with the fewest duels.
Without a challenger the champion plays itself.

A challenger j meets the champion, or the rival that tells most for its regret: evidence against j for each duel, by the
sum of both gaps. So an arm that loses clearly to some rival is not compared with a champion that it nearly equals, as
around a circle. To find such rivals, an arm's first duels now and then go elsewhere.

A champion of whom little is known against some rival meets it, at a low rate, instead of itself: that rival may be out
of the race and beat the champion all the same. Once something speaks against every arm there is no Condorcet winner,
and Double Thompson Sampling's two phases look for a Copeland winner. There pairs that met seldom are judged by pooled
win rates, the more often by their own duels the more pairs contradict those rates.

Made for this package; the constants were tuned on one half of the suite of ``ltr-duel rank-policies``. Nothing is
proven. Sampling against 1/2 leaves no challenger out for ever; how regret grows is measured in docs/standings.md. A
step costs O(K), without a Condorcet winner up to O(K^2) coins.
"""

from __future__ import annotations

from math import exp, inf, log
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.policy import register
from ltr_duel.bandits.posterior import posterior_rows, record_posterior
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.bandits.statistics import coin_divergence, most_victorious
from ltr_duel.core import (
    FloatMatrix,
    FloatVector,
    IntMatrix,
    IntVector,
    NoParams,
    draws,
    kernel,
    larger,
    random_below,
    uniform,
    vector,
)

MANY = 8.0  # by how much the worst of many probabilities is raised
ENOUGH = 0.95  # probabilities above are no better than this: the win rate decides
NO_WINNER = 0.001  # if no arm is likelier than this to be the Condorcet winner, there is none
RAREST = 0.1  # how often the challenger that met others least plays, and not the one with the best win rate
ELSEWHERE, TRIES = 0.15, 20  # how often challengers go elsewhere, in so many duels
CLEAR, LEAST_GAP = 1.5, 0.03  # evidence that does not count yet; no gap is taken to be smaller
CHECKS, MORE_CHECKS, CHECKED = 0.005, 0.2, 0.1  # how often the champion is checked, and until when
FEW, OWN, MORE_OWN = 10, 0.02, 4.0  # duels of a pair, up to which pooled rates judge it, but for this share
SURE = 0.7  # a loss is sure if the probability that it is none is below SURE / t
RENEWED = 1.1  # what depends on t is brought up to date when t has grown by so much
_FINE = 2.0**30  # what is compared is rounded to 1 / _FINE: sums in another order are equal


class Now:
    """The results of the last steps."""

    favourite: int  # the last Copeland candidate
    due: int  # the step in which what depends on t is to be renewed
    misfit: float  # the share of sure pairs that pooled win rates order wrongly


class State(NamedTuple):
    """The state of Auto with K arms."""

    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    prefer: FloatMatrix  # (K, K) the probability that arm i beats arm j, see `posterior`
    log_mass: FloatMatrix  # (K, K) see `posterior`
    won: IntVector  # (K,) duels against any arm
    met: IntVector  # (K,)
    pooled: FloatVector  # (K,) the probability that the arm wins more than half of its duels
    pooled_mass: FloatVector  # (K,) ln C(met, won) / 2^met
    rate: FloatVector  # (K,) the mean of the pooled posterior
    worst: FloatVector  # (K,) the smallest of the row of `prefer`, at most 1 / `MANY` counts
    doubt: FloatVector  # (K,) one less the probability of being the winner; a better rate breaks ties
    losses: IntVector  # (K,) rivals that the arm surely loses to
    theta: FloatVector  # (K,) scratch: samples of the pooled posteriors
    now: Registers[Now]


def init(n_arms: int, horizon: int, params: NoParams) -> State:
    """No duel has been played."""
    prefer, log_mass = posterior_rows(n_arms)
    won, met, losses = np.zeros((3, n_arms), np.int64)
    pooled, rate, worst, doubt = np.full((4, n_arms), 0.5)
    mass, theta = np.zeros((2, n_arms))
    wins = np.zeros((n_arms, n_arms), np.int64)
    return State(wins, prefer, log_mass, won, met, pooled, mass, rate, worst, doubt, losses, theta, registers(Now))


def select(state: State, params: NoParams, t: int, rng: Generator) -> tuple[int, int]:
    """The champion and a challenger, or the challenger and a rival that tells more of it."""
    if t >= state.now[0].due:
        renew(state, t)
    least = vector.smallest(state.doubt)
    if 1.0 - least < NO_WINNER:
        first = copeland_candidate(state, rng)
        return first, likeliest_to_beat(state, first, t, rng)
    champion = vector.draw_up_to(state.doubt, least, rng)
    challenger = best_challenger(state, champion, rng)
    if challenger == champion:
        return champion, unchecked_rival(state, champion, rng)
    elsewhere = state.met[challenger] - state.wins[champion, challenger] - state.wins[challenger, champion]
    if state.won.shape[0] > 2 and elsewhere < TRIES and uniform(rng) < ELSEWHERE:
        return rival_to_try(state, champion, challenger, rng), challenger
    return most_telling_rival(state, champion, challenger), challenger


@kernel
def best_challenger(state: State, champion: int, rng: Generator) -> int:
    """Toss who challenges; return the challenger with the best win rate, now and then the one that met others least.

    Else an arm that began badly would never come before many that equal the champion. Of several it is one at random.
    """
    best, found, ties, rarest = -inf, champion, 0, uniform(rng) < RAREST
    for k in range(state.rate.shape[0]):
        value = float(-state.met[k]) if rarest else state.rate[k]
        if k != champion and value >= best:
            chance = min(state.pooled[k], min(state.prefer[k, champion], MANY * state.worst[k]))
            if uniform(rng) < chance:
                ties = ties + 1 if value == best else 1
                best = value
                if ties == 1 or uniform(rng) * ties < 1.0:
                    found = k
    return found


@kernel
def unchecked_rival(state: State, champion: int, rng: Generator) -> int:
    """Now and then return an arm that the champion is not known to beat, else the champion itself."""
    if uniform(rng) < CHECKS + MORE_CHECKS * state.now[0].misfit:
        rival = random_below(state.won.shape[0], rng)
        if state.prefer[rival, champion] >= CHECKED:
            return rival
    return champion


@kernel
def rival_to_try(state: State, champion: int, challenger: int, rng: Generator) -> int:
    """Return a third arm: the one that beat the challenger most clearly, or by a sample of the pooled win rates."""
    best, found = -1.0, champion
    for k in range(state.won.shape[0]):
        if k != champion and k != challenger:
            value = draws.beta_draw(state.won[k] + 1.0, state.met[k] - state.won[k] + 1.0, rng)
            if state.prefer[challenger, k] < 0.3:  # it lost at least once more than it won
                value = fine(2.0 - state.prefer[challenger, k])
            if value > best:
                best, found = value, k
    return found


@kernel
def most_telling_rival(state: State, champion: int, challenger: int) -> int:
    """Return the rival that gives most evidence against the challenger for its regret."""
    own = gap(state.wins, champion, challenger)
    met = state.wins[champion, challenger] + state.wins[challenger, champion]
    share = (state.wins[challenger, champion] + 1.0) / (met + 2.0)
    best, found = coin_divergence(min(share, 0.5)) / own, champion
    for k in range(state.won.shape[0]):
        if k != champion and k != challenger and state.prefer[challenger, k] < 0.1:
            evidence = log(0.5 / larger(state.prefer[challenger, k], 1e-300)) - CLEAR
            met = state.wins[challenger, k] + state.wins[k, challenger]
            value = fine(evidence / met / (own + gap(state.wins, champion, k)))
            if value > best:
                best, found = value, k
    return found


@kernel
def gap(wins: IntMatrix, champion: int, arm: int) -> float:
    """Return how much the champion is estimated to beat an arm by."""
    met = wins[champion, arm] + wins[arm, champion]
    return larger(LEAST_GAP, (wins[champion, arm] + 1.0) / (met + 2.0) - 0.5)


@kernel
def copeland_candidate(state: State, rng: Generator) -> int:
    """Of the arms with the fewest sure losses return the one that wins most of a sampled tournament."""
    n_arms, now = state.won.shape[0], state.now[0]
    least, fewest, ties, found, before = n_arms, n_arms, 0, now.favourite, now.favourite
    for i in range(n_arms):
        state.theta[i] = draws.beta_draw(state.won[i] + 1.0, state.met[i] - state.won[i] + 1.0, rng)
        least = min(least, state.losses[i])
    for place in range(-1, n_arms):
        i = place if place >= 0 else before  # first: others are given up once they have lost more
        if place == before or state.losses[i] > least:
            continue
        lost = 0
        for j in range(n_arms):
            if j != i and lost <= fewest:
                if judged_by_own_duels(state, i, j, rng):
                    lost += uniform(rng) >= state.prefer[i, j]
                else:
                    lost += state.theta[i] < state.theta[j]
        if lost <= fewest:
            ties = ties + 1 if lost == fewest else 1
            fewest = lost
            if ties == 1 or uniform(rng) * ties < 1.0:
                found = i
    now.favourite = found
    return found


@kernel
def likeliest_to_beat(state: State, first: int, t: int, rng: Generator) -> int:
    """Return the arm with the largest sample against the first, which has 1/2; none that surely wins is tried."""
    best, found = 0.5, first
    for k in range(state.won.shape[0]):
        if k != first and state.prefer[first, k] >= SURE / t:
            if judged_by_own_duels(state, k, first, rng):
                value = draws.beta_draw(state.wins[k, first] + 1.0, state.wins[first, k] + 1.0, rng)
            else:
                value = 1.0 if state.theta[k] > state.theta[first] else 0.0
            if value > best:
                best, found = value, k
    return found


@kernel
def judged_by_own_duels(state: State, i: int, j: int, rng: Generator) -> bool:
    """Return whether a pair is judged by its own duels, and not by those of each with all."""
    if state.wins[i, j] + state.wins[j, i] >= FEW:
        return True
    return uniform(rng) < OWN + MORE_OWN * state.now[0].misfit


def update(state: State, params: NoParams, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    """Count; an arm against itself teaches nothing."""
    if outcome == 0:
        return
    winner, loser = (first, second) if outcome > 0 else (second, first)
    state.wins[winner, loser] += 1
    won = state.wins[winner, loser]
    record_posterior(state.prefer, state.log_mass, winner, loser, won, won + state.wins[loser, winner])
    record_pooled(state, winner, 1)
    record_pooled(state, loser, 0)
    judge(state, winner, t)
    judge(state, loser, t)


@kernel
def record_pooled(state: State, arm: int, outcome: int) -> None:
    """Bring an arm's pooled probability up to date, as `record_posterior` does a pair's."""
    state.won[arm] += outcome
    state.met[arm] += 1
    met, won = state.met[arm], state.won[arm]
    state.pooled_mass[arm] += log(met / (2.0 * (won if outcome else met - won)))
    change = 0.5 * exp(state.pooled_mass[arm])
    state.pooled[arm] += change if outcome else -change
    state.rate[arm] = (won + 1.0) / (met + 2.0)


@kernel
def judge(state: State, arm: int, t: int) -> None:
    """Bring up to date what speaks against an arm."""
    worst, losses = 1.0, 0
    for k in range(state.won.shape[0]):
        if k != arm:
            worst = min(worst, state.prefer[arm, k])
            losses += state.prefer[arm, k] < SURE / t
    state.worst[arm], state.losses[arm] = worst, losses
    chance = min(ENOUGH, min(state.pooled[arm], MANY * worst)) * (1.0 + 0.001 * state.rate[arm])
    state.doubt[arm] = fine(1.0 - chance)


@kernel
def fine(value: float) -> float:
    """Round a number."""
    return float(int(value * _FINE + 0.5)) / _FINE


@kernel
def renew(state: State, t: int) -> None:
    """Bring up to date what depends on t, and how well pooled win rates tell who beats whom."""
    sure, wrong = 0, 0
    for i in range(state.won.shape[0]):
        judge(state, i, t)
        for j in range(state.won.shape[0]):
            if state.prefer[i, j] > 0.95:
                sure += 1
                wrong += state.rate[i] < state.rate[j]
    now = state.now[0]
    now.misfit = wrong / max(sure, 1)
    now.due = int(RENEWED * t) + 1


def recommend(state: State, params: NoParams) -> int:
    """The champion; without a Condorcet winner the arm that beats the most."""
    least = vector.smallest(state.doubt)
    if 1.0 - least < NO_WINNER:
        return most_victorious(state.wins)
    return vector.nth_up_to(state.doubt, least, 0)


register(
    __name__,
    any_order=True,
    assumes="nothing: a Condorcet winner, else Copeland winners",
    regret="not proven",
    cost="O(K); without a Condorcet winner up to K^2 coins",
    where="of this package",
    for_sets="auto_sets",
)
