"""The three loops: a policy compares pairs, or sets, of arms, or takes whole sweeps at once, until the horizon.

The loop owns time, the coin and the counting. It records pulls at checkpoints and nothing else; every regret is derived
from them afterwards. Where a policy knows that nothing can change for a while it jumps there, checkpoints included.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ltr_duel.bandits import idle_until, recommend, select, select_slate, sweep, update, update_slate
from ltr_duel.core import FloatMatrix, FloatVector, IntMatrix, IntVector, SignMatrix, Streams, kernel
from ltr_duel.simulation.oracle import duel, multiduel


class Record(NamedTuple):
    """What a run leaves behind; C checkpoints, K arms. The loop fills it; ``place`` is given."""

    pulls: IntMatrix  # (C, K) how often each arm was compared up to the checkpoint; a self-duel counts twice
    exposure: FloatMatrix  # (C, K) impressions each arm had: in a slate of s arms, 1/s each
    recommended: IntVector  # (C,) the policy's answer at the checkpoint
    decisions: IntVector  # (1,) steps in which the policy was asked; the rest of the horizon was jumped over
    best: IntMatrix  # (C, K) steps in which the arm was the best of its slate, in the order of ``place``
    worst: IntMatrix  # (C, K) steps in which it was the worst; an arm alone is both
    place: IntVector  # (K,) place of each arm in an order of quality, 0 = best
    so_far: IntVector  # (K,) scratch: pulls until now
    best_so_far: IntVector  # (K,) scratch
    worst_so_far: IntVector  # (K,) scratch; of slates only, for of a pair one arm is best and the other worst
    alone: IntVector  # (K,) scratch: steps an arm had to itself
    shared: FloatVector  # (K,) scratch: exposure from slates of several arms


def new_record(checkpoints: int, n_arms: int, place: IntVector | None = None) -> Record:
    """Make an empty record. Without ``place`` arm 0 counts as the best, arm 1 as the next, and so on."""
    square = (checkpoints, n_arms)
    return Record(
        np.zeros(square, np.int64),
        np.zeros(square),
        np.zeros(checkpoints, np.int64),
        np.zeros(1, np.int64),
        np.zeros(square, np.int64),
        np.zeros(square, np.int64),
        np.arange(n_arms) if place is None else np.asarray(place, np.int64),
        np.zeros(n_arms, np.int64),
        np.zeros(n_arms, np.int64),
        np.zeros(n_arms, np.int64),
        np.zeros(n_arms, np.int64),
        np.zeros(n_arms),
    )


@kernel
def run_duels(
    state: Any,
    params: Any,
    oracle: Any,
    streams: Streams,
    checkpoints: IntVector,
    jump: bool,
    record: Record,
) -> None:
    """Let a policy compare pairs until the last checkpoint."""
    horizon = checkpoints[-1]
    row, t = 0, 1
    while t <= horizon:
        record.decisions[0] += 1
        first, second = select(state, params, t, streams.policy)
        last, outcome = t, 0
        if first != second:
            outcome = duel(oracle, first, second, streams)
        elif jump:
            last = min(idle_until(state, params, t), horizon)
        update(state, params, t, first, second, outcome, streams.policy)
        better = first if record.place[first] <= record.place[second] else second
        while row < checkpoints.shape[0] and checkpoints[row] <= last:
            steps = checkpoints[row] - t + 1
            record.so_far[first] += steps
            record.so_far[second] += steps
            record.best_so_far[better] += steps
            record.recommended[row] = recommend(state, params)
            for k in range(record.so_far.shape[0]):
                record.pulls[row, k] = record.so_far[k]
                record.exposure[row, k] = record.so_far[k] / 2.0
                record.best[row, k] = record.best_so_far[k]
                record.worst[row, k] = record.so_far[k] - record.best_so_far[k]
            t += steps
            row += 1
        record.so_far[first] += last + 1 - t
        record.so_far[second] += last + 1 - t
        record.best_so_far[better] += last + 1 - t
        t = last + 1


@kernel
def run_slates(
    state: Any,
    params: Any,
    oracle: Any,
    streams: Streams,
    checkpoints: IntVector,
    jump: bool,
    record: Record,
    slate: IntVector,
    won: SignMatrix,
) -> None:
    """Let a policy compare sets of arms until the last checkpoint. ``slate`` (K,) and ``won`` (K, K) are scratch."""
    horizon = checkpoints[-1]
    row, t = 0, 1
    while t <= horizon:
        record.decisions[0] += 1
        size = select_slate(state, params, t, slate, streams.policy)
        last = t
        if size > 1:
            multiduel(oracle, slate, size, won, streams)
        elif jump:
            last = min(idle_until(state, params, t), horizon)
        update_slate(state, params, t, slate, size, won, streams.policy)
        while row < checkpoints.shape[0] and checkpoints[row] <= last:
            steps = checkpoints[row] - t + 1
            _count_slate(record, slate, size, steps)
            record.recommended[row] = recommend(state, params)
            for k in range(record.so_far.shape[0]):
                record.pulls[row, k] = record.so_far[k]
                record.exposure[row, k] = record.alone[k] + record.shared[k]
                record.best[row, k] = record.best_so_far[k]
                record.worst[row, k] = record.worst_so_far[k]
            t += steps
            row += 1
        _count_slate(record, slate, size, last + 1 - t)
        t = last + 1


@kernel
def run_sweeps(
    state: Any,
    params: Any,
    oracle: Any,
    streams: Streams,
    checkpoints: IntVector,
    record: Record,
    met: IntMatrix,
) -> None:
    """Let a policy walk from checkpoint to checkpoint. ``met`` (K, K) is scratch: duels of each pair until now."""
    t = 1
    for row in range(checkpoints.shape[0]):
        record.decisions[0] += sweep(state, params, oracle.p, t, checkpoints[row], met, streams.policy)
        t = checkpoints[row] + 1
        record.recommended[row] = recommend(state, params)
        for first in range(met.shape[0]):
            for second in range(met.shape[0]):
                better = first if record.place[first] <= record.place[second] else second
                record.pulls[row, first] += met[first, second]
                record.pulls[row, second] += met[first, second]
                record.best[row, better] += met[first, second]
        for k in range(met.shape[0]):
            record.exposure[row, k] = record.pulls[row, k] / 2.0
            record.worst[row, k] = record.pulls[row, k] - record.best[row, k]


@kernel
def _count_slate(record: Record, slate: IntVector, size: int, steps: int) -> None:
    """Count ``steps`` impressions of a slate. Only a slate of one arm is ever counted more than once."""
    if steps == 0:
        return
    best, worst = slate[0], slate[0]
    for a in range(1, size):
        best = slate[a] if record.place[slate[a]] < record.place[best] else best
        worst = slate[a] if record.place[slate[a]] > record.place[worst] else worst
    record.best_so_far[best] += steps
    record.worst_so_far[worst] += steps
    if size == 1:
        record.so_far[slate[0]] += steps
        record.alone[slate[0]] += steps
        return
    for a in range(size):
        record.so_far[slate[a]] += steps
        record.shared[slate[a]] += 1.0 / size
