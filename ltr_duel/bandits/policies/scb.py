"""SCB: Scalable Copeland Bandits.

An arm is rewarded if it beats a random other arm; the better arm of a pair is determined once, by as many duels
as necessary. Best-arm identification with divergence bounds on these rewards finds the Copeland winner, which is then
played until the round ends. Each round starts from an empty state; its length is the square of the previous length.

Zoghi, Karnin, Whiteson, de Rijke. Copeland Dueling Bandits. NIPS 2015, Algorithms 2 to 4. Needs no Condorcet winner and
no horizon. Regret O(K log K log T) in its leading term. Round r has T_r = 2^(2^r) steps and failure probability delta =
ln T_r / T_r.

The tests of rewards and of pairs use the level ln(4 n k / delta) + 2 ln ln n after n observations, with k = K for
rewards and k = K^2 for pairs; the paper does not define the level for pairs. When all pairs of the remaining arms are
settled, the scores are known, and the winner is chosen. A step costs O(1) amortised while a pair is being settled. The
program of D-TS's authors (HuasenWu/DuelingBandits) begins with a round of 1,000 steps, and its levels count steps
instead of n and omit delta.

The paper defines no recommendation. Here the recommendation is the winner found in the current round or, before a
winner is found, the arm that beats the most arms in this round. The winner of the previous round is discarded. Accuracy
therefore falls when a round begins, and does not measure the accuracy of the previous round.

SCB assumes that no pair ties: a tied pair is never settled, and a round may spend all its steps on the pair. Results of
SCB on a matrix with a tie, such as the matrix of arXiv, show only this effect.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.hooks import NEVER
from ltr_duel.bandits.policy import register
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.bandits.statistics import coin_divergence, most_victorious
from ltr_duel.core import IntMatrix, IntVector, NoParams, kernel, random_below, shuffle


class Now:
    """The progress of the round."""

    n_alive: int  # number of remaining arms
    place: int  # position of the next arm in the sweep
    sweeps: int  # number of finished sweeps
    first: int  # the pair being settled; -1 if no pair is being settled
    second: int
    start: int  # first step of the round
    length: int  # number of steps of the round
    best: int  # the winner found in this round, or -1


class State(NamedTuple):
    """The state of SCB in a round, with K arms."""

    wins: IntMatrix  # (K, K) wins[i, j]: duels of this round that arm i won against arm j
    settled: IntMatrix  # (K, K) +1 if i is known to beat j, -1 if i is known to lose to j, 0 if the pair is not settled
    unsettled: IntVector  # (K,) number of unsettled pairs of each arm
    alive: IntVector  # (K,) the first n_alive entries: the remaining arms
    rewards: IntVector  # (K,) wins of each remaining arm against random opponents
    now: Registers[Now]


def init(n_arms: int, horizon: int, params: NoParams) -> State:
    """Return the state before the first round."""
    wins, settled = np.zeros((2, n_arms, n_arms), np.int64)
    unsettled, alive, rewards = np.zeros((3, n_arms), np.int64)
    now = registers(Now, first=-1, second=-1, length=1, best=-1)
    return State(wins, settled, unsettled, alive, rewards, now)


def select(state: State, params: NoParams, t: int, rng: Generator) -> tuple[int, int]:
    """Return the pair being settled, or the winner of this round if it is known."""
    now = state.now[0]
    if t - now.start >= now.length:
        begin_round(state, t, rng)
    if now.best < 0 and now.first < 0:
        next_pair(state, rng)
    if now.best >= 0:
        return now.best, now.best
    return now.first, now.second


@kernel
def begin_round(state: State, t: int, rng: Generator) -> None:
    """Reset the state; the first round has 4 steps. All sweeps of a round use the same random order of the arms."""
    now, n_arms = state.now[0], state.alive.shape[0]
    state.wins[:] = 0
    state.settled[:] = 0
    state.rewards[:] = 0
    state.unsettled[:] = n_arms - 1
    for i in range(n_arms):
        state.alive[i] = i
    shuffle(state.alive, rng)
    now.n_alive, now.place, now.sweeps, now.first = n_arms, 0, 0, -1
    now.best = 0 if n_arms == 1 else -1
    now.start = t
    now.length = max(4, now.length * now.length) if now.length < 3_000_000_000 else NEVER


@kernel
def next_pair(state: State, rng: Generator) -> None:
    """Draw opponents, arm by arm, until a pair has to be settled or the winner is found."""
    now, n_arms = state.now[0], state.alive.shape[0]
    while now.best < 0:
        still_open = 0
        for arm in state.alive[: now.n_alive]:
            still_open += state.unsettled[arm]
        if still_open == 0:
            now.best = best_settled(state, rng)
            return
        arm = state.alive[now.place]
        other = random_below(n_arms - 1, rng)
        other += other >= arm
        if state.settled[arm, other] == 0:
            now.first, now.second = arm, other
            return
        reward(state, arm, state.settled[arm, other] > 0)


@kernel
def best_settled(state: State, rng: Generator) -> int:
    """Draw from the remaining arms with the largest known Copeland score."""
    most, ties, best = -1, 0, 0
    for arm in state.alive[: state.now[0].n_alive]:
        score = 0
        for j in range(state.alive.shape[0]):
            score += state.settled[arm, j] > 0
        if score > most:
            most, ties, best = score, 1, arm
        elif score == most:
            ties += 1
            if random_below(ties, rng) == 0:
                best = arm
    return best


@kernel
def reward(state: State, arm: int, won: bool) -> None:
    """Count a reward; after a sweep, remove the arms whose upper bound is below the best lower bound."""
    now = state.now[0]
    state.rewards[arm] += won
    now.place += 1
    if now.place < now.n_alive:
        return
    now.place = 0
    now.sweeps += 1
    n = now.sweeps
    limit = level(n, state.alive.shape[0], now.length) / n
    top, left = 0, 0
    for k in state.alive[: now.n_alive]:
        top = max(top, state.rewards[k])
    lower = divergence_bound(top / n, 0.0, limit)
    for k in state.alive[: now.n_alive]:
        if divergence_bound(state.rewards[k] / n, 1.0, limit) >= lower:
            state.alive[left] = k
            left += 1
    now.n_alive = left
    if left == 1:
        now.best = state.alive[0]


@kernel
def level(n: int, k: int, length: int) -> float:
    """Return ln(4 n k / delta) + 2 ln ln n, with delta = ln T / T."""
    iterated = log(log(float(n))) if n > 3 else 0.0
    return log(4.0 * n * k) + log(float(length)) - log(log(float(length))) + 2.0 * iterated


@kernel
def divergence_bound(mean: float, end: float, limit: float) -> float:
    """Return the value between ``mean`` and ``end`` (0 or 1) whose divergence from the mean is ``limit``."""
    near, far = mean, end
    for _ in range(40):
        middle = 0.5 * (near + far)
        divergence = 0.0
        if mean > 0.0:
            divergence += mean * log(mean / middle)
        if mean < 1.0:
            divergence += (1.0 - mean) * log((1.0 - mean) / (1.0 - middle))
        if divergence <= limit:
            near = middle
        else:
            far = middle
    return near


def update(state: State, params: NoParams, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    """Count a duel; settle the pair when it is clear which arm is better."""
    if outcome == 0:
        return
    now = state.now[0]
    winner, loser = (first, second) if outcome > 0 else (second, first)
    state.wins[winner, loser] += 1
    won = state.wins[winner, loser]
    n, n_arms = won + state.wins[loser, winner], state.alive.shape[0]
    if 2 * won > n and n * coin_divergence(won / n) > level(n, n_arms * n_arms, now.length):
        state.settled[winner, loser] = 1
        state.settled[loser, winner] = -1
        state.unsettled[winner] -= 1
        state.unsettled[loser] -= 1
        now.first = -1
        reward(state, first, winner == first)


def recommend(state: State, params: NoParams) -> int:
    """Return the winner of this round or, if none is found yet, the arm that beats the most arms in this round."""
    now = state.now[0]
    if now.best >= 0:
        return now.best
    return most_victorious(state.wins)


def idle_until(state: State, params: NoParams, t: int) -> int:
    """Return the last step of the round: the winner is played until then."""
    now = state.now[0]
    if now.length == NEVER:
        return NEVER
    return now.start + now.length - 1


register(
    __name__,
    assumes="no ties between arms; finds Copeland winners",
    regret="O(K log K log T)",
    cost="O(1) amortised",
    cite="zoghi2015copeland",
    where="SCB",
)
