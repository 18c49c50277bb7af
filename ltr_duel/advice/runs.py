"""Simulate candidates on all cores, and measure how much NDCG users lose.

In each step, a simulated user sees one list for a random query. The loss of this list is the NDCG of the best ranker's
list for the same query, minus the NDCG of the list. If a policy shows a single ranker and compares nothing, the mean
loss of this ranker is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ltr_duel.advice.candidates import Candidate
from ltr_duel.advice.worlds import World, Yardstick
from ltr_duel.bandits import (
    Lateness,
    Recorder,
    Run,
    compile_ahead,
    duel,
    multiduel,
    new_recorder,
    random_order,
    relabelled,
    separate,
)
from ltr_duel.clicks import ClickModel
from ltr_duel.core import (
    FloatVector,
    IntMatrix,
    IntVector,
    MarkMatrix,
    SignMatrix,
    Streams,
    coin,
    implement,
    kernel,
    parallel,
    random_below,
    stream,
    vector,
)
from ltr_duel.interleaving import Comparer, Comparison, compare_pair, compare_slate


@separate
class Users(NamedTuple):
    """The simulated users that a policy asks for outcomes. They also add up the loss of the lists that they see."""

    comparison: Comparison
    yardstick: Yardstick
    lost: FloatVector  # (1,) the sum of the losses of all lists
    exposure: FloatVector  # (K,) the number of lists of each ranker; a list of s rankers counts 1/s for each of them


@kernel
def list_loss(c: Comparison, yardstick: Yardstick, query: int) -> float:
    """Return the NDCG of the best ranker's list for a query, minus the NDCG of the list that is shown."""
    start = c.lists.query_ptr[query]
    length = min(c.lists.query_ptr[query + 1] - start, min(c.page.shown.shape[0], yardstick.discount.shape[0]))
    lost = yardstick.best[query]
    for k in range(length):
        lost -= yardstick.worth[start + c.page.shown[k]] * yardstick.discount[k]
    return lost


def _duel(oracle: Users, first: int, second: int, streams: Streams) -> int:
    c = oracle.comparison
    query = random_below(c.lists.query_ptr.shape[0] - 1, streams.queries)
    outcome = vector.sign(compare_pair(c, query, first, second, streams.lists, streams.clicks), 0.0)
    oracle.lost[0] += list_loss(c, oracle.yardstick, query)
    oracle.exposure[first] += 0.5
    oracle.exposure[second] += 0.5
    return coin(streams.feedback) if outcome == 0 else outcome


def _multiduel(oracle: Users, slate: IntVector, size: int, won: SignMatrix, streams: Streams) -> None:
    c = oracle.comparison
    query = random_below(c.lists.query_ptr.shape[0] - 1, streams.queries)
    compare_slate(c, query, slate, size, won, streams.lists, streams.clicks)
    oracle.lost[0] += list_loss(c, oracle.yardstick, query)
    for a in range(size):
        oracle.exposure[slate[a]] += 1.0 / size
        for b in range(a + 1, size):
            if won[a, b] == 0:
                won[a, b] = coin(streams.feedback)


implement(duel, Users, _duel)
implement(multiduel, Users, _multiduel)


class Sample(NamedTuple):
    """The results of R runs of a candidate with one click model, at C checkpoints. Losses are means per impression."""

    named: IntMatrix  # (R, C) the ranker that the policy names at the checkpoint
    right: MarkMatrix  # (R, C) 1 if the named ranker is the best one, or within the margin of it
    lost: FloatVector  # (R,) NDCG of the best ranker, minus NDCG of the lists that users saw
    after: FloatVector  # (R,) NDCG of the best ranker, minus NDCG of the ranker named at the end

    @property
    def loss(self) -> FloatVector:
        """The sum of ``lost`` and ``after``; shape (R,)."""
        return np.asarray(self.lost + self.after)


class RunRequest(NamedTuple):
    """A request to run a candidate ``runs`` times."""

    candidate: Candidate
    world: World
    runs: int


