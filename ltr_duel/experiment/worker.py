"""Execute the runs of a task in any process. The results depend only on the task."""

from __future__ import annotations

import functools
import platform
import socket
import time
import traceback
from typing import Any, NamedTuple

from ltr_duel.bandits import POLICIES, PolicyError
from ltr_duel.core import IntVector, handed_over, host, kernel_cache, plugins
from ltr_duel.experiment.counts import Counts, encode_run
from ltr_duel.experiment.problem import open_problem
from ltr_duel.simulation import RunKey, checkpoints, run_once

_LIBRARIES = ("ltr-duel", "numpy", "numba", "llvmlite", "scipy", "pandas", "pyarrow", "joblib")


class Task(NamedTuple):
    """Some runs of a group, described by plain values that can be sent to another process."""

    label: str
    problem: str  # folder of the problem in the cache
    key: dict[str, Any]  # the fields of `RunKey` except the repetition
    repetitions: tuple[int, ...]
    plugins: tuple[plugins.Plugin, ...]


class Outcome(NamedTuple):
    """The result of a run: counts, or an error."""

    repetition: int
    counts: Counts | None  # None if the run failed
    seconds: float
    error: str | None = None  # one line; None if the run succeeded
    traceback: str | None = None


def execute(task: Task) -> tuple[list[Outcome], dict[str, Any]]:
    """Execute the runs of a task; return their outcomes and the `environment`. Raise an error if no run can start."""
    for plugin in task.plugins:
        plugins.reload_plugin(plugins.Plugin(*plugin))
    return [_execute(task, repetition) for repetition in task.repetitions], environment()


def _execute(task: Task, repetition: int) -> Outcome:
    key, (oracle, arm_ranks) = RunKey(**task.key, repetition=repetition), open_problem(task.problem)
    times, configured = _times(key.horizon, key.checkpoints_per_decade), POLICIES.configure(task.label)
    began = time.perf_counter()
    try:
        result = run_once(configured, key, oracle, times, arm_ranks)
    except PolicyError:
        raise  # the policy cannot be compiled, so none of its runs can succeed
    except (Exception, SystemExit) as error:  # sys.exit in a policy ends only this run
        seconds = time.perf_counter() - began
        line = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}".rstrip(": ")
        return Outcome(repetition, None, seconds, line, traceback.format_exc())
    return Outcome(repetition, encode_run(result), time.perf_counter() - began)


@functools.lru_cache(maxsize=8)
def _times(horizon: int, per_decade: int) -> IntVector:
    return handed_over(checkpoints(horizon, per_decade))


@functools.cache
def environment() -> dict[str, Any]:
    """Describe what makes the results: versions of libraries, the sources of this package, and the machine."""
    return {
        "versions": host.versions_of(_LIBRARIES),
        "python": platform.python_version(),
        "sources_sha256": kernel_cache.sources_digest(),
        "processor": host.processor(),
        "system": host.system(),
        "host": socket.gethostname(),
    }
