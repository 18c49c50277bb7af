"""What is kept of a run: pulls at checkpoints (`Counts`), or every choice (`Path`).

The loop tells its recorder of each decision and of the steps it stands for. Which recorder that is, the compiler knows
from its type: what is not kept costs nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.bandits.policy import NEVER, recommend
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, dispatched, dispatched_call, implement, kernel


@dispatched_call
def note_pair(recorder: Any, state: Any, params: Any, t: int, last: int, first: int, second: int) -> None:
    """Note that ``first`` met ``second`` in the steps t..last; more than one step only if they are the same arm."""
    raise TypeError("not a registered recorder")


@dispatched
def note_slate(recorder: Any, state: Any, params: Any, t: int, last: int, slate: IntVector, size: int) -> None:
    """Note that ``slate[:size]`` met in the steps t..last; more than one step only for one arm alone."""
    raise TypeError("not a registered recorder")


class Path(NamedTuple):
    """Keeps the first choices, as many as there are rows."""

    path: IntMatrix  # pairs: (steps, 2) first and second arm; slates: (steps, K) how often each arm was in the slate


def _path_of_pairs(recorder: Path, state: Any, params: Any, t: int, last: int, first: int, second: int) -> None:
    for row in range(t - 1, min(last, recorder.path.shape[0])):
        recorder.path[row, 0] = first
        recorder.path[row, 1] = second


def _path_of_slates(recorder: Path, state: Any, params: Any, t: int, last: int, slate: IntVector, size: int) -> None:
    if t > recorder.path.shape[0]:
        return
    for row in range(t - 1, min(last, recorder.path.shape[0])):
        for a in range(size):
            recorder.path[row, slate[a]] += 1


class Totals(NamedTuple):
    """Counts of K arms until now."""

    pulls: IntVector  # (K,)
    best: IntVector  # (K,)
    worst: IntVector  # (K,) of slates only, for of a pair one arm is best and the other worst
    alone: IntVector  # (K,) steps an arm had to itself
    shared: FloatVector  # (K,) exposure from slates of several arms


class Counts(NamedTuple):
    """Keeps pulls at C checkpoints, from which every regret can be derived; K arms."""

    times: IntVector  # (C,) the checkpoints, ascending
    place: IntVector  # (K,) place of each arm in an order of quality, 0 = best
    pulls: IntMatrix  # (C, K) how often each arm was compared up to the checkpoint; a self-duel counts twice
    exposure: FloatMatrix  # (C, K) impressions each arm had: in a slate of s arms, 1/s each
    recommended: IntVector  # (C,) the policy's answer at the checkpoint
    best: IntMatrix  # (C, K) steps in which the arm was the best of its slate, in the order of ``place``
    worst: IntMatrix  # (C, K) steps in which it was the worst; an arm alone is both
    so_far: Totals
    row: IntVector  # (1,) checkpoints passed
    due: IntVector  # (1,) the next checkpoint


def new_counts(times: IntVector, n_arms: int, place: IntVector | None = None) -> Counts:
    """Make an empty recorder. Without ``place`` arm 0 counts as the best, arm 1 as the next, and so on."""
    square = (len(times), n_arms)
    pulls, best, worst = np.zeros((3, *square), np.int64)
    so_far = np.zeros((4, n_arms), np.int64)
    return Counts(
        times,
        np.arange(n_arms) if place is None else np.asarray(place, np.int64),
        pulls,
        np.zeros(square),
        np.zeros(len(times), np.int64),
        best,
        worst,
        Totals(so_far[0], so_far[1], so_far[2], so_far[3], np.zeros(n_arms)),
        np.zeros(1, np.int64),
        np.array(times[:1], np.int64),
    )


def _count_pair(recorder: Counts, state: Any, params: Any, t: int, last: int, first: int, second: int) -> None:
    so_far = recorder.so_far
    better = first if recorder.place[first] <= recorder.place[second] else second
    while recorder.due[0] <= last:
        steps = recorder.due[0] + 1 - t
        so_far.pulls[first] += steps
        so_far.pulls[second] += steps
        so_far.best[better] += steps
        pass_checkpoint(recorder, recommend(state, params), True)
        t += steps
    so_far.pulls[first] += last + 1 - t
    so_far.pulls[second] += last + 1 - t
    so_far.best[better] += last + 1 - t


def _count_slate(recorder: Counts, state: Any, params: Any, t: int, last: int, slate: IntVector, size: int) -> None:
    while recorder.due[0] <= last:
        steps = recorder.due[0] + 1 - t
        add_slate(recorder.so_far, recorder.place, slate, size, steps)
        pass_checkpoint(recorder, recommend(state, params), False)
        t += steps
    add_slate(recorder.so_far, recorder.place, slate, size, last + 1 - t)


@kernel
def pass_checkpoint(recorder: Counts, recommended: int, pairs: bool) -> None:
    """Fill the row of the checkpoint that is due, and go on to the next; after the last there is none."""
    row, times, so_far = recorder.row[0], recorder.times, recorder.so_far
    recorder.recommended[row] = recommended
    for k in range(so_far.pulls.shape[0]):
        recorder.pulls[row, k] = so_far.pulls[k]
        recorder.exposure[row, k] = so_far.pulls[k] / 2.0 if pairs else so_far.alone[k] + so_far.shared[k]
        recorder.best[row, k] = so_far.best[k]
        recorder.worst[row, k] = so_far.pulls[k] - so_far.best[k] if pairs else so_far.worst[k]
    recorder.row[0] += 1
    recorder.due[0] = times[row + 1] if row + 1 < times.shape[0] else NEVER


@kernel
def add_slate(so_far: Totals, place: IntVector, slate: IntVector, size: int, steps: int) -> None:
    """Count ``steps`` impressions of a slate. Only a slate of one arm is ever counted more than once."""
    if steps == 0:
        return
    best, worst = slate[0], slate[0]
    for a in range(1, size):
        best = slate[a] if place[slate[a]] < place[best] else best
        worst = slate[a] if place[slate[a]] > place[worst] else worst
    so_far.best[best] += steps
    so_far.worst[worst] += steps
    if size == 1:
        so_far.pulls[slate[0]] += steps
        so_far.alone[slate[0]] += steps
        return
    for a in range(size):
        so_far.pulls[slate[a]] += steps
        so_far.shared[slate[a]] += 1.0 / size


@kernel
def count_met(recorder: Counts, row: int, met: IntMatrix, recommended: int) -> None:
    """Fill the row of a checkpoint from the number of duels of each pair until then."""
    recorder.recommended[row] = recommended
    for first in range(met.shape[0]):
        for second in range(met.shape[0]):
            better = first if recorder.place[first] <= recorder.place[second] else second
            recorder.pulls[row, first] += met[first, second]
            recorder.pulls[row, second] += met[first, second]
            recorder.best[row, better] += met[first, second]
    for k in range(met.shape[0]):
        recorder.exposure[row, k] = recorder.pulls[row, k] / 2.0
        recorder.worst[row, k] = recorder.pulls[row, k] - recorder.best[row, k]


implement(note_pair, Path, _path_of_pairs)
implement(note_slate, Path, _path_of_slates)
implement(note_pair, Counts, _count_pair)
implement(note_slate, Counts, _count_slate)
