"""Runs of a candidate in a world: the named ranker and the users' loss at each checkpoint. A run can be extended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.advice.candidates import Candidate
from ltr_duel.advice.oracles import SetOracle, best_apart, fill_tape, new_tape, show_apart
from ltr_duel.advice.world import World
from ltr_duel.bandits import Lateness, Run, new_recorder, random_order, relabelled
from ltr_duel.core import FloatMatrix, FloatVector, IntVector, Streams, interpreted, stream
from ltr_duel.interleaving import METHODS, Comparer

_SHORTEST = 16  # minimum number of outcomes of a pair on the tape
_FILLING = 125  # fixed cost of refilling a tape, in units of the cost of one outcome


class Played(NamedTuple):
    """The results of a run at each of C checkpoints."""

    named: IntVector  # (C,) the ranker that the candidate would deploy
    lost: FloatVector  # (C,) cumulative NDCG of the best ranker's lists, minus NDCG of the lists that users saw
    exposure: FloatMatrix  # (C, K) impressions of each ranker; a list of s rankers counts 1/s for each


@dataclass(frozen=True)
class Source:
    """A candidate in a world: the data shared by all runs."""

    candidate: Candidate
    world: World
    comparer: Comparer
    budget: int  # number of impressions; the horizon of policies that need a horizon
    batch: int = 1
    compiled: bool = True  # if False, the same code runs as plain Python

    @classmethod
    def of(cls, candidate: Candidate, world: World, budget: int, *, batch: int = 1, compiled: bool = True) -> Source:
        """Return the source for a candidate in a world."""
        rule = candidate.outcome or METHODS.configure(candidate.method).component.default_outcome(sets=True)
        comparer = Comparer(world.rankings, world.users, candidate.method, rule, world.top)
        return cls(candidate, world, comparer, budget, batch, compiled)

    def kernel(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a kernel in the form in which the runs call it: compiled, or as plain Python."""
        return function if self.compiled and self.comparer.compiled else interpreted(function)

    def start(self, seed: int, *names: str | int) -> Player:
        """Start the run whose random streams are named by ``names``, the candidate and the users."""
        given = (*names, self.candidate.label, self.world.users.name)
        streams = Streams(*(stream(seed, "advice", *given, part) for part in Streams._fields))
        order = random_order(len(self.world.ndcg), stream(seed, "advice", *given, "labels"))
        others = stream(seed, "advice", *given, "batches")
        late = Lateness(self.batch, 0, others) if self.batch > 1 else None
        return _STARTS[self.candidate.kind](self.of_run(seed, *names), streams, order, late)

    def of_run(self, seed: int, *names: str | int) -> Source:
        """Return the source of one run. Users with uncertain probabilities are sampled, the same for all candidates."""
        if not self.world.errors:
            return self
        users = self.world.drawn_users(stream(seed, "advice", *names, self.world.users.name, "users"))
        return replace(self, comparer=replace(self.comparer, clicks=users))


class Player(ABC):
    """A run that can be advanced step by step."""

    def play(self, times: IntVector) -> Played:
        """Advance to each of the given checkpoints, and return the results."""
        rows = [self.advance(int(t)) for t in times]
        named, lost, exposure = zip(*rows, strict=True)
        return Played(np.array(named, np.int64), np.array(lost), np.array(exposure))

    @abstractmethod
    def advance(self, t: int) -> tuple[int, float, FloatVector]:
        """Advance to step t; return the ranker that is named then, the loss, and the exposure so far."""


class _OfPolicy(Player):
    """The run of a policy."""

    def __init__(
        self,
        source: Source,
        streams: Streams,
        order: IntVector,
        oracle: Any,
        late: Lateness | None,
        *,
        compiled: bool,
    ) -> None:
        assert source.candidate.policy is not None
        _, policy, params = source.candidate.policy
        self._gaps, self._oracle, self._order, self._back = source.world.gaps, oracle, order, np.argsort(order)
        self._counts = new_recorder(len(source.world.ndcg), (np.iinfo(np.int64).max - 1,))
        known = relabelled(oracle, order)
        self.run = Run(
            policy, params, len(order), known, streams, self._counts,
            horizon=source.budget, compiled=compiled, late=late,
        )  # fmt: skip

    def result(self) -> tuple[int, float, FloatVector]:
        """Return the current result. A page with a single ranker costs users, on average, the gap of this ranker."""
        counts = self._counts
        exposure = (counts.pulls_now / 2.0 if self.pairs else counts.alone + counts.shared)[self._back]
        alone = exposure - self._oracle.met
        named = int(self._order[self.run.recommend()])
        return named, float(self._oracle.lost[0] + alone @ self._gaps), exposure

    pairs = True


class _OfPairs(_OfPolicy):
    """The run of a policy that compares pairs, on a tape that is refilled every few steps."""

    def __init__(self, source: Source, streams: Streams, order: IntVector, late: Lateness | None) -> None:
        world, n_arms = source.world, len(source.world.ndcg)
        pairs = max(1, n_arms * (n_arms - 1) // 2)
        # With tapes of this length, refilling takes as long as simulating the outcomes that remain unused.
        self._length = max(int(np.sqrt(_FILLING * source.budget / pairs)), _SHORTEST)
        comparison, self._tape = source.comparer.open(), new_tape(n_arms, self._length)
        self._fill = source.kernel(fill_tape)
        self._given = (self._tape, comparison, world.yardstick, world.turned, streams)
        super().__init__(source, streams, order, self._tape, late, compiled=source.compiled)

    def advance(self, t: int) -> tuple[int, float, FloatVector]:
        while self.run.t < t:
            self._fill(*self._given)
            self.run.advance(min(self.run.t + self._length, t))
        return self.result()


class _OfSets(_OfPolicy):
    """The run of a policy that compares sets."""

    pairs = False

    def __init__(self, source: Source, streams: Streams, order: IntVector, late: Lateness | None) -> None:
        world = source.world
        oracle = SetOracle(
            source.comparer.open(), world.yardstick, world.turned, np.zeros(1), np.zeros(len(world.ndcg))
        )
        super().__init__(source, streams, order, oracle, late, compiled=source.compiled and source.comparer.compiled)

    def advance(self, t: int) -> tuple[int, float, FloatVector]:
        self.run.advance(t)
        return self.result()


class _Apart(Player):
    """The run of a plain A/B test."""

    def __init__(self, source: Source, streams: Streams, order: IntVector, late: Lateness | None) -> None:
        self._world, self._streams, self._comparison = source.world, streams, source.comparer.open()
        self._order = order
        self._score, self._shown = np.zeros(len(source.world.ndcg)), np.zeros(len(source.world.ndcg), np.int64)
        self._show, self._t = source.kernel(show_apart), 0

    def advance(self, t: int) -> tuple[int, float, FloatVector]:
        self._show(self._comparison, t - self._t, self._score, self._shown, self._streams)
        self._t = t
        exposure, order = self._shown.astype(np.float64), self._order
        named = int(order[best_apart(self._score[order], self._shown[order])])
        return named, float(exposure @ self._world.gaps), exposure


_STARTS: dict[str, Any] = {"pairs": _OfPairs, "sets": _OfSets, "apart": _Apart}
