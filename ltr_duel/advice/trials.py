"""Run candidates in simulated worlds (see `world`), on all cores, and collect the results in arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.advice.candidates import Candidate
from ltr_duel.advice.play import Played, Player, Source
from ltr_duel.advice.world import World
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, MarkMatrix, parallel


class Trials(NamedTuple):
    """Runs of one candidate in one world: R runs, C checkpoints. NDCG and regret are means per impression."""

    named: IntMatrix  # (R, C) the ranker that is named
    lost: FloatMatrix  # (R, C) NDCG of the best ranker, minus NDCG of the lists seen until then
    regret: FloatMatrix  # (R, C) NDCG of the best ranker, minus NDCG of the compared rankers
    after: FloatMatrix  # (R, C) NDCG of the best ranker, minus NDCG of the ranker that is named
    right: MarkMatrix  # (R, C) 1 if the ranker that is named is the best one, or within the margin of it

    @property
    def loss(self) -> FloatVector:
        """Users' loss in the budget and in the same number of impressions after it, divided by the budget; (R,)."""
        return np.asarray(self.lost[:, -1] + self.after[:, -1])

    def and_more(self, others: Trials) -> Trials:
        """Return these runs together with the ``others``."""
        pairs: Any = zip(self, others, strict=True)
        return Trials(*map(np.concatenate, pairs))


def gathered(world: World, times: IntVector, runs: Sequence[Played]) -> Trials:
    """Return the runs as arrays."""
    named = np.stack([run.named for run in runs])
    lost, exposure = np.stack([run.lost for run in runs]), np.stack([run.exposure for run in runs])
    return Trials(named, lost / times, exposure @ world.gaps / times, world.gaps[named], world.right[named])


class Wanted(NamedTuple):
    """A request for the runs ``begin`` to ``end`` (exclusive) of a candidate in a world."""

    candidate: Candidate
    world: World
    begin: int
    end: int


class Laboratory:
    """Execute runs, and return their results at the checkpoints ``times``."""

    def __init__(
        self, budget: int, times: IntVector, seed: int, jobs: int, *, batch: int = 1, compiled: bool = True
    ) -> None:
        self.budget, self.times, self._seed, self._jobs = budget, times, seed, jobs
        self._batch, self._compiled = batch, compiled
        self._ready: dict[str, Future[None]] = {}  # candidates whose loops are compiled, or being compiled

    def run(self, wanted: Sequence[Wanted], stage: str, label: str) -> list[Trials]:
        """Return the results of the runs; runs of different stages are independent."""
        sources = [self._source(one, self.budget) for one in wanted]
        tasks = [(k, number) for k, one in enumerate(wanted) for number in range(one.begin, one.end)]
        runs: list[list[Played]] = [[] for _ in wanted]
        with self._compiling(sources) as ready:

            def played(task: tuple[int, int]) -> Played:
                ready[wanted[task[0]].candidate.label].result()
                return sources[task[0]].start(self._seed, stage, task[1]).play(self.times)

            for (k, _), run in zip(tasks, self._all(played, tasks, label), strict=True):
                runs[k].append(run)
        return [gathered(one.world, self.times, found) for one, found in zip(wanted, runs, strict=True)]

    def until(
        self, wanted: Wanted, stage: str, label: str, factors: Sequence[int], enough: Callable[[Trials], bool]
    ) -> tuple[int, Trials]:
        """Extend runs to the budget times each factor in turn, until ``enough(runs)`` is True or no factor is left.

        Runs of a policy that needs the horizon are started again for each factor.
        """
        players: list[Player] = []
        for factor in factors:
            times = np.array([self.budget * factor])
            if not players or wanted.candidate.needs_horizon:
                source = self._source(wanted, self.budget * factor)
                with self._compiling([source]) as ready:
                    ready[wanted.candidate.label].result()
                players = [source.start(self._seed, stage, number) for number in range(wanted.begin, wanted.end)]
            runs = list(self._all(methodcaller("play", times), players, label))
            found = gathered(wanted.world, times, runs)
            if enough(found):
                break
        return factor, found

    def _source(self, wanted: Wanted, budget: int) -> Source:
        return Source.of(wanted.candidate, wanted.world, budget, batch=self._batch, compiled=self._compiled)

    @contextmanager
    def _compiling(self, sources: Sequence[Source]) -> Iterator[dict[str, Future[None]]]:
        """Compile new loops in a separate thread; yield futures by candidate, each done when its candidate can run.

        Two threads must not compile the same loop at once, but compiled loops can run while another one is compiled.
        """
        compiler = ThreadPoolExecutor(1)
        try:
            for source in sources:
                label = source.candidate.label
                if label not in self._ready:
                    self._ready[label] = compiler.submit(_compile, source)
            yield self._ready
        finally:
            compiler.shutdown(wait=False, cancel_futures=True)

    def _all(self, function: Callable[[Any], Played], tasks: Sequence[Any], label: str) -> Iterator[Played]:
        return parallel.run_tasks(
            function, tasks, total=len(tasks), jobs=self._jobs, label=label, unit="run", first_alone=False
        )


def _compile(source: Source) -> None:
    source.start(0, "compile").advance(2)
