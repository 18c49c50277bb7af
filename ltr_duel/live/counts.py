"""What is counted while an experiment runs: numbers that can be read at any time, without the store."""

from __future__ import annotations

import math
from typing import NamedTuple

from ltr_duel.core import IntVector
from ltr_duel.live.memory import Memory


class Counts(NamedTuple):
    """The counters of a live experiment, as they were after its last transaction.

    Pages are those of the whole experiment. `steps`, `held` and `pulls` are those of the present policy: dropping a
    ranker begins a new one, which receives the stored outcomes of the remaining rankers as far as it asks for them.
    """

    pages: int  # shown
    open: int  # of these, waiting for their clicks
    plain: int  # shown with one ranker alone
    clicked: int  # closed with clicks
    unclicked: int  # closed, as seen without clicks
    expired: int  # closed by their deadline
    compared: int  # closed, and of several rankers
    steps: int  # comparisons whose outcome reached the present policy, and arms that it showed alone
    held: int  # outcomes that wait until the present policy asks for their rankers again
    early: int  # since the start: closed before their deadline, to make room
    damaged: int  # since the start: closed without an outcome, as the store holds no such page any more
    oldest: float  # the earliest deadline of an open page, seconds of the clock; infinite where none is open
    pulls: IntVector  # (K,) in these steps; an arm against itself counts twice


def counts_of(memory: Memory) -> Counts:
    """Copy the counters."""
    turns, first = memory.turns, memory.first_due()
    plain, clicked, unclicked, expired, compared = memory.tally.events.tolist()
    return Counts(
        memory.pages,
        len(memory.waiting),
        plain,
        clicked,
        unclicked,
        expired,
        compared,
        turns.policy.steps,
        turns.held,
        memory.early,
        memory.damaged,
        first[0] / 1000 if first else math.inf,
        turns.pulls.copy(),
    )
