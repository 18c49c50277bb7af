"""Run one policy once. The same `RunKey` always gives the same result."""

from __future__ import annotations

import numpy as np

from ltr_duel.bandits import Lateness, Policy, Recorder, Run, new_recorder, random_order, relabelled, suited
from ltr_duel.core import IntVector, Streams, components, handed_over, stream
from ltr_duel.simulation.oracle import OracleSource
from ltr_duel.simulation.run_result import RunKey, RunResult


def as_run(configured: components.Configured[Policy], oracle: OracleSource) -> components.Configured[Policy]:
    """Return the policy that runs: a policy for pairs may have a replacement for sets, as ``auto`` has."""
    return suited(configured, to_sets=not oracle.refuses_sets and len(oracle.names) > 2)


def run_once(
    configured: components.Configured[Policy],
    key: RunKey,
    oracle: OracleSource,
    times: IntVector,
    ranks: IntVector,
    *,
    compiled: bool = True,
) -> RunResult:
    """Run a policy once. If the source can compare sets, a policy for pairs is replaced by its version for sets."""
    horizon = int(times[-1])
    changes = [step for step in oracle.changes if step < horizon]
    times = np.union1d(times, changes) if changes else times
    run, counts, order = open_run(configured, key, oracle, times, ranks, compiled=compiled)
    back = np.argsort(order)
    for stage, step in enumerate([*changes, horizon]):
        if oracle.changes:
            counts.place[:] = oracle.enter(stage, run.oracle.oracle)[order]
        run.advance(step)
    return RunResult(
        key,
        configured.label,
        times,
        handed_over(counts.pulls.take(back, 1)),
        handed_over(counts.exposure.take(back, 1)),
        handed_over(order[counts.recommended]),
        run.decisions,
        handed_over(counts.best.take(back, 1)),
        handed_over(counts.worst.take(back, 1)),
        counts.outcomes,
    )


def open_run(
    configured: components.Configured[Policy],
    key: RunKey,
    oracle: OracleSource,
    times: IntVector,
    ranks: IntVector,
    *,
    compiled: bool = True,
) -> tuple[Run, Recorder, IntVector]:
    """Return a run before its first step, the recorder of its counts, and the order of the arms (see `run_order`)."""
    _, policy, params = as_run(configured, oracle)
    size, late = len(oracle.names), None
    if (key.batch, key.delay) != (1, 0):
        late = Lateness(key.batch, key.delay, stream(key.seed, key.repetition, "batches", key.configuration))
    order = run_order(key, size)
    counts = new_recorder(size, times, ranks[order])
    run = Run(
        policy, params, size, relabelled(oracle.open(), order), run_streams(key), counts,
        horizon=key.horizon, compiled=oracle.compiled, plain=not compiled, late=late,
    )  # fmt: skip
    return run, counts, order


def run_streams(key: RunKey) -> Streams:
    """Return the random streams of a run. In one repetition, all policies share all streams except ``policy``."""
    own = {"policy": stream(key.seed, key.repetition, "policy", key.configuration)}
    return Streams(**own, **{name: stream(key.seed, key.repetition, name) for name in Streams._fields[1:]})


def run_order(key: RunKey, size: int) -> IntVector:
    """Return the random order in which a run numbers the arms. In one repetition, it is the same for all policies.

    The arm that the policy calls k is arm ``order[k]`` of the source.
    """
    return random_order(size, stream(key.seed, key.repetition, "labels"))
