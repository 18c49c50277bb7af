"""One task, in whatever process: a pure function from a task to the counts of its run, and their origin."""

from __future__ import annotations

import functools
import platform
import socket
import subprocess
import time
import traceback
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.bandits import POLICIES, PolicyError
from ltr_duel.core import IntVector, handed_over, host, machine, plugins, sources
from ltr_duel.experiment.counts import Counts, encode_run
from ltr_duel.experiment.plan import Plan, PlannedRun, Task
from ltr_duel.experiment.problem import open_problem
from ltr_duel.simulation import RunKey, RunResult, checkpoints, run_once

_LIBRARIES = ("ltr-duel", "numpy", "numba", "llvmlite", "scipy", "pandas", "pyarrow", "joblib")


class Outcome(NamedTuple):
    """What became of a task."""

    digest: str
    counts: Counts | None  # None if it failed
    seconds: float
    decisions: int
    error: str  # one line; nothing if it did not fail
    traceback: str
    environment: dict[str, Any]


def execute(task: Task) -> Outcome:
    """Run a task. An error of the policy is part of the outcome; one of the set-up, or of a compiler, is raised."""
    return PreparedRun(task).run()


class PreparedRun:
    """A task with all done that does not count as the run: plug-ins loaded, the problem opened."""

    def __init__(self, task: Task) -> None:
        for plugin in task.plugins:
            plugins.reload_plugin(plugins.Plugin(*plugin))
        self._problem, self._key = open_problem(task.problem), RunKey(**task.key)
        self._configured = POLICIES.configure(task.label)

    def compile(self) -> None:
        """Walk through no step at all: the loop is compiled then, and nothing has run.

        Raises `PolicyError` if the policy cannot be compiled. Any other error is left to the run, which reports it.
        """
        try:
            self._walk(np.zeros(1, np.int64))
        except PolicyError:
            raise
        except (Exception, SystemExit):
            return

    def run(self) -> Outcome:
        """Run it, and take the time."""
        began = time.perf_counter()
        try:
            result = self._walk(_times(self._key.horizon, self._key.checkpoints_per_decade))
        except PolicyError:
            raise  # it cannot be compiled: no run of this policy can succeed
        except (Exception, SystemExit) as error:  # a policy that calls sys.exit fails, and ends nothing
            first = str(error).strip().splitlines() or [""]
            line = f"{type(error).__name__}: {first[0]}".rstrip(": ")
            seconds = time.perf_counter() - began
            return Outcome(self._key.digest, None, seconds, 0, line, traceback.format_exc(), environment())
        seconds = time.perf_counter() - began
        return Outcome(self._key.digest, encode_run(result), seconds, result.decisions, "", "", environment())

    def _walk(self, times: IntVector) -> RunResult:
        return run_once(self._configured, self._key, self._problem.oracle, times, self._problem.place)


@functools.lru_cache(maxsize=8)
def _times(horizon: int, per_decade: int) -> IntVector:
    return handed_over(checkpoints(horizon, per_decade))


@functools.cache
def environment() -> dict[str, Any]:
    """Describe the process that runs this: program, libraries, sources, machine.

    Returns
    -------
    dict
        ``versions`` (of the libraries), ``python``, ``sources_sha256``, ``git`` (``commit`` and whether sources were
        ``edited`` since; None outside a checkout), ``processor``, ``system``, ``host``.

    Examples
    --------
    >>> sorted(environment())
    ['git', 'host', 'processor', 'python', 'sources_sha256', 'system', 'versions']
    """
    return {
        "versions": machine.versions_of(_LIBRARIES),
        "python": platform.python_version(),
        "sources_sha256": sources.sources_digest(),
        "git": _git_state(),
        "processor": host.processor(),
        "system": host.system(),
        "host": socket.gethostname(),
    }


def origin(plan: Plan, environment: dict[str, Any]) -> dict[str, Any]:
    """Say which experiment a run belongs to, and by which program and where it was done."""
    return {
        "experiment": plan.file.spec.name,
        "spec_sha256": plan.file.digest,
        "plugins": [plugin._asdict() for plugin in plan.plugins],
        "spec": plan.file.content,
        **environment,
    }


def failure(plan: Plan, run: PlannedRun, outcome: Outcome) -> dict[str, Any]:
    """Say how a run failed."""
    return {
        "run": run.digest,
        "policy": run.label,
        "problem": plan.problems[run.problem].name,
        "horizon": run.horizon,
        "repetition": run.repetition,
        "seed": plan.file.spec.seed,
        "experiment": plan.file.spec.name,
        "spec_sha256": plan.file.digest,
        "seconds": outcome.seconds,
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **outcome.environment,
        "error": outcome.error,
        "traceback": outcome.traceback,
    }


def _git_state() -> dict[str, Any] | None:
    try:
        commit, edited = _git("rev-parse", "HEAD"), _git("status", "--porcelain", "--", str(sources.ROOT))
        return {"commit": commit, "edited": bool(edited)}
    except (OSError, subprocess.SubprocessError):
        return None


def _git(*words: str) -> str:
    command = ["git", "-C", str(sources.ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
