"""Compile policies before anybody waits for them, so that an installation, or an image of a container, is warm."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ltr_duel.bandits import POLICIES
from ltr_duel.core import parallel, progress
from ltr_duel.preferences import PreferenceMatrix
from ltr_duel.simulation.oracle import FromMatrix
from ltr_duel.simulation.run import checkpoints
from ltr_duel.simulation.run_result import RunKey
from ltr_duel.simulation.single_run import run_once


def warm_up(policies: Iterable[str] = (), *, jobs: int = -1) -> list[str]:
    """Compile the loops of policies against the coins of a matrix, one step at a time and, where they can, in sweeps.

    What is compiled is kept in the folder of `ltr_duel.core.cache_home`, until the package changes.

    policies: names; all policies of the package if there are none.
    jobs: processes, of some 400 MB each; -1 for all cores.

    Returns the names, in the order in which they were done.

    Raises `InputError` for an unknown policy, or an illegal number of jobs. Nothing was compiled then.
    """
    names = list(dict.fromkeys(POLICIES.configure(one).component.name for one in policies)) or list(POLICIES.names())
    workers = min(parallel.checked_jobs(jobs), len(names))
    done: list[str] = []
    with progress.progress_bar(total=len(names), desc="warm-up", unit="policy") as bar:
        for name in _in_processes(names, workers) if workers > 1 else map(_compile, names):
            done.append(name)
            bar.update()
    return done


def _in_processes(names: list[str], workers: int) -> Iterator[str]:
    import joblib  # loading it takes as long as loading what is compiled already

    # One compiles at a time in a process, so threads would not help. The first alone leaves what all policies share.
    yield _compile(names[0])
    yield from joblib.Parallel(workers, return_as="generator_unordered")(map(joblib.delayed(_compile), names[1:]))


def _compile(name: str) -> str:
    """Take one step."""
    given, matrix = POLICIES.configure(name), PreferenceMatrix(np.full((2, 2), 0.5))
    for in_sweeps in (False, True)[: 1 + (given.component.sweeps is not None)]:
        oracle = FromMatrix(matrix, in_sweeps=in_sweeps)
        key = RunKey(oracle.provenance, name, given.params._asdict(), horizon=1000, repetition=0, seed=0)
        run_once(given, key, oracle, checkpoints(1))
    return name
