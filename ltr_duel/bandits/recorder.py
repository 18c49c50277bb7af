"""What a run records: how often each arm was pulled (chosen) up to each checkpoint, and the choices of the first steps.

The choices of the first steps are called the *path*. Regret can be computed from the pulls. A run without checkpoints
stores no pulls, and a path may have the length 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ltr_duel.bandits.hooks import NEVER
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, kernel


class Span(NamedTuple):
    """The steps of a loop, from ``start`` to ``stop``. If ``jump`` is True, the loop may skip steps."""

    start: int
    stop: int
    jump: bool


class Recorder(NamedTuple):
    """The results of a run with C checkpoints and K arms. The loop fills all arrays except ``times`` and ``place``."""

    # Kernels that run in each step take single arrays, because passing the whole recorder takes too long.

    path: IntMatrix  # pairs: (steps, 2) first and second arm; slates: (steps, K) appearances of each arm in the slate
    times: IntVector  # (C,) the checkpoints, ascending
    place: IntVector  # (K,) position of each arm in an order of quality, 0 = best
    pulls: IntMatrix  # (C, K) comparisons of each arm up to the checkpoint; a self-duel counts twice
    exposure: FloatMatrix  # (C, K) impressions of each arm: 1/s for each step in a slate of s arms
    recommended: IntVector  # (C,) the policy's recommendation at the checkpoint
    best: IntMatrix  # (C, K) steps in which the arm was the best of its slate, in the order of ``place``
    worst: IntMatrix  # (C, K) steps in which the arm was the worst of its slate; a single arm is best and worst
    outcomes: IntVector  # (C,) number of outcomes: comparisons of two different arms
    pulls_now: IntVector  # (K,) like the next three fields, counted up to the current step
    best_now: IntVector  # (K,)
    worst_now: IntVector  # (K,) slates only; for pairs, worst is pulls minus best
    outcomes_now: IntVector  # (1,)
    alone: IntVector  # (K,) steps in which the arm was alone; slates only
    shared: FloatVector  # (K,) exposure from slates of several arms
    row: IntVector  # (1,) checkpoints passed
    due: IntVector  # (4,) the next checkpoint, and the error that ended the run (see `hooks.is_outside`)


def new_recorder(
    n_arms: int, times: ArrayLike = (), place: IntVector | None = None, *, path: tuple[int, int] = (0, 0)
) -> Recorder:
    """Make an empty recorder.

    times: the checkpoints, ascending.
    place: the rank of each arm, shape (K,); by default arm 0 is the best, arm 1 the second best, and so on.
    path: the shape of the stored path.
    """
    stops = np.array(times, np.int64)
    ranks = np.arange(n_arms) if place is None else np.array(place, np.int64)
    pulls, best, worst = np.zeros((3, stops.size, n_arms), np.int64)
    recommended, outcomes = np.zeros((2, stops.size), np.int64)
    pulls_now, best_now, worst_now, alone = np.zeros((4, n_arms), np.int64)
    kept = [np.zeros(path, np.int64), stops, ranks, pulls, np.zeros((stops.size, n_arms)), recommended]
    now = [pulls_now, best_now, worst_now, np.zeros(1, np.int64), alone, np.zeros(n_arms), np.zeros(1, np.int64)]
    arrays: list[Any] = [*kept, best, worst, outcomes, *now, np.array([stops[0] if stops.size else NEVER, 0, 0, 0])]
    return Recorder(*arrays)


@kernel
def keep_pair(path: IntMatrix, t: int, last: int, first: int, second: int) -> None:
    """Write the choice of the steps t to ``last`` into the path. Steps beyond the end of the path are left out."""
    for row in range(t - 1, min(last, path.shape[0])):
        path[row, 0] = first
        path[row, 1] = second


@kernel
def keep_slate(path: IntMatrix, t: int, last: int, slate: IntVector, size: int) -> None:
    """Write the slate that was shown in the steps t to ``last`` into the path."""
    for row in range(t - 1, min(last, path.shape[0])):
        for a in range(size):
            path[row, slate[a]] += 1


@kernel
def add_pair(pulls: IntVector, best: IntVector, place: IntVector, first: int, second: int, steps: int) -> None:
    """Count ``steps`` steps in which two arms, or one arm and itself, were compared."""
    pulls[first] += steps
    pulls[second] += steps
    best[first if place[first] <= place[second] else second] += steps


@kernel
def add_slate(recorder: Recorder, slate: IntVector, size: int, steps: int) -> None:
    """Count ``steps`` steps in which a slate was shown. A slate of several arms is counted for at most one step."""
    if steps == 0:
        return
    place, best, worst = recorder.place, slate[0], slate[0]
    for a in range(1, size):
        best = slate[a] if place[slate[a]] < place[best] else best
        worst = slate[a] if place[slate[a]] > place[worst] else worst
    recorder.best_now[best] += steps
    recorder.worst_now[worst] += steps
    if size == 1:
        recorder.pulls_now[slate[0]] += steps
        recorder.alone[slate[0]] += steps
        return
    for a in range(size):
        recorder.pulls_now[slate[a]] += steps
        recorder.shared[slate[a]] += 1.0 / size
    recorder.outcomes_now[0] += pairs_of(slate, size)


@kernel
def pairs_of(slate: IntVector, size: int) -> int:
    """Return the number of pairs of different arms in a slate. The slate may contain an arm several times."""
    last, count = 1, 0
    while last < size and slate[last] > slate[last - 1]:
        last += 1
    if last == size:
        return size * (size - 1) // 2
    for a in range(size):
        for b in range(a):
            count += 1 if slate[a] != slate[b] else 0
    return count


@kernel
def pass_checkpoint(recorder: Recorder, recommended: int, pairs: bool) -> None:
    """Fill the row of a checkpoint, and advance to the next checkpoint."""
    row, pulls, best = recorder.row[0], recorder.pulls_now, recorder.best_now
    recorder.recommended[row] = recommended
    recorder.outcomes[row] = recorder.outcomes_now[0]
    for k in range(pulls.shape[0]):
        recorder.pulls[row, k] = pulls[k]
        recorder.exposure[row, k] = pulls[k] / 2.0 if pairs else recorder.alone[k] + recorder.shared[k]
        recorder.best[row, k] = best[k]
        recorder.worst[row, k] = pulls[k] - best[k] if pairs else recorder.worst_now[k]
    recorder.row[0] = row + 1
    recorder.due[0] = recorder.times[row + 1] if row + 1 < recorder.times.shape[0] else NEVER
