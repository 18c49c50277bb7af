"""Auto for sets: the policy to use if you know little about your problem, and can compare sets of arms.

In each step, the policy draws five arms and compares them, as `self_sparring` does. If an arm is drawn several times,
the set contains copies of it. There are two new rules:

- Ties are ignored. Two arms tie if the comparisons of their copies have different outcomes.
- At most three pairs of copies count for the same two arms. Several pairs of copies are not independent observations.
  If all pairs counted, runs would too often end with a wrong arm.
"""

from __future__ import annotations

from typing import NamedTuple

from numpy.random import Generator

from ltr_duel.bandits.cardinal import ThompsonBandits, choose, thompson_bandits, thompson_rewards
from ltr_duel.bandits.policies.self_sparring import recommend
from ltr_duel.bandits.policy import register
from ltr_duel.core import IntVector, NoParams, SignMatrix, kernel

SIZE, COPIES = 5, 3  # number of arms in a set; maximum number of pairs that count for the same two arms


class State(NamedTuple):
    bandits: ThompsonBandits


def init(n_arms: int, horizon: int, params: NoParams) -> State:
    return State(thompson_bandits(1, n_arms))


def select(state: State, params: NoParams, t: int, slate: IntVector, rng: Generator) -> int:
    size = min(SIZE, state.bandits.good.shape[1])
    for place in range(size):
        slate[place] = choose(state.bandits, 0, t, rng)
    return size


def update(
    state: State, params: NoParams, t: int, slate: IntVector, size: int, won: SignMatrix, rng: Generator
) -> None:
    """Tell the bandit the wins and losses of each arm. Two copies of one arm count as a win and a loss."""
    for a in range(size):
        if first_position(slate, a) == a:
            copies, wins, losses = 0, 0, 0
            for b in range(size):
                if slate[b] == slate[a]:
                    copies += 1
                elif first_position(slate, b) == b:
                    lead = counted_wins(slate, size, won, a, b)
                    wins += max(lead, 0)
                    losses += max(-lead, 0)
            itself = copies * (copies - 1) // 2
            thompson_rewards(state.bandits, 0, slate[a], wins + itself, losses + itself)


@kernel
def first_position(slate: IntVector, a: int) -> int:
    k = 0
    while slate[k] != slate[a]:
        k += 1
    return k


@kernel
def counted_wins(slate: IntVector, size: int, won: SignMatrix, first: int, second: int) -> int:
    """Return how many wins of the first arm count. The result is negative if the second arm won.

    If pairs of copies have different outcomes, the result is 0. Otherwise at most `COPIES` pairs count.
    """
    total, pairs = 0, 0
    for a in range(size):
        if slate[a] == slate[first]:
            for b in range(size):
                if slate[b] == slate[second]:
                    total += won[a, b] if a < b else -won[b, a]
                    pairs += 1
    return max(-COPIES, min(COPIES, total)) if abs(total) == pairs else 0


register(
    __name__,
    recommend=recommend,
    any_order=True,
    assumes="an approximately linear order of the arms",
    regret="not proven",
    cost="O(K) coin flips, a few Beta draws",
    cite="sui2017multidueling",
    where="IndSelfSparring with two changes",
)
