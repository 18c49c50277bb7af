"""Beat the Mean in whole sweeps: the same distribution as with single steps, but fast enough for long horizons.

Yue, Joachims. Beat the Mean Bandit. ICML 2011, Algorithm 1; comments cite its line numbers; see `beat_the_mean`.
Outcomes must be independent, with probabilities from a known matrix. Random numbers are drawn only when they matter:

- **Opponents.** The algorithm uses the numbers of duels and wins of an arm, but not its opponents. Each opponent is
  uniform on the remaining arms, so an arm wins with its mean probability against these arms. Given its outcome, a duel
  of arm b with a remaining arm had opponent x with probability proportional to ``p[b, x]`` (if won) or ``1 - p[b, x]``
  (if lost), independently of all other duels. Therefore the number of duels against an arm is drawn when this arm is
  removed; all other opponents are drawn at a checkpoint.
- **Outcomes.** Duels of an arm are *open* while only their number is known. If w wins and l losses of an arm are drawn,
  its mean is between w / n and 1 - l / n as long as it has at most n duels. While the largest and the smallest mean are
  certain to differ by less than twice the radius c(n), all arms get duels and no outcome is drawn (`hop`). Otherwise
  the outcomes of the arms that may be the best or the worst are drawn (`draw_near`). If these outcomes do not allow
  another hop, the arms with the fewest duels get one duel each, in random order, with the paper's test after each duel
  (`serve`).

A run of any length costs O(K^2) draws for removals, and O(K^2) draws for each checkpoint before the last removal.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from ltr_duel.bandits.state import Registers, registers
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, draws, kernel, random_below


class Now:
    """The progress of the run."""

    n_active: int  # number of remaining arms
    enough: int  # N
    best: int  # the arm of line 23, or -1
    hop: int  # how much the last hop raised the minimum number of duels; 1 if it failed
    factor: float  # c(n) = factor sqrt(level / n)
    level: float
    low: float  # the smallest mean of arms without open outcomes
    high: float  # the largest mean of arms without open outcomes
    worst: float  # upper bound of the smallest mean until the next sweep ends
    top: float  # lower bound of the largest mean until the next sweep ends


class SweepState(NamedTuple):
    """The duels of K arms: their numbers, their drawn outcomes and their drawn opponents."""

    n: IntVector  # (K,) duels recorded by each arm
    drawn: IntMatrix  # (K, 2) drawn losses and wins; the other duels are open
    unnamed: IntMatrix  # (K, 2) duels of `drawn` whose opponent is not drawn yet
    named: IntMatrix  # (K, 2 K) duels with a drawn opponent: lost to x in column 2 x, won in column 2 x + 1
    sum_p: FloatVector  # (K,) p[b, x], summed over the remaining arms x
    active: IntVector  # (K,) the first n_active entries: remaining arms, ascending
    waiting: IntVector  # (K,) scratch: remaining arms with the fewest duels
    now: Registers[Now]


class World(NamedTuple):
    """The arguments of a sweep that its helpers share."""

    p: FloatMatrix  # (K, K) p[i, j] = Pr(arm i beats arm j)
    met: IntMatrix  # (K, K) duels of each pair so far


class PacSweepState(SweepState):
    """The PAC algorithm's state: the same arrays in another class, because each policy needs a separate class."""


LOST, WON = 0, 1  # columns of `drawn` and `unnamed`


def sweep_arrays(n_arms: int, terms: dict[str, float]) -> tuple[Any, ...]:
    """Make the arrays of a `SweepState`; ``terms`` are the fields ``enough``, ``factor`` and ``level`` of `Now`."""
    n, active, waiting = np.zeros((3, n_arms), np.int64)
    active[:] = np.arange(n_arms)
    drawn, unnamed = np.zeros((2, n_arms, 2), np.int64)
    best = 0 if n_arms == 1 else -1
    now = registers(Now, n_active=n_arms, best=best, hop=1, low=0.5, high=0.5, worst=0.5, top=0.5, **terms)
    return n, drawn, unnamed, np.zeros((n_arms, 2 * n_arms), np.int64), np.zeros(n_arms), active, waiting, now


