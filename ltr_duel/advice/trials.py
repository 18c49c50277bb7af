"""Many runs of candidates in worlds, on all cores, and what they have in common: the numbers that advice rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.advice.candidates import Candidate
from ltr_duel.advice.play import Played, Player, Source
from ltr_duel.advice.world import World
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, MarkMatrix, run_tasks


class Trials(NamedTuple):
    """Runs of one candidate in one world: R runs, C checkpoints. NDCG and regret are means per impression."""

    named: IntMatrix  # (R, C)
    lost: FloatMatrix  # (R, C) NDCG of the best ranker, less that of the lists users saw until then
    regret: FloatMatrix  # (R, C) NDCG of the best ranker, less that of the rankers that were compared
    after: FloatMatrix  # (R, C) NDCG of the best ranker, less that of the one named
    right: MarkMatrix  # (R, C) 1 where it is the best, or within the margin

    @property
    def loss(self) -> FloatVector:
        """What users lose over the budget and over as many impressions after it, per impression of the budget; (R,)."""
        return np.asarray(self.lost[:, -1] + self.after[:, -1])

    def and_more(self, others: Trials) -> Trials:
        """Add runs."""
        pairs: Any = zip(self, others, strict=True)
        return Trials(*map(np.concatenate, pairs))


def gathered(world: World, times: IntVector, runs: Sequence[Played]) -> Trials:
    """Turn runs into numbers."""
    named = np.stack([run.named for run in runs])
    seen, exposure = np.stack([run.seen for run in runs]), np.stack([run.exposure for run in runs])
    best = float(world.ndcg.max())
    return Trials(named, best - seen / times, exposure @ world.gaps / times, world.gaps[named], world.right[named])


class Wanted(NamedTuple):
    """Runs that are to be done: those numbered ``begin`` to ``end`` of a candidate in a world."""

    candidate: Candidate
    world: World
    begin: int
    end: int


class Laboratory:
    """Where runs are done.

    Parameters
    ----------
    budget : int
    times : ndarray of int64
        Checkpoints.
    seed, jobs : int
    compiled : bool
    """

    def __init__(self, budget: int, times: IntVector, seed: int, jobs: int, *, compiled: bool = True) -> None:
        self.budget, self.times, self._seed, self._jobs, self._compiled = budget, times, seed, jobs, compiled
        self._ready: set[str] = set()

    def run(self, wanted: Sequence[Wanted], stage: str, label: str) -> list[Trials]:
        """Do the runs; those of another stage are independent of them."""
        sources = [self._source(one, self.budget) for one in wanted]
        tasks = [(k, number) for k, one in enumerate(wanted) for number in range(one.begin, one.end)]
        runs: list[list[Played]] = [[] for _ in wanted]
        answers = self._all(
            lambda task: sources[task[0]].start(self._seed, stage, task[1]).play(self.times), tasks, label
        )
        for (k, _), run in zip(tasks, answers, strict=True):
            runs[k].append(run)
        return [gathered(one.world, self.times, found) for one, found in zip(wanted, runs, strict=True)]

    def until(
        self, wanted: Wanted, stage: str, label: str, factors: Sequence[int], enough: Callable[[Trials], bool]
    ) -> tuple[int, Trials]:
        """Prolong runs to multiples of the budget until the numbers at their end are enough, or to the last factor.

        A policy that needs to know the horizon begins anew for each.
        """
        players: list[Player] = []
        for factor in factors:
            times = np.array([self.budget * factor])
            if not players or wanted.candidate.needs_horizon:
                source = self._source(wanted, self.budget * factor)
                players = [source.start(self._seed, stage, number) for number in range(wanted.begin, wanted.end)]
            runs = list(self._all(lambda player, at=times: player.play(at), players, label))  # type: ignore[misc]
            found = gathered(wanted.world, times, runs)
            if enough(found):
                break
        return factor, found

    def _source(self, wanted: Wanted, budget: int) -> Source:
        """Put a candidate into a world, and take some steps here: two threads must not compile one loop at once."""
        source = Source.of(wanted.candidate, wanted.world, budget, compiled=self._compiled)
        if wanted.candidate.label not in self._ready:
            source.start(0, "compile").advance(2)
            self._ready.add(wanted.candidate.label)
        return source

    def _all(self, function: Callable[[Any], Played], tasks: Sequence[Any], label: str) -> Iterator[Played]:
        return run_tasks(function, tasks, total=len(tasks), jobs=self._jobs, label=label, unit="run", first_alone=False)
