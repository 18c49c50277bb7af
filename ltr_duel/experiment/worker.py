"""One task, in whatever process it is: a pure function from a task to the bytes of its result."""

from __future__ import annotations

import functools
import time
import traceback
from typing import Any, NamedTuple

import numpy as np

from ltr_duel.bandits import POLICIES, PolicyError
from ltr_duel.core import Plugin, reload_plugin
from ltr_duel.experiment.environment import environment
from ltr_duel.experiment.plan import Task
from ltr_duel.experiment.problem import open_problem
from ltr_duel.experiment.run_file import encode_run
from ltr_duel.simulation import RunKey, checkpoints, run_once


class Outcome(NamedTuple):
    """What became of a task."""

    digest: str
    data: bytes  # the run's file; nothing if it failed
    seconds: float
    decisions: int
    error: str  # one line; nothing if it did not fail
    traceback: str
    environment: dict[str, Any]


def execute(task: Task) -> Outcome:
    """Run a task. An error of the policy is part of the outcome; one of the set-up, or of a compiler, is raised."""
    prepared = prepare(task)
    return prepared()


def prepare(task: Task) -> functools.partial[Outcome]:
    """Do all that does not count as the run: load plugins, open the problem, compile; return the run itself."""
    for plugin in task.plugins:
        reload_plugin(Plugin(*plugin))
    problem, configured, key = open_problem(task.problem), POLICIES.configure(task.label), RunKey(**task.key)
    warm = functools.partial(run_once, configured, key, problem.oracle, place=problem.place)
    return functools.partial(_timed, key, warm)


def compile_only(prepared: functools.partial[Outcome]) -> None:
    """Walk through no step at all: the loop is compiled then, and nothing has run.

    Raises
    ------
    PolicyError
        If the policy cannot be compiled. Any other error is left to the run, which reports it.
    """
    try:
        prepared.args[1](times=np.zeros(1, np.int64))
    except Exception as error:
        if isinstance(error, PolicyError):
            raise


def _timed(key: RunKey, run: Any) -> Outcome:
    began = time.perf_counter()
    try:
        result = run(times=checkpoints(key.horizon, key.checkpoints_per_decade))
    except PolicyError:
        raise  # it cannot be compiled: no run of this policy can succeed
    except Exception as error:
        first = str(error).strip().splitlines() or [""]
        line = f"{type(error).__name__}: {first[0]}".rstrip(": ")
        seconds = time.perf_counter() - began
        return Outcome(key.digest, b"", seconds, 0, line, traceback.format_exc(), environment())
    seconds = time.perf_counter() - began
    return Outcome(key.digest, encode_run(result), seconds, result.decisions, "", "", environment())
