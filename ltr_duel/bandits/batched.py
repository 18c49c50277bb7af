"""The loop for outcomes that arrive late: in batches, with a delay, or both.

Before step t, the outcomes of the steps up to ``(t - 1 - delay) // batch * batch`` are available. With a batch of 1 and
no delay these are all outcomes, and the run equals the run of `ltr_duel.bandits.loop`, step by step.

A policy with ``any_order`` (`ltr_duel.bandits.policy.Policy`) only counts outcomes. It chooses arms for step after step
until outcomes arrive, and then receives all of them. Any other policy has one pending choice and receives only
outcomes of the chosen arms. The other steps of a batch are chosen by a copy of the state before the pending choice, so
all choices have the same distribution, and an outcome waits until the policy chooses the same arms. The policy thus
learns from independent outcomes of its own choices, and its path has the distribution of a path without batches, only
later: Joulani, György, Szepesvári. Online Learning under Delayed Feedback. ICML 2013, algorithm QPM-D.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ltr_duel.bandits.arms import wrong_pair, wrong_slate
from ltr_duel.bandits.oracle import duel, multiduel
from ltr_duel.bandits.policy import idle_until, recommend, select, select_slate, update, update_slate
from ltr_duel.bandits.recorder import (
    Recorder,
    add_pair,
    add_slate,
    keep_pair,
    keep_slate,
    pass_checkpoint,
)
from ltr_duel.bandits.state import Registers, registers
from ltr_duel.core import IntMatrix, IntVector, Streams, kernel, random_below, require_memory

BATCH_NUMBERS = 1  # numbers version of the choices of batches (`ltr_duel.core.numbering`)


class Lateness(NamedTuple):
    """``batch`` steps are chosen before any of their outcomes arrives, and outcomes arrive ``delay`` steps later."""

    batch: int  # 1 or more
    delay: int  # steps, 0 or more
    others: Generator  # the stream of choices that copies make, see `run_pairs_in_turn`


class Now:
    """The progress of outcomes, and the pending choice of a policy that learns in turn."""

    told: int  # steps whose outcomes have arrived
    last_real: int  # the last step in which different arms were compared
    clock: int  # the step of a policy that learns in turn
    asked: int  # 1: a choice is pending
    first: int  # the pending arms; for a set, its size
    second: int
    fresh: int  # 1: the pending arms have not been compared yet
    held: int  # outcomes that wait for the policy to choose their arms


class Late(NamedTuple):
    """A ring of steps whose outcomes are pending, and the outcomes that wait for a policy that learns in turn."""

    batch: int
    delay: int
    now: Registers[Now]
    first: IntVector  # (steps,) for a set: its size, 0 after its use
    second: IntVector  # (steps,)
    outcome: IntVector  # (steps,)
    slates: IntMatrix  # (steps, K), or no rows
    won: NDArray[np.int8]  # (steps, K, K), or no rows
    waiting: IntMatrix  # (2 K, K) numbers of waiting outcomes of each pair: K rows of losses, then K rows of wins
    asked: IntVector  # (K,) the pending set


class Copies(NamedTuple):
    """Buffers of states, as words."""

    state: NDArray[np.uint64]  # the policy's state
    before: NDArray[np.uint64]  # its state before the pending choice
    trial: NDArray[np.uint64]  # the copy that makes further choices


def new_late(n_arms: int, batch: int, delay: int, *, slates: bool, in_turn: bool) -> Late:
    """Return an empty ring. Raises `InputError` if there is not enough memory for it."""
    room = batch + delay
    require_memory(
        f"{room:,} comparisons whose outcomes are not known", 8 * room * (3 + slates * n_arms * (1 + n_arms / 8))
    )
    first, second, outcome = np.zeros((3, room), np.int64)
    sets = room if slates else 0
    pairs = n_arms if in_turn and not slates else 0
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
    """Return the last step of a jump from step t to ``last``; it stops at the step after which outcomes arrive."""
    now = late.now[0]
    if now.last_real <= now.told:
        return last
    return max(t, min(last, (now.told // late.batch + 1) * late.batch + late.delay - 1))


@kernel
def run_pairs_late(
    state: Any, params: Any, oracle: Any, streams: Streams, recorder: Recorder, start: int, stop: int, jump: bool,
    late: Late,
) -> int:  # fmt: skip
    """Let a policy with ``any_order`` compare pairs in the steps start..stop."""
    path, due, place = recorder.path, recorder.due, recorder.place
    pulls, best, outcomes = recorder.pulls_now, recorder.best_now, recorder.outcomes_now
    now, room = late.now[0], late.first.shape[0]
    decisions, t = 0, start
    while t <= stop:
        decisions += 1
        first, second = select(state, params, t, streams.policy)
        if wrong_pair(state, due, place.shape[0], t, first, second):
            return decisions
        last, outcome = t, 0
        if first != second:
            outcome = duel(oracle, first, second, streams)
            outcomes[0] += 1
            now.last_real = t
        elif jump:
            last = last_quiet(late, t, min(idle_until(state, params, t), stop))
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
    state: Any, params: Any, oracle: Any, streams: Streams, recorder: Recorder, start: int, stop: int, jump: bool,
    late: Late,
) -> int:  # fmt: skip
    """Let a policy with ``any_order`` compare sets in the steps start..stop."""
    now, room = late.now[0], late.first.shape[0]
    decisions, t = 0, start
    while t <= stop:
        decisions += 1
        here = (t - 1) % room
        slate, last = late.slates[here], t
        size = select_slate(state, params, t, slate, streams.policy)
        if wrong_slate(state, recorder.due, recorder.place.shape[0], t, slate, size):
            return decisions
        if size > 1:
            multiduel(oracle, slate, size, late.won[here], streams)
            now.last_real = t
        elif jump:
            last = last_quiet(late, t, min(idle_until(state, params, t), stop))
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


@kernel
def copy_words(to: NDArray[np.uint64], of: NDArray[np.uint64]) -> None:
    """Copy a buffer."""
    for word in range(of.shape[0]):
        to[word] = of[word]


@kernel
def run_pairs_in_turn(
    state: Any, params: Any, oracle: Any, streams: Streams, recorder: Recorder, start: int, stop: int, jump: bool,
    late: Late, trial: Any, copies: Copies, others: Generator,
) -> int:  # fmt: skip
    """Let a policy that learns in turn compare pairs. ``others``: the stream of choices that copies make."""
    path, due, place = recorder.path, recorder.due, recorder.place
    pulls, best, outcomes = recorder.pulls_now, recorder.best_now, recorder.outcomes_now
    now, room, n_arms = late.now[0], late.first.shape[0], late.waiting.shape[1]
    decisions, t = 0, start
    while t <= stop:
        decisions += 1
        if now.asked == 0:
            copy_words(copies.before, copies.state)
            now.first, now.second = select(state, params, now.clock, streams.policy)
            if wrong_pair(state, due, place.shape[0], t, now.first, now.second):
                return decisions
            now.asked, now.fresh = 1, 1
        first, second, last, outcome = now.first, now.second, t, 0
        if now.fresh == 0:
            copy_words(copies.trial, copies.before)
            first, second = select(trial, params, now.clock, others)
            if wrong_pair(state, due, place.shape[0], t, first, second):
                return decisions
        elif jump and first == second and now.last_real <= now.told:
            last = min(idle_until(state, params, now.clock) - now.clock, stop - t) + t
        now.fresh = 0
        if first != second:
            outcome = duel(oracle, first, second, streams)
            outcomes[0] += 1
            now.last_real = t
        if last > t:
            now.clock += last - t + 1
            now.told, now.asked = last, 0
        else:
            row = (t - 1) % room
            late.first[row], late.second[row], late.outcome[row] = first, second, outcome
        known = known_before(late, last + 1)
        while now.told < known:
            row = now.told % room
            late.waiting[late.first[row] + n_arms * (late.outcome[row] > 0), late.second[row]] += 1
            now.told += 1
            now.held += 1
        while now.held > 0:
            if now.asked == 0:
                copy_words(copies.before, copies.state)
                now.first, now.second = select(state, params, now.clock, streams.policy)
                if wrong_pair(state, due, place.shape[0], t, now.first, now.second):
                    return decisions
                now.asked, now.fresh = 1, 1
            asked, against = now.first, now.second
            lost, won = late.waiting[asked, against], late.waiting[asked + n_arms, against]
            if lost + won == 0:
                break
            wins = lost == 0 or (won > 0 and random_below(lost + won, others) < won)
            late.waiting[asked + n_arms * wins, against] -= 1
            now.held -= 1
            sign = 0 if asked == against else 2 * wins - 1
            update(state, params, now.clock, asked, against, sign, streams.policy)
            now.clock += 1
            now.asked = 0
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
def run_slates_in_turn(
    state: Any, params: Any, oracle: Any, streams: Streams, recorder: Recorder, start: int, stop: int, jump: bool,
    late: Late, trial: Any, copies: Copies, others: Generator,
) -> int:  # fmt: skip
    """Let a policy that learns in turn compare sets. An outcome waits at most batch + delay steps."""
    now, room = late.now[0], late.first.shape[0]
    decisions, t = 0, start
    while t <= stop:
        decisions += 1
        if now.asked == 0:
            copy_words(copies.before, copies.state)
            now.first = select_slate(state, params, now.clock, late.asked, streams.policy)
            if wrong_slate(state, recorder.due, recorder.place.shape[0], t, late.asked, now.first):
                return decisions
            now.asked, now.fresh = 1, 1
        here, last, size = (t - 1) % room, t, now.first
        slate = late.slates[here]
        now.held -= late.first[here] > 0
        late.first[here] = 0
        if now.fresh == 0:
            copy_words(copies.trial, copies.before)
            size = select_slate(trial, params, now.clock, slate, others)
            if wrong_slate(state, recorder.due, recorder.place.shape[0], t, slate, size):
                return decisions
        else:
            for a in range(size):
                slate[a] = late.asked[a]
            if jump and size == 1 and now.last_real <= now.told:
                last = min(idle_until(state, params, now.clock) - now.clock, stop - t) + t
        now.fresh = 0
        if size > 1:
            multiduel(oracle, slate, size, late.won[here], streams)
            now.last_real = t
        if last > t:
            now.clock += last - t + 1
            now.told, now.asked = last, 0
        else:
            late.first[here] = size
        known = known_before(late, last + 1)
        now.held += max(known - now.told, 0)
        now.told = max(known, now.told)
        while now.held > 0:
            if now.asked == 0:
                copy_words(copies.before, copies.state)
                now.first = select_slate(state, params, now.clock, late.asked, streams.policy)
                if wrong_slate(state, recorder.due, recorder.place.shape[0], t, late.asked, now.first):
                    return decisions
                now.asked, now.fresh = 1, 1
            row = same_slate(late, now.first, last, now.told)
            if row < 0:
                break
            update_slate(state, params, now.clock, late.slates[row], now.first, late.won[row], streams.policy)
            late.first[row] = 0
            now.held -= 1
            now.clock += 1
            now.asked = 0
        if t <= recorder.path.shape[0]:
            keep_slate(recorder.path, t, last, slate, size)
        while recorder.due[0] <= last:
            add_slate(recorder, slate, size, recorder.due[0] + 1 - t)
            t = recorder.due[0] + 1
            pass_checkpoint(recorder, recommend(state, params), False)
        add_slate(recorder, slate, size, last + 1 - t)
        t = last + 1
    return decisions


@kernel
def same_slate(late: Late, size: int, t: int, known: int) -> int:
    """Return the row of the earliest unused outcome of the pending set that has arrived, or -1."""
    room = late.first.shape[0]
    for back in range(room - 1, -1, -1):
        row = (t - 1 - back) % room
        if late.first[row] == size and t - back <= known:
            same = True
            for a in range(size):
                same = same and late.slates[row, a] == late.asked[a]
            if same:
                return row
    return -1
