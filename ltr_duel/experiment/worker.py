"""Execute one task, in any process. The counts depend only on the task; time and environment are recorded, too."""

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
    """The result of a task: counts or an error."""

    digest: str
    counts: Counts | None  # None if the run failed
    seconds: float
    decisions: int
    error: str  # one line; empty on success
    traceback: str
    environment: dict[str, Any]


def execute(task: Task) -> Outcome:
    """Run a task. Errors of the policy are part of the outcome; errors of the set-up or of the compiler are raised."""
    return PreparedRun(task).run()


class PreparedRun:
    """A task whose plug-ins are loaded and whose problem is open; the time that `run` measures excludes this set-up."""

    def __init__(self, task: Task) -> None:
        for plugin in task.plugins:
            plugins.reload_plugin(plugins.Plugin(*plugin))
        self._problem, self._key = open_problem(task.problem), RunKey(**task.key)
        self._configured = POLICIES.configure(task.label)

    def compile(self) -> None:
        """Compile the loop by running it for zero steps.

        Raises `PolicyError` if the policy cannot be compiled. Other errors are ignored, because `run` reports them.
        """
        try:
            self._walk(np.zeros(1, np.int64))
        except PolicyError:
            raise
        except (Exception, SystemExit):
            return

    def run(self) -> Outcome:
        """Run the task and measure its time."""
        began = time.perf_counter()
        try:
            result = self._walk(_times(self._key.horizon, self._key.checkpoints_per_decade))
        except PolicyError:
            raise  # the policy cannot be compiled, so none of its runs can succeed
        except (Exception, SystemExit) as error:  # sys.exit in a policy ends only its run
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
    """Describe the current process: program, libraries, sources, machine.

    Returns
    -------
    dict
        ``versions`` (of the libraries), ``python``, ``sources_sha256``, ``git`` (``commit``, and ``edited``: whether
        sources differ from the commit; None outside a checkout), ``processor``, ``system``, ``host``.

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
    """Return the origin of a run: its experiment, and the program and machine that executed the run."""
    return {
        "experiment": plan.file.spec.name,
        "spec_sha256": plan.file.digest,
        "plugins": [plugin._asdict() for plugin in plan.plugins],
        "spec": plan.file.content,
        **environment,
    }


def failure(plan: Plan, run: PlannedRun, outcome: Outcome) -> dict[str, Any]:
    """Return the record of a failed run."""
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
