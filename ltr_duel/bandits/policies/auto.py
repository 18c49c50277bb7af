"""Auto: the policy to use if you know little about your problem. It compares pairs; `auto_sets` compares sets.

Auto looks for the Condorcet winner, the arm that beats every other arm. From the duels so far, it computes the evidence
that an arm is not the Condorcet winner. The champion is the arm with the least evidence against it. In each step, some
other arms are drawn as challengers. An arm with much evidence against it is seldom drawn, but no arm is excluded
forever. Usually, the challenger with the best win rate plays. The opponent of the challenger is the champion, or a
third arm if a duel with the third arm gives more evidence.

If there is strong evidence against every arm, Auto looks for a Copeland winner, an arm that beats the most arms. For
this purpose, Auto samples win rates, as Double Thompson Sampling does.

The constants were tuned on one half of the problems in benchmarks/rank_policies. The page docs/policies_compared.md
shows the regret of Auto and of other policies.
"""

from __future__ import annotations

from math import exp, inf, log
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.bandits.statistics import coin_divergence, most_victorious
from ltr_duel.bandits.thompson import posterior_rows, record_posterior
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

MANY = 8.0  # factor for the smallest of many probabilities, which is small by chance
ENOUGH = 0.95  # larger probabilities are reduced to this value, so that the win rate decides
NO_WINNER = 0.001  # if no arm is likelier than this to be the Condorcet winner, no winner is assumed
RAREST = 0.1  # probability of choosing the challenger with the fewest duels, not with the best win rate
ELSEWHERE, TRIES = 0.15, 20  # probability that a challenger meets a third arm, up to TRIES duels with third arms
CLEAR, LEAST_GAP = 1.5, 0.03  # evidence subtracted from the evidence against a challenger; lower limit of a gap
CHECKS, MORE_CHECKS, CHECKED = 0.005, 0.2, 0.1  # rates of checks, and lower limit of `prefer`; see `unchecked_rival`
FEW, OWN, MORE_OWN = 10, 0.02, 4.0  # see `judged_by_own_duels`
SURE = 0.7  # a loss is certain if the posterior probability of a win is below SURE / t
RENEWED = 1.1  # values that depend on t are updated when t has grown by this factor
_FINE = 2.0**30  # compared numbers are rounded to 1 / _FINE, so that the order of summation does not matter


class Now:
    favourite: int  # the last Copeland candidate
    due: int  # the step of the next update of values that depend on t
    misfit: float  # share of the pairs with a clear winner that pooled win rates order wrongly


class State(NamedTuple):
    wins: IntMatrix  # (K, K) wins[i, j]: duels that arm i won against arm j
    prefer: FloatMatrix  # (K, K) the probability that arm i beats arm j, see `thompson`
    log_mass: FloatMatrix  # (K, K) see `thompson`
    won: IntVector  # (K,) duels that the arm won against any arm
    met: IntVector  # (K,) duels of the arm
    pooled: FloatVector  # (K,) the probability that the arm wins more than half of its duels
    pooled_mass: FloatVector  # (K,) ln C(met, won) / 2^met
    rate: FloatVector  # (K,) the mean of the pooled posterior
    worst: FloatVector  # (K,) smallest probability of the row of `prefer`
    evidence: FloatVector  # (K,) 1 minus the smallest of `pooled`, 8 `worst` and `ENOUGH`; the win rate breaks ties
    losses: IntVector  # (K,) number of rivals to which the arm certainly loses
    theta: FloatVector  # (K,) scratch: samples of the pooled posteriors
    now: Registers[Now]


def init(n_arms: int, horizon: int, params: NoParams) -> State:
    prefer, log_mass = posterior_rows(n_arms)
    won, met, losses = np.zeros((3, n_arms), np.int64)
    pooled, rate, worst, evidence = np.full((4, n_arms), 0.5)
    mass, theta = np.zeros((2, n_arms))
    wins = np.zeros((n_arms, n_arms), np.int64)
    return State(wins, prefer, log_mass, won, met, pooled, mass, rate, worst, evidence, losses, theta, registers(Now))


def select(state: State, params: NoParams, t: int, rng: Generator) -> tuple[int, int]:
    if t >= state.now[0].due:
        renew(state, t)
    least = vector.smallest(state.evidence)
    if 1.0 - least < NO_WINNER:
        first = copeland_candidate(state, rng)
        return first, likeliest_to_beat(state, first, t, rng)
    champion = vector.draw_up_to(state.evidence, least, rng)
    challenger = best_challenger(state, champion, rng)
    if challenger == champion:
        return champion, unchecked_rival(state, champion, rng)
    elsewhere = state.met[challenger] - state.wins[champion, challenger] - state.wins[challenger, champion]
    if state.won.shape[0] > 2 and elsewhere < TRIES and uniform(rng) < ELSEWHERE:
        return rival_to_try(state, champion, challenger, rng), challenger
    return most_telling_rival(state, champion, challenger), challenger


