"""List all runs of an experiment, in a fixed order."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from ltr_duel.bandits import POLICIES, Policy
from ltr_duel.core import InputError, components, schema
from ltr_duel.core import digest as core_digest
from ltr_duel.experiment.problem import Problem
from ltr_duel.experiment.problems import build_problems
from ltr_duel.experiment.spec import SpecFile, read_spec
from ltr_duel.experiment.store import Group, Study
from ltr_duel.experiment.worker import Task
from ltr_duel.simulation import RunKey, check_fits, lateness_note, source_of

_MOST_RUNS = 10**7
_BLOCK_RUNS, _BLOCK_STEPS = 64, 10**6  # largest block of runs that a process claims at once


class Shard(NamedTuple):
    """The runs for one of several machines: every ``parts``-th run of a schedule, from run ``number`` on."""

    number: int = 1
    parts: int = 1


class Block(NamedTuple):
    """Some runs that a process claims together. The name of a block is the same in all processes."""

    name: str
    group: Group
    repetitions: Sequence[int]


@dataclass(frozen=True, eq=False)
class Schedule:
    """All runs of an experiment, ordered by problem, horizon, policy and repetition."""

    file: SpecFile
    problems: Sequence[Problem]

    @functools.cached_property
    def study(self) -> Study:
        """The description of the experiment that is stored with the results."""
        spec, policies = self.file.spec, [POLICIES.configure(label) for label in self.file.spec.labels]
        key = {name: getattr(spec, name) for name in ("seed", "checkpoints_per_decade", "batch", "delay")}
        record = {
            "name": spec.name or self.file.path.stem,
            "spec": self.file.content,
            "spec_path": str(self.file.path.resolve()),
            "plugins": [plugin._asdict() for plugin in self.file.plugins],
            "regrets": list(spec.regrets),
            "late": lateness_note(spec.batch, spec.delay),
            "repetitions": spec.repetitions,
            "problems": [
                problem.record(spec.regrets)
                | {"sets": {policy.label: problem.comparison_of_sets(policy) for policy in policies}}
                for problem in self.problems
            ],
            "policies": {policy.label: self._policy_key(policy) for policy in policies},
            "key": key,
        }
        study, groups = Study("", record, []), list[Group]()
        for problem, horizon, label in product(range(len(self.problems)), spec.horizon, spec.labels):
            group = Group("", problem, label, horizon)
            groups.append(group._replace(digest=RunKey(**study.key(group), repetition=0).digest))
        digest = core_digest.digest_of([spec.repetitions, [group.digest for group in groups]])
        return Study(digest, record, groups)

    def __len__(self) -> int:
        return len(self.study.groups) * self.file.spec.repetitions

    def shard(self, shard: Shard | None) -> Iterator[tuple[Group, range]]:
        """Yield each group, and its repetitions that belong to a shard. If ``shard`` is None, yield all repetitions."""
        (number, parts), repetitions = shard or Shard(), self.file.spec.repetitions
        for position, group in enumerate(self.study.groups):
            yield group, range((number - 1 - position * repetitions) % parts, repetitions, parts)

    def blocks(self, shard: Shard | None) -> Iterator[Block]:
        """Divide the runs of a shard into blocks. A block has many short runs, or a single long run."""
        for group, repetitions in self.shard(shard):
            size = max(1, min(_BLOCK_RUNS, _BLOCK_STEPS // group.horizon))
            for start in range(0, len(repetitions), size):
                part = repetitions[start : start + size]
                yield Block(f"{group.digest}-{part[0]}", group, part)

    def task(self, group: Group, repetitions: Sequence[int]) -> Task:
        """Return a task that executes repetitions of a group. The problem of the group is written into the cache."""
        folder = str(self.problems[group.problem].folder)
        return Task(group.label, folder, self.study.key(group), tuple(repetitions), self.file.plugins)

    def _policy_key(self, policy: components.Configured[Policy]) -> dict[str, Any]:
        name, late = policy.component.name, (self.file.spec.batch, self.file.spec.delay) != (1, 0)
        plugin = next((plugin.sha256 for plugin in self.file.plugins if ("policy", name) in plugin.components), "")
        source = source_of(policy.component, plugin, late=late)
        return {"policy": name, "params": policy.params._asdict(), "source": source}


def make_schedule(
    spec: str | Path | SpecFile, *, plugins: Sequence[str | Path] = (), jobs: int = -1, estimate: bool = True
) -> Schedule:
    r"""Read an experiment, build its problems, and list its runs.

    Parameters
    ----------
    spec : str, Path or SpecFile
        The TOML file, or the result of `read_spec`.
    plugins : sequence of path
        More Python files with plug-ins, in addition to the files that the TOML file names.
    jobs : int
        The number of threads that estimate matrices; -1, the default, means one for each core.
    estimate : bool
        Whether to estimate preference matrices that are missing; by default True. If False, you can count the runs of
        the schedule, but not execute them.

    Returns
    -------
    Schedule
        The list of runs. ``len(schedule)`` is the number of runs. ``schedule.problems`` is a list; each problem has a
        ``name`` and a preference matrix (``matrix``).

    Raises
    ------
    InputError
        If a value is invalid, a file does not exist, or there are more than 10^7 runs.

    Examples
    --------
    >>> from ltr_duel.experiment import make_schedule, read_spec
    >>> file = read_spec("one.toml", "policies = 'rucb'\nutilities = [{ set = '1good5poor' }]")
    >>> schedule = make_schedule(file)
    >>> len(schedule), schedule.problems[0].name
    (20, '1good5poor')
    """
    file = spec if isinstance(spec, SpecFile) else read_spec(spec, plugins=plugins)
    _check_size(file, 1)  # before the problems are built
    schedule = Schedule(file, build_problems(file, jobs=jobs, estimate=estimate))
    _check_size(file, len(schedule.problems))
    for problem, label in product(schedule.problems, file.spec.labels):
        with schema.located(f"{file.path}: problem '{problem.name}'"):
            check_fits(POLICIES.configure(label), problem.oracle)
    return schedule


def _check_size(file: SpecFile, problems: int) -> None:
    runs = problems * len(file.spec.horizon) * len(file.spec.labels) * file.spec.repetitions
    if runs > _MOST_RUNS:
        raise InputError(f"{file.path}: {runs:,} runs; an experiment has at most {_MOST_RUNS:,}: split it into several")
