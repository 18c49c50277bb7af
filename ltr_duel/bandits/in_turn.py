"""The loop for late outcomes and policies that learn in turn, that is, from one outcome at a time.

Such a policy has one pending choice. Until an outcome of this choice arrives, the arms of each step are chosen with a
copy of the state before this choice. Therefore all these choices have the same distribution. Outcomes are stored until
the policy chooses the same arms, and are then passed to ``update``. The policy thus learns from independent outcomes of
its choices. The sequence of its updates has the same distribution as with immediate outcomes, but is delayed. The
method is algorithm QPM-D of Joulani, György, Szepesvári. Online Learning under Delayed Feedback. ICML 2013.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ltr_duel.bandits.batched import Late, known_before
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
from ltr_duel.bandits.state import in_one_piece
from ltr_duel.core import Streams, kernel, random_below

Words = NDArray[np.uint64]


class InTurn(NamedTuple):
    """The loop's data in addition to a policy's state: unused outcomes, and the state before the pending choice."""

    late: Late
    words: Words  # the memory of the policy's state
    before: Words  # a copy of this memory before the pending choice
    trial: Any  # the copy of the state with which arms are chosen while a choice is pending
    tried: Words  # the memory of ``trial``
    others: Generator  # the stream for the choices of ``trial``


def new_in_turn(state: Any, late: Late, others: Generator) -> tuple[Any, InTurn]:
    """Return a state whose memory is in one piece, and the other data of the loop."""
    state, words = in_one_piece(state)
    trial, tried = in_one_piece(state)
    return state, InTurn(late, words, np.zeros_like(words), trial, tried, others)


@kernel
def copy_words(to: Words, of: Words) -> None:
    """Copy the buffer ``of`` to ``to``."""
    for word in range(of.shape[0]):
        to[word] = of[word]


@kernel
def ask_for_pair(state: Any, params: Any, streams: Streams, recorder: Recorder, t: int, turn: InTurn) -> bool:
    """Choose a pair unless a choice is pending; return whether an arm of the new pair does not exist."""
    now = turn.late.now[0]
    if now.asked == 1:
        return False
    copy_words(turn.before, turn.words)
    now.first, now.second = select(state, params, now.clock, streams.policy)
    now.asked, now.fresh = 1, 1
    return wrong_pair(state, recorder.due, recorder.place.shape[0], t, now.first, now.second)


@kernel
def next_outcome(turn: InTurn) -> int:
    """Draw an unused outcome of the pending pair, without replacement: 1 for a win, 0 for a loss, -1 if none exists."""
    late, now = turn.late, turn.late.now[0]
    first, second, n_arms = now.first, now.second, turn.late.waiting.shape[1]
    lost, won = late.waiting[first, second], late.waiting[first + n_arms, second]
    if lost + won == 0:
        return -1
    wins = lost == 0 or (won > 0 and random_below(lost + won, turn.others) < won)
    late.waiting[first + n_arms * wins, second] -= 1
    now.held -= 1
    return int(wins)


@kernel
def run_pairs_in_turn(
    state: Any, params: Any, oracle: Any, streams: Streams, recorder: Recorder, span: Span, turn: InTurn
) -> int:
    """Run a policy of pairs that learns in turn, for the steps of ``span``; return the number of decisions."""
    path, due, place = recorder.path, recorder.due, recorder.place
    pulls, best, outcomes = recorder.pulls_now, recorder.best_now, recorder.outcomes_now
    late, now = turn.late, turn.late.now[0]
    room, n_arms = late.first.shape[0], late.waiting.shape[1]
    decisions, t = 0, span.start
    while t <= span.stop:
        decisions += 1
        if ask_for_pair(state, params, streams, recorder, t, turn):
            return decisions
        first, second, last, outcome = now.first, now.second, t, 0
        if now.fresh == 0:
            copy_words(turn.tried, turn.before)
            first, second = select(turn.trial, params, now.clock, turn.others)
            if wrong_pair(state, due, place.shape[0], t, first, second):
                return decisions
        elif span.jump and first == second and now.last_real <= now.told:
            last = min(idle_until(state, params, now.clock) - now.clock, span.stop - t) + t
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
            if ask_for_pair(state, params, streams, recorder, t, turn):
                return decisions
            wins = next_outcome(turn)
            if wins < 0:
                break
            sign = 0 if now.first == now.second else 2 * wins - 1
            update(state, params, now.clock, now.first, now.second, sign, streams.policy)
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
def ask_for_slate(state: Any, params: Any, streams: Streams, recorder: Recorder, t: int, turn: InTurn) -> bool:
    """Choose a set unless a choice is pending; return whether its size is wrong or an arm does not exist."""
    late, now = turn.late, turn.late.now[0]
    if now.asked == 1:
        return False
    copy_words(turn.before, turn.words)
    now.first = select_slate(state, params, now.clock, late.asked, streams.policy)
    now.asked, now.fresh = 1, 1
    return wrong_slate(state, recorder.due, recorder.place.shape[0], t, late.asked, now.first)


@kernel
def run_slates_in_turn(
    state: Any, params: Any, oracle: Any, streams: Streams, recorder: Recorder, span: Span, turn: InTurn
) -> int:
    """Run a policy of sets that learns in turn, for the steps of ``span``; return the number of decisions.

    Unused outcomes are discarded after batch + delay steps.
    """
    late, now, room = turn.late, turn.late.now[0], turn.late.first.shape[0]
    decisions, t = 0, span.start
    while t <= span.stop:
        decisions += 1
        if ask_for_slate(state, params, streams, recorder, t, turn):
            return decisions
        here, last, size = (t - 1) % room, t, now.first
        slate = late.slates[here]
        now.held -= late.first[here] > 0
        late.first[here] = 0
        if now.fresh == 0:
            copy_words(turn.tried, turn.before)
            size = select_slate(turn.trial, params, now.clock, slate, turn.others)
            if wrong_slate(state, recorder.due, recorder.place.shape[0], t, slate, size):
                return decisions
        else:
            for a in range(size):
                slate[a] = late.asked[a]
            if span.jump and size == 1 and now.last_real <= now.told:
                last = min(idle_until(state, params, now.clock) - now.clock, span.stop - t) + t
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
            if ask_for_slate(state, params, streams, recorder, t, turn):
                return decisions
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
    """Return the row of the earliest unused outcome of the pending set among the arrived outcomes, or -1."""
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