def sweep(state: SweepState, params: Any, p: FloatMatrix, t: int, until: int, met: IntMatrix, rng: Generator) -> int:
    """Lines 10 to 23, up to step ``until``; then draw all opponents."""
    now, decisions, world = state.now[0], 0, World(p, met)
    if t == 1:
        for b in range(p.shape[0]):
            for x in range(p.shape[0]):
                state.sum_p[b] += p[b, x]
    while t <= until and now.best < 0:
        decisions += 1
        draw_near(state, rng)
        steps = hop(state, until + 1 - t)
        if steps == 0:
            steps = serve(state, until + 1 - t, world, rng)
        t += steps
        if now.n_active == 1 or fewest_duels(state) >= now.enough:  # line 10
            draw_all(state, rng)
            now.best = best_mean(state)
    draw_all(state, rng)
    for b in state.active[: now.n_active]:
        name_opponents(state, b, world, rng)
    if t <= until:
        met[now.best, now.best] += until + 1 - t
    return decisions


@kernel
def hop(state: SweepState, room: int) -> int:
    """Raise all arms to a common minimum of duels if none can be removed meanwhile; return the number of steps."""
    now = state.now[0]
    fewest = fewest_duels(state)
    more = min(2 * now.hop, now.enough - fewest)
    while more > 0:
        low, high, steps = inf, -inf, 0
        for b in state.active[: now.n_active]:
            n = max(state.n[b], fewest + more)
            steps += n - state.n[b]
            low = min(low, state.drawn[b, WON] / n)
            high = max(high, (n - state.drawn[b, LOST]) / n)
        if steps <= room and high - low + 1e-12 < 2.0 * radius(state, fewest + more):  # line 16; c* shrinks as n* grows
            for b in state.active[: now.n_active]:
                state.n[b] = max(state.n[b], fewest + more)
            now.hop = more
            return steps
        more //= 2
    now.hop = 1
    return 0


@kernel
def draw_near(state: SweepState, rng: Generator) -> None:
    """Draw the open outcomes of all arms that may be the best or the worst within their next two duels."""
    now, drawn = state.now[0], True
    while drawn:
        worst, top = inf, -inf
        for b in state.active[: now.n_active]:
            worst = min(worst, (state.n[b] + 1 - state.drawn[b, LOST]) / (state.n[b] + 1))
            top = max(top, state.drawn[b, WON] / (state.n[b] + 1))
        now.worst, now.top, drawn = worst, top, False
        for b in state.active[: now.n_active]:
            if is_open(state, b) and is_near(state, b):
                draw_outcomes(state, b, rng)
                drawn = True


@kernel
def is_open(state: SweepState, b: int) -> bool:
    """Return whether an arm has open outcomes."""
    return state.n[b] > state.drawn[b, LOST] + state.drawn[b, WON]


@kernel
def is_near(state: SweepState, b: int) -> bool:
    """Return whether an arm may be the worst or the best, or tie with either, within its next two duels."""
    now, n = state.now[0], state.n[b] + 1
    return state.drawn[b, WON] / n <= now.worst or (n - state.drawn[b, LOST]) / n >= now.top


@kernel
def serve(state: SweepState, room: int, world: World, rng: Generator) -> int:
    """Add a duel to each arm with the fewest duels, for at most ``room`` steps or until a removal.

    Return the number of steps.
    """
    now = state.now[0]
    fewest, waiting = fewest_duels(state), 0
    for b in state.active[: now.n_active]:
        if state.n[b] == fewest:
            state.waiting[waiting] = b
            waiting += 1
    find_range(state)
    for place in range(min(waiting, room)):
        other = place + random_below(waiting - place, rng)  # line 11
        b = state.waiting[other]
        state.waiting[other] = state.waiting[place]
        near = is_near(state, b)
        state.n[b] += 1  # line 14
        if near:
            draw_outcomes(state, b, rng)  # line 13
            find_range(state)
        c = radius(state, fewest + (place == waiting - 1))
        if now.low + c <= now.high - c:  # line 16
            remove_worst(state, world, rng)
            return place + 1
    return min(waiting, room)


@kernel
def find_range(state: SweepState) -> None:
    """Set ``low`` and ``high`` to the smallest and the largest mean of the arms without open outcomes."""
    now, low, high = state.now[0], inf, -inf
    for b in state.active[: now.n_active]:
        if not is_open(state, b):
            low = min(low, mean(state, b))
            high = max(high, mean(state, b))
    now.low, now.high = low, high