class Simulator:
    """Runs candidates with a fixed seed, batch and number of threads.

    batch: the number of impressions that are shown before any of their clicks is known.
    compiled: whether to compile the code; if False, it runs as plain Python.
    """

    def __init__(self, seed: int, jobs: int, *, batch: int = 1, compiled: bool = True) -> None:
        self._seed, self._jobs, self._batch, self._compiled = seed, jobs, batch, compiled
        self._ready: dict[str, Future[object]] = {}  # for each candidate: done as soon as its loop is compiled

    def samples(self, requests: Sequence[RunRequest], stage: str, times: IntVector, label: str) -> list[Sample]:
        """Return one sample for each request. Runs of different stages use independent random numbers."""
        tasks = [(request, number) for request in requests for number in range(request.runs)]
        # Two threads must not compile the same loop at once, but compiled loops can run while others are compiled.
        compiler = ThreadPoolExecutor(1)

        def run(task: tuple[RunRequest, int]) -> tuple[IntVector, float]:
            self._ready[task[0].candidate.label].result()
            return self.one_run(task[0], (stage, task[1]), times)

        new = [request for request in requests if request.candidate.label not in self._ready]
        opened = (self._open(request, ("compile", 0), np.array([2]))[0] for request in new)
        compile_ahead((code for run in opened for code in run.compilations), self._jobs)
        try:
            for request in requests:
                name = request.candidate.label
                if name not in self._ready:
                    self._ready[name] = compiler.submit(self.one_run, request, ("compile", 0), np.array([2]))
            runs = list(
                parallel.run_tasks(
                    run, tasks, total=len(tasks), jobs=self._jobs, label=label, unit="run", first_alone=False
                )
            )
        finally:
            compiler.shutdown(wait=False, cancel_futures=True)
        ends = np.cumsum([request.runs for request in requests])
        return [
            _sample(request.world, times, runs[end - request.runs : end])
            for request, end in zip(requests, ends, strict=True)
        ]

    def one_run(self, request: RunRequest, names: tuple[str | int, ...], times: IntVector) -> tuple[IntVector, float]:
        """Run a candidate once; return the ranker named at each checkpoint, and the sum of all losses.

        names: parts of the names of this run's random streams.
        """
        run, oracle, recorder, order = self._open(request, names, times)
        run.advance(int(times[-1]))
        alone = recorder.exposure[-1][np.argsort(order)] - oracle.exposure
        return order[recorder.recommended], float(oracle.lost[0] + alone @ request.world.gaps)

    def _open(
        self, request: RunRequest, names: tuple[str | int, ...], times: IntVector
    ) -> tuple[Run, Users, Recorder, IntVector]:
        candidate, world = request.candidate, request.world
        _, policy, params = candidate.policy
        comparer = Comparer(world.rankings, self.users(world, names), candidate.method, candidate.outcome, world.top)
        own = ("advice", *names, candidate.label, world.users.name)
        order = random_order(len(world.ndcg), stream(self._seed, *own, "labels"))
        oracle = Users(comparer.open(), world.yardstick, np.zeros(1), np.zeros(len(order)))
        recorder = new_recorder(len(order), times)
        run = Run(
            policy, params, len(order), relabelled(oracle, order),
            Streams(*(stream(self._seed, *own, part) for part in Streams._fields)), recorder,
            horizon=int(times[-1]), compiled=self._compiled and comparer.compiled,
            late=Lateness(self._batch, 0, stream(self._seed, *own, "batches")) if self._batch > 1 else None,
        )  # fmt: skip
        return run, oracle, recorder, order

    def users(self, world: World, names: tuple[str | int, ...]) -> ClickModel:
        """Return the click model of a run. Estimated probabilities are drawn at random for each run."""
        if not world.errors:
            return world.users
        return world.sampled_users(stream(self._seed, "advice", *names, world.users.name, "users"))


def _sample(world: World, times: IntVector, runs: Sequence[tuple[IntVector, float]]) -> Sample:
    named = np.stack([names for names, _ in runs])
    lost = np.array([loss for _, loss in runs]) / times[-1]
    return Sample(named, world.right[named], lost, world.gaps[named[:, -1]])
