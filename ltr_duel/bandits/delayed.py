"""The simulation loop for outcomes that arrive late: in batches, after a delay, or both.

For example, with batches of 10 steps and a delay of 5 steps, the outcomes of steps 1 to 10 arrive after step 15. The
policy can use them in step 16.

Some policies can choose arms although earlier outcomes are missing. Their property ``any_order`` is True (see
`ltr_duel.bandits.policy.Policy`). The loop lets such a policy choose in each step, and updates it with each outcome
that arrives.

Every other policy learns *in turn*: it must know the outcome of its last choice before it can choose again. Until then,
this choice is *pending*. While a choice is pending, a copy of the policy's state, called the *shadow*, chooses the arms
of each step. The shadow starts from the state before the pending choice, and draws other random numbers. Outcomes that
arrive are stored in a queue. When the policy chooses a pair, it takes an outcome of this pair from the queue. The
choices of the policy therefore have the same distribution as without a delay.

The method is algorithm QPM-D of Joulani, György, Szepesvári. Online Learning under Delayed Feedback. ICML 2013.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ltr_duel.bandits.hooks import idle_until, is_outside_in, recommend, select_slate, update_slate
from ltr_duel.bandits.oracle import multiduel
from ltr_duel.bandits.policy import Policy, PolicyError
from ltr_duel.bandits.recorder import Recorder, Span, add_pair, add_slate, keep_pair, keep_slate, pass_checkpoint
from ltr_duel.bandits.state import Attributes, Copies, Registers, registers, with_copies
from ltr_duel.core import IntMatrix, IntVector, Streams, dispatched, host, implement, inlined, kernel, random_below

BATCH_NUMBERS = 1  # version of the results of batches, see `ltr_duel.core.digest`


class Lateness(NamedTuple):
    """When outcomes arrive: in batches of ``batch`` steps, and ``delay`` steps after the last step of a batch."""

    batch: int  # 1 or more
    delay: int  # steps, 0 or more
    others: Generator  # the stream for the choices of a shadow


class Now:
    """The counters of a run with late outcomes."""

    arrived: int  # number of steps whose outcomes have arrived
    last_duel: int  # the last step in which different arms were compared
    clock: int  # the step number that the policy receives; if it learns in turn, its number of updates plus 1
    pending: int  # number of arms of the pending choice, 0 if no choice is pending
    fresh: int  # 1 if the pending choice has not been compared yet
    queued: int  # number of arrived outcomes that the policy has not used yet


class Late(NamedTuple):
    """Stores outcomes that have not arrived yet, and outcomes that wait in the queue."""

    batch: int
    delay: int
    pairs: bool  # whether the policy compares pairs
    any_order: bool
    now: Registers[Now]
    slates: IntMatrix  # (steps, width) row (t - 1) % steps: the arms of step t; width is 2 for pairs, K for sets
    sizes: IntVector  # (steps,) the number of arms of each step
    won: NDArray[np.int8]  # (steps + 1, width, width) the outcomes; the last row is scratch
    queue: IntMatrix  # (2 K, K) the number of queued outcomes of each pair: K rows of losses, then K rows of wins
    pending: IntVector  # (width,) the pending choice
    others: Generator


def new_late(
    policy: Policy, state: Any, n_arms: int, lateness: Lateness, rng: Generator
) -> tuple[Any, tuple[Late, Copies]]:
    """Return the policy's state, and the memory that `run_late` needs."""
    batch, delay, others = lateness
    room, pairs, any_order = batch + delay, policy.feedback == "duel", policy.any_order
    if not (pairs or any_order):
        raise PolicyError(f"policy '{policy.name}' compares sets, and needs any_order=True for late outcomes")
    width, queued = 2 if pairs else n_arms, n_arms if pairs and not any_order else 0
    size = room * (8 + width * (8 + width)) + 16 * queued**2
    host.require_memory(f"{room:,} comparisons whose outcomes are not known", size)
    state, copies = with_copies(state, rng, others, in_turn=not any_order)
    slates, won = np.zeros((room, width), np.int64), np.zeros((room + 1, width, width), np.int8)
    queue, pending = np.zeros((2 * queued, queued), np.int64), np.zeros(width, np.int64)
    ring = registers(Now, clock=1), slates, np.zeros(room, np.int64), won, queue, pending
    return state, (Late(batch, delay, pairs, any_order, *ring, others), copies)


