"""The loop for late outcomes: outcomes in batches, with a delay, or both.

Before step t the outcomes of the steps up to ``(t - 1 - delay) // batch * batch`` are known. With a batch of 1 and no
delay, all earlier outcomes are known, and the run equals the run of `ltr_duel.bandits.loop`, step by step.

A policy with ``any_order`` (`ltr_duel.bandits.policy.Policy`) only counts outcomes. The loop calls its ``select`` in
each step without an ``update`` until outcomes arrive, and then calls ``update`` for all of them. Other policies learn
*in turn*: they use one outcome at a time, see `ltr_duel.bandits.in_turn`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ltr_duel.bandits.hooks import (
    idle_until,
    recommend,
    select,
    select_slate,
    update,
    update_slate,
    wrong_pair,
    wrong_slate,
)
from ltr_duel.bandits.oracle import duel, multiduel
from ltr_duel.bandits.recorder import (
    Recorder,
    Span,
    add_pair,
    add_slate,
    keep_pair,
    keep_slate,
    pass_checkpoint,
)
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.core import IntMatrix, IntVector, Streams, host, kernel

BATCH_NUMBERS = 1  # version of the results of batches, see `ltr_duel.core.numbering`


class Lateness(NamedTuple):
    """Outcomes arrive in batches of ``batch`` steps, ``delay`` steps after the last step of the batch."""

    batch: int  # 1 or more
    delay: int  # steps, 0 or more
    others: Generator  # the stream for further choices while one choice is pending, see `in_turn`


class Now:
    """Counts of outcomes, and, for a policy that learns in turn, its pending choice: a choice without an outcome."""

    told: int  # number of steps whose outcomes have arrived
    last_real: int  # the last step in which different arms were compared
    clock: int  # the step number that is passed to a policy that learns in turn
    asked: int  # 1 if a choice is pending
    first: int  # first arm of the pending choice; for sets the size of the pending set
    second: int
    fresh: int  # 1 if the pending arms have not been compared yet
    held: int  # number of arrived outcomes that the policy has not used yet


class Late(NamedTuple):
    """A ring buffer of steps whose outcomes have not arrived, and of arrived outcomes that the policy has not used."""

    batch: int
    delay: int
    now: Registers[Now]
    first: IntVector  # (steps,) first arm, or size of the set; in turn, this size becomes 0 when the outcomes are used
    second: IntVector  # (steps,)
    outcome: IntVector  # (steps,)
    slates: IntMatrix  # (steps, K) the sets; no rows for a policy of pairs
    won: NDArray[np.int8]  # (steps, K, K) outcomes of the sets; no rows for a policy of pairs
    waiting: IntMatrix  # (2 K, K) number of unused outcomes of each pair: K rows of losses, then K rows of wins
    asked: IntVector  # (K,) the pending set


def new_late(n_arms: int, batch: int, delay: int, *, slates: bool, in_turn: bool) -> Late:
    """Return an empty ring. Raises `InputError` if there is not enough memory for the ring."""
    room = batch + delay
    sets = room if slates else 0
    pairs = n_arms if in_turn and not slates else 0
    host.require_memory(
        f"{room:,} comparisons whose outcomes are not known",
        8 * (3 * room + sets * n_arms * (1 + n_arms / 8) + 2 * pairs**2),
    )
    first, second, outcome = np.zeros((3, room), np.int64)
    return Late(
        batch,
        delay,
        registers(Now, clock=1),
        first,
        second,
        outcome,
        np.zeros((sets, n_arms), np.int64),
        np.zeros((sets, n_arms, n_arms), np.int8),
        np.zeros((2 * pairs, pairs), np.int64),
        np.zeros(n_arms, np.int64),
    )


@kernel
def known_before(late: Late, t: int) -> int:
    """Return the number of steps whose outcomes are available before step t."""
    return max(t - 1 - late.delay, 0) // late.batch * late.batch


@kernel
def last_quiet(late: Late, t: int, last: int) -> int:
    """Return the last step of a jump from step t: ``last`` or, if earlier, the last step before outcomes arrive."""
    now = late.now[0]
    if now.last_real <= now.told:
        return last
    return max(t, min(last, (now.told // late.batch + 1) * late.batch + late.delay - 1))


@kernel
def run_pairs_late(
    state: Any, params: Any, oracle: Any, streams: Streams, recorder: Recorder, span: Span, late: Late
) -> int:
    """Run an ``any_order`` policy of pairs for the steps of ``span``; return the number of decisions."""
    path, due, place = recorder.path, recorder.due, recorder.place
    pulls, best, outcomes = recorder.pulls_now, recorder.best_now, recorder.outcomes_now
    now, room = late.now[0], late.first.shape[0]
    decisions, t = 0, span.start
    while t <= span.stop:
        decisions += 1
        first, second = select(state, params, t, streams.policy)
        if wrong_pair(state, due, place.shape[0], t, first, second):
            return decisions
        last, outcome = t, 0
        if first != second:
            outcome = duel(oracle, first, second, streams)
            outcomes[0] += 1
            now.last_real = t
        elif span.jump:
            last = last_quiet(late, t, min(idle_until(state, params, t), span.stop))
        if last > t and now.last_real <= now.told:
            now.told = last
        else:
            for step in range(t, last + 1):
                row = (step - 1) % room
                late.first[row], late.second[row], late.outcome[row] = first, second, outcome
        known = known_before(late, last + 1)
        while now.told < known:
            row = now.told % room
            now.told += 1
            update(state, params, now.told, late.first[row], late.second[row], late.outcome[row], streams.policy)
        if t <= path.shape[0]:
            keep_pair(path, t, last, first, second)
        while due[0] <= last:
            add_pair(pulls, best, place, first, second, due[0] + 1 - t)
            t = due[0] + 1
            pass_checkpoint(recorder, recommend(state, params), True)
        add_pair(pulls, best, place, first, second, last + 1 - t)
        t = last + 1
    return decisions


@kernel
def run_slates_late(
    state: Any, params: Any, oracle: Any, streams: Streams, recorder: Recorder, span: Span, late: Late
) -> int:
    """Run an ``any_order`` policy of sets for the steps of ``span``; return the number of decisions."""
    now, room = late.now[0], late.first.shape[0]
    decisions, t = 0, span.start
    while t <= span.stop:
        decisions += 1
        here = (t - 1) % room
        slate, last = late.slates[here], t
        size = select_slate(state, params, t, slate, streams.policy)
        if wrong_slate(state, recorder.due, recorder.place.shape[0], t, slate, size):
            return decisions
        if size > 1:
            multiduel(oracle, slate, size, late.won[here], streams)
            now.last_real = t
        elif span.jump:
            last = last_quiet(late, t, min(idle_until(state, params, t), span.stop))
        if last > t and now.last_real <= now.told:
            now.told = last
        else:
            for step in range(t, last + 1):
                row = (step - 1) % room
                late.first[row] = size
                late.slates[row, 0] = slate[0]
        known = known_before(late, last + 1)
        while now.told < known:
            row = now.told % room
            now.told += 1
            update_slate(state, params, now.told, late.slates[row], late.first[row], late.won[row], streams.policy)
        if t <= recorder.path.shape[0]:
            keep_slate(recorder.path, t, last, slate, size)
        while recorder.due[0] <= last:
            add_slate(recorder, slate, size, recorder.due[0] + 1 - t)
            t = recorder.due[0] + 1
            pass_checkpoint(recorder, recommend(state, params), False)
        add_slate(recorder, slate, size, last + 1 - t)
        t = last + 1
    return decisions
