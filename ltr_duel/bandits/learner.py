"""A policy that chooses many comparisons at once and receives their outcomes later, see `ltr_duel.bandits.batched`.

With one comparison at a time, the policy's choices equal the choices of a simulation with the same random numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from ltr_duel.bandits.compiling import loop_for
from ltr_duel.bandits.hooks import select, select_slate, update
from ltr_duel.bandits.live_policy import Player
from ltr_duel.bandits.policy import POLICIES, Policy, PolicyError, require_room
from ltr_duel.bandits.state import in_one_piece
from ltr_duel.core import IntMatrix, IntVector, SignMatrix, kernel

Arms = tuple[int, ...]
Outcome = tuple[Arms, bytes]  # one byte for each pair of arms, row by row: +1 or -1; none for a single arm
_MANY = 200  # from this number of comparisons on, compiled code saves more time than loading it takes


@kernel
def choose_pairs(state: Any, params: Any, t: int, pairs: IntMatrix, rng: Generator) -> None:
    """Choose pairs for the steps t, t + 1, ..., without outcomes in between."""
    for k in range(pairs.shape[0]):
        pairs[k, 0], pairs[k, 1] = select(state, params, t + k, rng)


@kernel
def choose_slates(state: Any, params: Any, t: int, slates: IntMatrix, sizes: IntVector, rng: Generator) -> None:
    """Choose sets for the steps t, t + 1, ..., without outcomes in between."""
    for k in range(slates.shape[0]):
        sizes[k] = select_slate(state, params, t + k, slates[k], rng)


@kernel
def tell_pairs(state: Any, params: Any, t: int, pairs: IntMatrix, outcomes: IntVector, rng: Generator) -> None:
    """Update the state with the outcomes of the steps t, t + 1, ...."""
    for k in range(pairs.shape[0]):
        update(state, params, t + k, pairs[k, 0], pairs[k, 1], outcomes[k], rng)


class Learner:
    """A policy whose outcomes arrive in batches.

    rng, others: the policy's stream, and the stream for further choices while one choice is pending (see `in_turn`).
    order: shape (n_arms,); arm ``order[k]`` is the policy's arm k.

    Raises `InputError` if the policy or a parameter is unknown, or there is not enough memory for ``n_arms`` arms.
    """

    def __init__(
        self, policy: str | Policy, n_arms: int, *, horizon: int, rng: Generator, others: Generator, order: ArrayLike
    ) -> None:
        _, self._policy, self._params = POLICIES.configure(policy)
        require_room(self._policy, self._params, n_arms, horizon=horizon, in_turn=True)
        state = self._policy.init(n_arms, horizon if self._policy.needs_horizon else 0, self._params)
        self._state, self._words = in_one_piece(state)
        self._trial, self._tried = in_one_piece(state)
        self._before = self._words.copy()
        self._n_arms, self._rng, self._others = n_arms, rng, others
        self._order = np.asarray(order)
        self._place = np.argsort(self._order)
        self._slates = self._policy.feedback == "slate"
        self._player = Player(self._policy, self._params, n_arms)
        self.t = 1
        self._asked: Arms = ()
        self._waiting: dict[Arms, deque[bytes]] = {}

    def choose(self, n: int) -> list[Arms]:
        """Choose the arms of the next n comparisons, given the outcomes so far."""
        chosen = self._in_any_order(n) if self._policy.any_order else [self._next(k) for k in range(n)]
        numbers = dict[Arms, Arms]()  # the policy's arms -> arms; choices repeat themselves
        for k, arms in enumerate(chosen):
            if arms in numbers:
                continue
            if not arms or min(arms) < 0 or max(arms) >= self._n_arms:
                raise PolicyError(
                    f"policy '{self._policy.name}' does not choose valid arms (0..{self._n_arms - 1}) in step"
                    f" {self.t + k}"
                )
            numbers[arms] = tuple(self._order[list(arms)].tolist())
        return [numbers[arms] for arms in chosen]

    def learn(self, outcomes: Sequence[Outcome]) -> None:
        """Update the policy with outcomes of chosen arms, in the order of their comparisons."""
        places = {arms: tuple(self._place[list(arms)].tolist()) for arms in {arms for arms, _ in outcomes}}
        own = [(places[arms], signs) for arms, signs in outcomes]
        if self._policy.any_order:
            self._learn_all(own)
            return
        for arms, signs in own:
            self._waiting.setdefault(arms, deque()).append(signs)
        while self._waiting:
            line = self._waiting.get(self._ask())
            if line is None:
                break
            self._tell(self.t, self._asked, line.popleft())
            if not line:
                del self._waiting[self._asked]
            self._asked, self.t = (), self.t + 1

    def recommend(self) -> int:
        """Return the arm that the policy would choose if it had to stop now."""
        return int(self._order[self._policy.recommend(self._state, self._params)])

    def _in_any_order(self, n: int) -> list[Arms]:
        if n < _MANY:
            return [self._player.choose(self._state, self.t + k, self._rng) for k in range(n)]
        if not self._slates:
            pairs = np.zeros((n, 2), np.int64)
            loop_for(self._policy, choose_pairs)(self._state, self._params, self.t, pairs, self._rng)
            return [tuple(pair) for pair in pairs.tolist()]
        slates, sizes = np.zeros((n, self._n_arms), np.int64), np.zeros(n, np.int64)
        loop_for(self._policy, choose_slates)(self._state, self._params, self.t, slates, sizes, self._rng)
        return [tuple(slate[:size]) for slate, size in zip(slates.tolist(), sizes.tolist(), strict=True)]

    def _next(self, k: int) -> Arms:
        """Return choice k of a batch: the pending choice for k = 0, otherwise a choice by a copy of the policy."""
        asked = self._ask()
        if k == 0:
            return asked
        self._tried[:] = self._before
        return self._player.choose(self._trial, self.t, self._others)

    def _ask(self) -> Arms:
        if not self._asked:
            self._before[:] = self._words
            self._asked = self._player.choose(self._state, self.t, self._rng)
        return self._asked

    def _learn_all(self, outcomes: Sequence[Outcome]) -> None:
        if self._slates or len(outcomes) < _MANY:
            for k, (arms, signs) in enumerate(outcomes):
                self._tell(self.t + k, arms, signs)
        else:
            pairs = np.array([arms for arms, _ in outcomes])
            told = np.array([int.from_bytes(signs, signed=True) for _, signs in outcomes], np.int64)
            loop_for(self._policy, tell_pairs)(self._state, self._params, self.t, pairs, told, self._rng)
        self.t += len(outcomes)

    def _tell(self, t: int, arms: Arms, signs: bytes) -> None:
        self._player.tell(self._state, t, arms, np.frombuffer(signs, np.int8), self._rng)


def sign_table(signs: bytes, size: int) -> SignMatrix:
    """Return the table of outcomes, given the signs of the pairs of positions a < b, row by row."""
    won = np.zeros((size, size), np.int8)
    if signs:
        won[np.triu_indices(size, 1)] = np.frombuffer(signs, np.int8)
    return won