@kernel
def run_late(
    state: Any, params: Any, oracle: Any, streams: Streams, recorder: Recorder, span: Span, late: Late, copies: Copies
) -> int:
    """Run a policy for the steps of ``span``. Return the number of steps that were not skipped."""
    now, room, n_arms = late.now[0], late.sizes.shape[0], recorder.place.shape[0]
    decisions, t = 0, span.start
    while t <= span.stop:
        decisions += 1
        if ask(state, params, streams.policy, recorder, t, late, copies):
            return decisions
        row, last, size = (t - 1) % room, t, now.pending
        slate = late.slates[row]
        if now.fresh == 1:
            for a in range(size):
                slate[a] = late.pending[a]
            if span.jump and size == 1 and now.last_duel <= now.arrived:
                last = t + min(idle_until(state, params, now.clock) - now.clock, span.stop - t)
        else:
            copy_words(copies.shadow_words, copies.before)
            size = select_slate(copies.shadow, params, now.clock, slate, late.others)
            if is_outside_in(recorder.due, n_arms, t, slate, size):
                return decisions
        now.fresh = 0
        if size > 1:
            multiduel(oracle, slate, size, late.won[row], streams)
            now.last_duel = t
        late.sizes[row] = size
        if last > t:
            now.arrived = last  # steps that are skipped have no outcomes
        if last > t or late.any_order:
            now.clock += last - t + 1
            now.pending = 0
        arrived = max(last - late.delay, 0) // late.batch * late.batch
        while now.arrived < arrived:
            row = now.arrived % room
            now.arrived += 1
            if late.any_order:
                update_slate(
                    state, params, now.arrived, late.slates[row], late.sizes[row], late.won[row], streams.policy
                )
            else:
                queue_outcome(late, row)
        while now.queued > 0:
            if ask(state, params, streams.policy, recorder, t, late, copies):
                return decisions
            row = pop_pair(late)
            if row < 0:
                break
            update_slate(state, params, now.clock, late.pending, now.pending, late.won[row], streams.policy)
            now.queued -= 1
            now.clock += 1
            now.pending = 0
        if late.pairs:
            keep_pair(recorder.path, t, last, slate[0], slate[size - 1])
        else:
            keep_slate(recorder.path, t, last, slate, size)
        while recorder.due[0] <= last:
            add_choice(recorder, slate, size, recorder.due[0] + 1 - t, late.pairs)
            t = recorder.due[0] + 1
            pass_checkpoint(recorder, recommend(state, params), late.pairs)
        add_choice(recorder, slate, size, last + 1 - t, late.pairs)
        t = last + 1
    return decisions


@kernel
def add_choice(recorder: Recorder, slate: IntVector, size: int, steps: int, pairs: bool) -> None:
    """Record that the same arms were chosen in ``steps`` steps."""
    if pairs:
        add_pair(recorder.pulls_now, recorder.best_now, recorder.place, slate[0], slate[size - 1], steps)
        recorder.outcomes_now[0] += steps * (size - 1)
    else:
        add_slate(recorder, slate, size, steps)


@inlined
def ask(state: Any, params: Any, rng: Generator, recorder: Recorder, t: int, late: Late, copies: Copies) -> bool:
    """Let the policy choose, unless a choice is pending. Return whether the policy chose an arm that does not exist."""
    now = late.now[0]
    if now.pending > 0:
        return False
    copy_words(copies.before, copies.words)
    now.pending = select_slate(state, params, now.clock, late.pending, rng)
    now.fresh = 1
    return is_outside_in(recorder.due, recorder.place.shape[0], t, late.pending, now.pending)


@dispatched
def copy_words(to: Any, words: Any) -> None:
    """Copy the memory of a state from ``words`` to ``to``."""
    for k in range(words.shape[0]):
        to[k] = words[k]


def _copy_attributes(to: Attributes, words: Attributes) -> None:
    to[:] = words


implement(copy_words, Attributes, _copy_attributes)


@kernel
def queue_outcome(late: Late, row: int) -> None:
    """Add the outcome in a row of ``late.won`` to the queue."""
    first, second = late.slates[row, 0], late.slates[row, late.sizes[row] - 1]
    won = first != second and late.won[row, 0, 1] > 0
    late.queue[first + late.queue.shape[1] * won, second] += 1
    late.now[0].queued += 1


@kernel
def pop_pair(late: Late) -> int:
    """Take a random outcome of the pending pair from the queue, and write it into the last row of ``late.won``.

    Return the number of the last row, or -1 if the queue has no outcome of the pending pair.
    """
    size, n_arms, row = late.now[0].pending, late.queue.shape[1], late.sizes.shape[0]
    first, second = late.pending[0], late.pending[size - 1]
    lost, won = late.queue[first, second], late.queue[first + n_arms, second]
    if lost + won == 0:
        return -1
    wins = lost == 0 or (won > 0 and random_below(lost + won, late.others) < won)
    late.queue[first + n_arms * wins, second] -= 1
    late.won[row, 0, 1] = 1 if wins else -1
    return row
