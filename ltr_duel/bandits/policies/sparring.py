"""Sparring: two ordinary bandits choose one arm each, and the bandit whose arm wins the duel is rewarded.

The bandits are described in `cardinal`. `sparring` has UCB1 bandits. The regret rate of `sparring` is proven for
``alpha = 2``, not for the default 0.5. `thompson_sparring` has Thompson bandits. `exp3_sparring` has Exp3 bandits, for
preferences that an adversary may change. The share of uniform exploration, sqrt(K ln K / max(t, 10^4)), needs no
horizon.

Ailon, Karnin, Joachims. Reducing Dueling Bandits to Cardinal Bandits. ICML 2014; Algorithms 6 (any base bandit) and 7
(Thompson sampling) of Wolfenfeld's survey.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.random import Generator

from ltr_duel.bandits import cardinal
from ltr_duel.bandits.policy import register
from ltr_duel.core import NoParams, coin, kernel

LEFT, RIGHT = 0, 1  # the rows of the two bandits


class Params(NamedTuple):
    alpha: float = 0.5  # exploration: 0.5 in Wolfenfeld's experiments, 2 in the original UCB1


class Exp3Params(NamedTuple):
    settle: int = 10_000  # the mixing rate is constant up to this step


class State(NamedTuple):
    """Two UCB1 bandits over K arms. Row 0 belongs to the left bandit, and row 1 to the right bandit."""

    bandits: cardinal.UcbBandits


class ThompsonState(NamedTuple):
    bandits: cardinal.ThompsonBandits


class Exp3State(NamedTuple):
    bandits: cardinal.Exp3Bandits


def init(n_arms: int, horizon: int, params: Params) -> State:
    return State(cardinal.ucb_bandits(2, n_arms, params.alpha))


def thompson_init(n_arms: int, horizon: int, params: NoParams) -> ThompsonState:
    return ThompsonState(cardinal.thompson_bandits(2, n_arms))


def exp3_init(n_arms: int, horizon: int, params: Exp3Params) -> Exp3State:
    return Exp3State(cardinal.exp3_bandits(2, n_arms, params.settle))


def select(state: Any, params: Any, t: int, rng: Generator) -> tuple[int, int]:
    left = cardinal.choose(state.bandits, LEFT, t, rng)
    return left, cardinal.choose(state.bandits, RIGHT, t, rng)


def update(state: Any, params: Any, t: int, first: int, second: int, outcome: int, rng: Generator) -> None:
    """Give the reward 1 to the bandit whose arm won, and 0 to the other bandit."""
    won = right_won(outcome, rng)
    cardinal.record_reward(state.bandits, LEFT, first, 1 - won)
    cardinal.record_reward(state.bandits, RIGHT, second, won)


@kernel
def right_won(outcome: int, rng: Generator) -> int:
    """Return 1 if the right arm won, else 0. A coin decides if both arms are the same."""
    if outcome == 0:
        outcome = coin(rng)
    return 1 if outcome < 0 else 0


def recommend(state: Any, params: Any) -> int:
    return cardinal.most_played(state.bandits, RIGHT)  # the papers define no recommendation


register(
    __name__,
    any_order=True,
    limits={"alpha": (0.0, None)},
    assumes="utilities behind the preferences",
    regret="conjectured: sum of two UCB1 regrets, O(K log T)",
    cost="O(K)",
    cite="ailon2014reducing",
    where="Sparring",
)
register(
    __name__,
    name="thompson_sparring",
    prefix="thompson",
    params=NoParams,
    any_order=True,
    assumes="utilities behind the preferences",
    regret="conjectured: sum of two Thompson sampling regrets",
    cost="O(K): 2K coin flips, a few Beta draws",
    cite="wolfenfeld_dueling,ailon2014reducing",
    where="Algorithm 7",
)
register(
    __name__,
    name="exp3_sparring",
    prefix="exp3",
    limits={"settle": (1, None)},
    assumes="nothing; compares with the best fixed arm even when preferences change",
    regret="O(sqrt(K T log K)) for each bandit",
    cost="O(K), 2K exponentials",
    cite="ailon2014reducing",
    where="Sparring with Exp3 bandits",
)
