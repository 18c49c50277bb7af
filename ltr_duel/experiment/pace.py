"""How many runs a worker takes at once: one, or as many short ones as take a moment together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from ltr_duel.experiment.plan import PlannedRun

_MOMENT = 0.05  # seconds: what a kill may cost each worker, and what one worker may have to do while others wait
_MOST = 64


class Pace:
    """Knows how long the runs of a policy on a problem take, from those that have been done.

    most: 1 for runs that must be handed over one by one.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._known: tuple[object, float] = (None, math.inf)  # of the group that was done last: seconds of a run

    def learn(self, run: PlannedRun, seconds: float) -> None:
        """Learn how long a run has taken."""
        group, known = self._known
        mine = _group(run)
        self._known = (mine, 0.9 * known + 0.1 * seconds if group == mine and known < math.inf else seconds)

    def together(self, runs: Iterable[PlannedRun]) -> Iterator[list[PlannedRun]]:
        """Yield runs that one worker should take: of one policy, problem and horizon, and in the order given."""
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
