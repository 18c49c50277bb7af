"""Auto for sets: the policy for problems with unknown properties in which sets of arms can be compared.

The policy is Self-Sparring with sets of five (`self_sparring`), with three changes. First, ties are ignored. All copies
of an arm in a set have the same score in the comparison. If two copies differ in their outcomes against a rival, the
scores were therefore tied, and coins decided. Second, two arms with several copies in a set form up to six pairs of
copies. At most three of these pairs count, because all six are a single observation; if all six count, runs too often
end with a wrong arm. Third, the pairs of an arm with itself give no information. They count as one win and one loss
together, and only if the arm is alone in the set, so that the arm that is played is also the arm with the most plays.

The policy is part of this package, like `auto`. No bound is proven.
"""

from __future__ import annotations

from typing import NamedTuple

from numpy.random import Generator

from ltr_duel.bandits.cardinal import ThompsonBoxes, advance, feedback, thompson_boxes
from ltr_duel.bandits.policies.self_sparring import recommend
from ltr_duel.bandits.policy import register
from ltr_duel.core import IntVector, NoParams, SignMatrix, kernel

SIZE, COPIES = 5, 3  # number of arms in a set; maximum number of pairs that count for the same two arms


class State(NamedTuple):
    """The state for K arms: one Thompson box (see `cardinal`)."""

    boxes: ThompsonBoxes


def init(n_arms: int, horizon: int, params: NoParams) -> State:
    """Return the state with uniform priors."""
    return State(thompson_boxes(1, n_arms))


def select(state: State, params: NoParams, t: int, slate: IntVector, rng: Generator) -> int:
    """Choose an arm by an independent posterior sample for each position."""
    size = min(SIZE, state.boxes.good.shape[1])
    for place in range(size):
        slate[place] = advance(state.boxes, 0, t, rng)
    return size


def update(
    state: State, params: NoParams, t: int, slate: IntVector, size: int, won: SignMatrix, rng: Generator
) -> None:
    """Count one success and one failure for each pair of positions that counts, see `is_counted`, or for one arm."""
    alone = True
    for a in range(size):
        alone = alone and slate[a] == slate[0]
        for b in range(a + 1, size):
            if slate[a] != slate[b] and is_counted(slate, size, won, a, b):
                winner, loser = (slate[a], slate[b]) if won[a, b] > 0 else (slate[b], slate[a])
                feedback(state.boxes, 0, winner, 1)
                feedback(state.boxes, 0, loser, 0)
    if alone:
        feedback(state.boxes, 0, slate[0], 1)
        feedback(state.boxes, 0, slate[0], 0)


@kernel
def is_counted(slate: IntVector, size: int, won: SignMatrix, first: int, second: int) -> bool:
    """Return whether all pairs of these two arms agree on the winner, and fewer than `COPIES` precede this pair."""
    before = 0
    for a in range(size):
        for b in range(a + 1, size):
            as_here = slate[a] == slate[first] and slate[b] == slate[second]
            if as_here or (slate[a] == slate[second] and slate[b] == slate[first]):
                if won[a, b] != (won[first, second] if as_here else -won[first, second]):
                    return False
                before += a < first or (a == first and b < second)
    return before < COPIES


register(
    __name__,
    recommend=recommend,
    any_order=True,
    assumes="an approximately linear order of the arms",
    regret="not proven",
    cost="O(K) coin flips, a few Beta draws",
    cite="sui2017multidueling",
    where="IndSelfSparring with three changes",
    numbers=2,  # pairs of an arm with itself count once; in version 1 each of them counted
)
