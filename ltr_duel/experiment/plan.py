"""The plan: every run of an experiment, in a fixed order, and what a worker must know of each."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ltr_duel.bandits import POLICIES, Policy
from ltr_duel.core import Configured, InputError, Plugin
from ltr_duel.experiment.problem import Problem
from ltr_duel.experiment.spec import SpecFile
from ltr_duel.simulation import RunKey


class Task(NamedTuple):
    """What a worker gets: plain values, no arrays and no code."""

    label: str
    problem: str  # its folder in the cache
    key: dict[str, Any]
    plugins: tuple[Plugin, ...]


class PlannedRun(NamedTuple):
    """One run of the plan."""

    number: int  # its place in the plan
    digest: str
    label: str
    problem: int  # number of the problem
    horizon: int
    repetition: int


class Shard(NamedTuple):
    """Part ``number`` of ``of``, counted from 1: every ``of``-th run of the plan."""

    number: int
    of: int


@dataclass(frozen=True, eq=False)
class Plan:
    """All runs: problem x horizon x policy x repetition, in this order; made as they are asked for.

    Parameters
    ----------
    file : SpecFile
    problems : sequence of Problem
    plugins : sequence of Plugin
        Files with policies.
    """

    file: SpecFile
    problems: Sequence[Problem]
    plugins: tuple[Plugin, ...] = ()

    @functools.cached_property
    def policies(self) -> tuple[Configured[Policy], ...]:
        """The policies with their parameters."""
        return tuple(POLICIES.configure(label) for label in self.file.spec.labels)

    @property
    def digest(self) -> str:
        """SHA-256 of the runs."""
        digest = hashlib.sha256()
        for run in self:
            digest.update(run.digest.encode())
        return digest.hexdigest()

    def __len__(self) -> int:
        spec = self.file.spec
        return len(self.problems) * len(spec.horizon) * len(self.policies) * spec.repetitions

    def __iter__(self) -> Iterator[PlannedRun]:
        spec, number = self.file.spec, 0
        for place, problem in enumerate(self.problems):
            for horizon in spec.horizon:
                for policy in self.policies:
                    for repetition in range(spec.repetitions):
                        key = self.key(problem, policy, horizon, repetition)
                        yield PlannedRun(number, key.digest, policy.label, place, horizon, repetition)
                        number += 1

    def shard(self, shard: Shard | None) -> Iterator[PlannedRun]:
        """Yield the runs of one shard, or all."""
        for run in self:
            if shard is None or run.number % shard.of == shard.number - 1:
                yield run

    def key(self, problem: Problem, policy: Configured[Policy], horizon: int, repetition: int) -> RunKey:
        """Return the key of a run."""
        spec = self.file.spec
        return RunKey(
            problem.oracle.provenance,
            policy.component.name,
            policy.params._asdict(),
            horizon,
            repetition,
            spec.seed,
            spec.checkpoints_per_decade,
            problem.measured_by,
            next((one.sha256 for one in self.plugins if one.defines("policy", policy.component.name)), ""),
        )

    def task(self, run: PlannedRun) -> Task:
        """Return what a worker must know; puts the problem into the cache."""
        problem = self.problems[run.problem]
        (policy,) = (one for one in self.policies if one.label == run.label)
        key = self.key(problem, policy, run.horizon, run.repetition)
        return Task(run.label, str(self._folder(run.problem)), dict(key.__dict__), self.plugins)

    @functools.cache  # noqa: B019 -- lives as long as the command
    def _folder(self, number: int) -> Path:
        return self.problems[number].save()


def parse_shard(text: str) -> Shard:
    """Read ``i/n``.

    Raises
    ------
    InputError
        If it is not of that form with 1 <= i <= n.
    """
    index, slash, count = text.partition("/")
    if slash and index.strip().isdecimal() and count.strip().isdecimal() and 1 <= int(index) <= int(count):
        return Shard(int(index), int(count))
    raise InputError(f"--shard must be i/n with 1 <= i <= n, for example 1/8, not '{text}'")


def canonical_json(content: Any) -> str:
    """Write JSON in the one form that digests are taken of."""
    return json.dumps(content, sort_keys=True)
