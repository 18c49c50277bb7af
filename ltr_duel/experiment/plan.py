"""The plan: every run of an experiment, in a fixed order, and its task for a worker."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from ltr_duel.bandits import POLICIES, Policy
from ltr_duel.core import InputError, components
from ltr_duel.core import plugins as core_plugins
from ltr_duel.experiment.problem import Problem
from ltr_duel.experiment.spec import SpecFile
from ltr_duel.simulation import RunKey, lateness_note, source_of


class Task(NamedTuple):
    """The input of a worker: plain values, no arrays and no code."""

    label: str
    problem: str  # folder of the problem in the cache
    key: dict[str, Any]
    plugins: tuple[core_plugins.Plugin, ...]


class PlannedRun(NamedTuple):
    """One run of the plan."""

    number: int  # position in the plan, from 0
    digest: str
    label: str
    problem: int  # position of the problem in the plan
    horizon: int
    repetition: int
    key: RunKey


class Shard(NamedTuple):
    """One of ``of`` parts of a plan: every ``of``-th run, beginning with run ``number``, counted from 1."""

    number: int = 1
    of: int = 1

    def runs_before(self, end: int) -> int:
        """Return the number of runs of the shard among the first ``end`` runs of the plan."""
        return (end - self.number) // self.of + 1 if end >= self.number else 0


class Group(NamedTuple):
    """The repetitions of one policy on one problem."""

    start: int  # position of the first repetition in the plan
    problem: int
    horizon: int
    policy: components.Configured[Policy]


@dataclass(frozen=True, eq=False)
class Plan:
    r"""All runs of an experiment: problem x horizon x policy x repetition, in this order. Runs are made on demand.

    Parameters
    ----------
    file : SpecFile
        The experiment (`read_spec`).
    problems : sequence of Problem
        Each has a ``name``, ``facts`` (columns of the tidy table) and the ``matrix`` that measures regret.

    Examples
    --------
    >>> from ltr_duel.experiment import make_plan, read_spec
    >>> plan = make_plan(read_spec("one.toml", "policies = 'rucb'\nutilities = [{ set = '1good5poor' }]"))
    >>> len(plan), next(iter(plan)).label
    (20, 'rucb')
    """

    file: SpecFile
    problems: Sequence[Problem]

    @property
    def plugins(self) -> tuple[core_plugins.Plugin, ...]:
        """The plug-in files that the experiment needs."""
        return self.file.plugins

    @functools.cached_property
    def policies(self) -> tuple[components.Configured[Policy], ...]:
        """The policies with their parameters."""
        return tuple(POLICIES.configure(label) for label in self.file.spec.labels)

    @property
    def digest(self) -> str:
        """SHA-256 of the digests of the runs."""
        digest = hashlib.sha256()
        for run in self:
            digest.update(run.digest.encode())
        return digest.hexdigest()

    def __len__(self) -> int:
        spec = self.file.spec
        return len(self.problems) * len(spec.horizon) * len(self.policies) * spec.repetitions

    def __iter__(self) -> Iterator[PlannedRun]:
        for group in self.groups():
            for repetition in range(self.file.spec.repetitions):
                yield self.run(group, repetition)

    def groups(self) -> Iterator[Group]:
        """Yield the groups of repetitions, in the order of the plan."""
        spec = self.file.spec
        parts = product(range(len(self.problems)), spec.horizon, self.policies)
        for number, (problem, horizon, policy) in enumerate(parts):
            yield Group(number * spec.repetitions, problem, horizon, policy)

    def run(self, group: Group, repetition: int) -> PlannedRun:
        """Return one run of a group."""
        problem, policy = self.problems[group.problem], group.policy
        rest = self._key_of(policy) | self._common_key
        key = RunKey(
            problem.oracle.provenance,
            horizon=group.horizon,
            repetition=repetition,
            measured_by=problem.measured_by,
            **rest,
        )
        number = group.start + repetition
        return PlannedRun(number, key.digest, policy.label, group.problem, group.horizon, repetition, key)

    def _key_of(self, policy: components.Configured[Policy]) -> dict[str, Any]:
        """Return the fields of a run's key that depend on its policy."""
        name, late = policy.component.name, (self.file.spec.batch, self.file.spec.delay) != (1, 0)
        defined = next((one.sha256 for one in self.plugins if one.defines("policy", name)), "")
        source = source_of(policy.component, defined, late=late)
        return {"policy": name, "params": policy.params._asdict(), "source": source}

    @functools.cached_property
    def _common_key(self) -> dict[str, Any]:
        """The fields of a run's key that are the same for all runs."""
        names = "seed", "checkpoints_per_decade", "batch", "delay"
        return {"labels": "random"} | {name: getattr(self.file.spec, name) for name in names}

    def about(self) -> dict[str, Any]:
        """Return everything that a stored plan contains besides the list of runs; JSON can represent all values."""
        file = self.file
        return {
            "name": file.spec.name,
            "spec": file.content,
            "spec_path": str(file.path.resolve()),
            "regrets": list(file.spec.regrets),
            "late": lateness_note(file.spec.batch, file.spec.delay),
            "problems": [problem.about(file.spec.regrets) for problem in self.problems],
            "policies": {policy.label: self._key_of(policy) for policy in self.policies},
            "key": self._common_key,
            "plugins": [plugin._asdict() for plugin in self.plugins],
        }

    def shard(self, shard: Shard | None) -> Iterator[PlannedRun]:
        """Yield the runs of a shard, or of the whole plan."""
        for run in self:
            if shard is None or run.number % shard.of == shard.number - 1:
                yield run

    def task(self, run: PlannedRun) -> Task:
        """Return the task of a run; the problem is written into the cache."""
        return Task(run.label, str(self.problems[run.problem].folder), dict(vars(run.key)), self.plugins)


def parse_shard(text: str) -> Shard:
    """Read ``i/n``.

    Raises `InputError` unless the text has this form with 1 <= i <= n.
    """
    index, _, count = text.partition("/")
    numbers = [one.strip() for one in (index, count)]
    if all(one.isdecimal() and len(one) < 10 for one in numbers) and 1 <= int(index) <= int(count):
        return Shard(int(index), int(count))
    raise InputError(f"--shard must be i/n with 1 <= i <= n, for example 1/8, not '{text}'")