@kernel
def remove_worst(state: SweepState, world: World, rng: Generator) -> None:
    """Lines 17 to 19. Here ``low`` is exactly the smallest mean."""
    draw_all(state, rng)
    now, ties = state.now[0], 0
    for b in state.active[: now.n_active]:
        ties += mean(state, b) == now.low
    skip, place, left = random_below(ties, rng), -1, 0
    while skip >= 0:
        place += 1
        skip -= mean(state, state.active[place]) == now.low
    worst = state.active[place]  # line 17
    name_opponents(state, worst, world, rng)
    for b in state.active[: now.n_active]:
        if b != worst:
            for side in range(2):  # line 18
                every = state.sum_p[b] if side == WON else now.n_active - state.sum_p[b]
                state.drawn[b, side] -= name_against(state, b, worst, side, every, world, rng)
            state.n[b] = state.drawn[b, LOST] + state.drawn[b, WON]
            state.sum_p[b] -= world.p[b, worst]
            state.active[left] = b  # line 19
            left += 1
    now.n_active = left


@kernel
def name_opponents(state: SweepState, b: int, world: World, rng: Generator) -> None:
    """Draw, from the remaining arms, the opponents of those of arm b's duels that have no drawn opponent yet."""
    remaining = state.active[: state.now[0].n_active]
    for side in range(2):
        while state.unnamed[b, side] > 0:  # at most two iterations: rounding may leave a few duels
            every = state.sum_p[b] if side == WON else len(remaining) - state.sum_p[b]
            for x in remaining:
                if state.unnamed[b, side] == 0:
                    break
                name_against(state, b, x, side, every, world, rng)
                every -= world.p[b, x] if side == WON else 1.0 - world.p[b, x]


@kernel
def name_against(state: SweepState, b: int, x: int, side: int, every: float, world: World, rng: Generator) -> int:
    """Among b's duels with outcome ``side`` whose opponents are not drawn yet, draw the number against x.

    every: the sum of the weights of all possible opponents. Return the number of b's duels with this outcome against x.
    """
    chance = world.p[b, x] if side == WON else 1.0 - world.p[b, x]
    new = draws.binomial_draw(state.unnamed[b, side], chance / every, rng)
    state.unnamed[b, side] -= new
    state.named[b, 2 * x + side] += new
    world.met[b, x] += new
    return state.named[b, 2 * x + side]


@kernel
def draw_all(state: SweepState, rng: Generator) -> None:
    """Draw all open outcomes."""
    for b in state.active[: state.now[0].n_active]:
        draw_outcomes(state, b, rng)


@kernel
def draw_outcomes(state: SweepState, b: int, rng: Generator) -> None:
    """Draw the open outcomes of an arm."""
    duels = state.n[b] - state.drawn[b, LOST] - state.drawn[b, WON]
    won = draws.binomial_draw(duels, state.sum_p[b] / state.now[0].n_active, rng)
    state.drawn[b, WON] += won
    state.drawn[b, LOST] += duels - won
    state.unnamed[b, WON] += won
    state.unnamed[b, LOST] += duels - won


@kernel
def fewest_duels(state: SweepState) -> int:
    """Return n* (line 7)."""
    fewest = state.n[state.active[0]]
    for b in state.active[: state.now[0].n_active]:
        fewest = min(fewest, state.n[b])
    return fewest


@kernel
def radius(state: SweepState, n: int) -> float:
    """Return c* (line 8)."""
    now = state.now[0]
    return now.factor * sqrt(now.level / n) if n > 0 else 1.0


@kernel
def mean(state: SweepState, b: int) -> float:
    """Return the mean of an arm without open outcomes (line 6)."""
    return state.drawn[b, WON] / state.n[b] if state.n[b] > 0 else 0.5


@kernel
def best_mean(state: SweepState) -> int:
    """Return the arm with the largest mean (line 23); no outcome may be open."""
    best = state.active[0]
    for b in state.active[: state.now[0].n_active]:
        if mean(state, b) > mean(state, best):
            best = b
    return best


def recommend(state: SweepState, params: Any) -> int:
    """Line 23."""
    return best_mean(state)
