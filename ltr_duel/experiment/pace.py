"""Choose the number of runs passed to a worker at once: as many as take 0.05 s together, but at least one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ltr_duel.experiment.plan import PlannedRun

# Seconds of work passed to a worker at once. If more were passed, a killed worker would lose more work, and at the end
# of an experiment, idle workers would wait longer for the last worker.
_MOMENT = 0.05
_MOST = 64


class Pace:
    """Estimates the time of a run from finished runs of the same policy on the same problem.

    most: the largest number of runs passed at once.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._known: tuple[object, float] = (None, math.inf)  # the group of the last finished run, and seconds per run

    def learn(self, run: PlannedRun, seconds: float) -> None:
        """Update the estimate with the time of a finished run."""
        group, known = self._known
        mine = _group(run)
        self._known = (mine, 0.9 * known + 0.1 * seconds if group == mine and known < math.inf else seconds)

    def together(self, runs: Iterable[PlannedRun]) -> Iterator[list[PlannedRun]]:
        """Yield lists of runs, each for one worker: runs of one policy, problem and horizon, in the given order."""
        taken: list[PlannedRun] = []
        for run in runs:
            if taken and (_group(run) != _group(taken[0]) or len(taken) >= self._size(taken[0])):
                yield taken
                taken = []
            taken.append(run)
        if taken:
            yield taken

    def _size(self, run: PlannedRun) -> int:
        group, seconds = self._known
        return max(1, min(self._most, int(_MOMENT / max(seconds, 1e-6)))) if group == _group(run) else 1


def _group(run: PlannedRun) -> tuple[str, int, int]:
    return run.label, run.problem, run.horizon