@kernel
def best_challenger(state: State, champion: int, rng: Generator) -> int:
    """Draw challengers, and return one of them, or the champion if none is drawn.

    Usually the challenger with the best win rate is returned, and sometimes the challenger with the fewest duels.
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
    """Return the champion, or sometimes a random arm that the champion is not known to beat."""
    if uniform(rng) < CHECKS + MORE_CHECKS * state.now[0].misfit:
        rival = random_below(state.won.shape[0], rng)
        if state.prefer[rival, champion] >= CHECKED:
            return rival
    return champion


@kernel
def rival_to_try(state: State, champion: int, challenger: int, rng: Generator) -> int:
    """Return the arm that most clearly beat the challenger. If no arm did, return an arm with a high win rate."""
    best, found = -1.0, champion
    for k in range(state.won.shape[0]):
        if k != champion and k != challenger:
            value = draws.beta_draw(state.won[k] + 1.0, state.met[k] - state.won[k] + 1.0, rng)
            if state.prefer[challenger, k] < 0.3:  # the challenger lost most of its duels with k
                value = fine(2.0 - state.prefer[challenger, k])
            if value > best:
                best, found = value, k
    return found


@kernel
def most_telling_rival(state: State, champion: int, challenger: int) -> int:
    """Return the arm whose duels give the most evidence against the challenger per unit of regret."""
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
    met = wins[champion, arm] + wins[arm, champion]
    return larger(LEAST_GAP, (wins[champion, arm] + 1.0) / (met + 2.0) - 0.5)


@kernel
def copeland_candidate(state: State, rng: Generator) -> int:
    n_arms, now = state.won.shape[0], state.now[0]
    least, fewest, ties, found, before = n_arms, n_arms, 0, now.favourite, now.favourite
    for i in range(n_arms):
        state.theta[i] = draws.beta_draw(state.won[i] + 1.0, state.met[i] - state.won[i] + 1.0, rng)
        least = min(least, state.losses[i])
    for place in range(-1, n_arms):
        i = place if place >= 0 else before  # `before` is first, so that arms with more losses are soon abandoned
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
    """Return the arm with the largest sampled win rate against ``first``, or ``first`` if no sample exceeds 1/2."""
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
    if state.wins[i, j] + state.wins[j, i] >= FEW:
        return True  # other pairs are mostly judged by the duels of both arms with any arm
    return uniform(rng) < OWN + MORE_OWN * state.now[0].misfit


def update(state: State, params: NoParams, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
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
    """Count a duel of an arm, and update the probability that the arm wins more than half of all its duels."""
    state.won[arm] += outcome
    state.met[arm] += 1
    met, won = state.met[arm], state.won[arm]
    state.pooled_mass[arm] += log(met / (2.0 * (won if outcome else met - won)))
    change = 0.5 * exp(state.pooled_mass[arm])
    state.pooled[arm] += change if outcome else -change
    state.rate[arm] = (won + 1.0) / (met + 2.0)


@kernel
def judge(state: State, arm: int, t: int) -> None:
    """Update the evidence that an arm is not the Condorcet winner."""
    worst, losses = 1.0, 0
    for k in range(state.won.shape[0]):
        if k != arm:
            worst = min(worst, state.prefer[arm, k])
            losses += state.prefer[arm, k] < SURE / t
    state.worst[arm], state.losses[arm] = worst, losses
    chance = min(ENOUGH, min(state.pooled[arm], MANY * worst)) * (1.0 + 0.001 * state.rate[arm])
    state.evidence[arm] = fine(1.0 - chance)


@kernel
def fine(value: float) -> float:
    return float(int(value * _FINE + 0.5)) / _FINE


@kernel
def renew(state: State, t: int) -> None:
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
    """Return the champion, or the arm that beats the most arms if there is strong evidence against every arm."""
    least = vector.smallest(state.evidence)
    if 1.0 - least < NO_WINNER:
        return most_victorious(state.wins)
    return vector.nth_up_to(state.evidence, least, 0)


register(
    __name__,
    any_order=True,
    assumes="made for problems with a Condorcet winner; finds Copeland winners slowly without one",
    regret="not proven",
    cost="O(K); without a Condorcet winner up to K^2 coins",
    where="part of this package",
    for_sets="auto_sets",
)
