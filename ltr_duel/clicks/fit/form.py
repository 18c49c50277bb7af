"""The contract of a form of click model, which a module of `ltr_duel.clicks.fit.forms` implements.

Such a module defines ``Model``, ``step``, ``entries`` and ``FORM`` (see `register`). All parameters are probabilities
in the vector ``theta``, in blocks; the first block is always the attraction of each item.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from ltr_duel.core import FloatVector, IntVector, dispatched, implement, inlined

TINY = 1e-6  # fitted parameters are from TINY to 1 - TINY; an impossible click has probability TINY
PER_RANK = 3  # maximum number of entries of a rank


class Parameters(NamedTuple):
    """The fields of every ``Model``, which is a subclass without fields of its own."""

    theta: FloatVector
    items: int
    ranks: int  # length of the longest list


class Rank(NamedTuple):
    """A rank of a session, and what all clicks of the session say about it."""

    item: int
    k: int  # the rank, from 0
    last: int  # rank of the click above, or -1
    clicked: bool
    ends: bool  # whether this is the last rank of the list
    reached: float  # probability that the user reached the rank
    noticed: float  # probability that the user noticed its document
    went_on: float  # probability that the user went on, if the rank was reached


class Entries(NamedTuple):
    """What a session says about its parameters: expected successes and expected trials of each."""

    which: IntVector  # (PER_RANK * ranks,) number of the parameter
    successes: FloatVector
    trials: FloatVector


@dispatched
def step(model: Any, item: int, k: int, last: int) -> tuple[float, float, float, float]:
    """Return attract, notice, after_click and after_skip of an item at rank k after a click at ``last`` (-1: none)."""
    raise NotImplementedError


@dispatched
def entries(model: Any, rank: Rank, out: Entries, count: int) -> int:
    """Write the entries of a rank for all parameters but attraction, from number ``count`` on; return their number."""
    raise NotImplementedError


@inlined
def enter(out: Entries, count: int, which: int, successes: float, trials: float) -> int:
    """Write entry number ``count``; return the number of entries."""
    out.which[count], out.successes[count], out.trials[count] = which, successes, trials
    return count + 1


class Form(NamedTuple):
    """A form of click model: its name, class, source, and the blocks of ``theta`` in order.

    Blocks are "attraction" and "satisfaction" (a parameter for each item), "attention" (for each rank), "attention,
    last click" (for each rank and rank of the click above), "going on" (one parameter).
    """

    name: str
    model: type[Parameters]
    blocks: tuple[str, ...]
    cite: str

    def slices(self, items: int, ranks: int) -> Iterator[tuple[str, slice]]:
        """Yield the name of each block and its part of ``theta``."""
        sizes = {"attention": ranks, "attention, last click": ranks * ranks, "going on": 1}
        start = 0
        for name in self.blocks:
            stop = start + sizes.get(name, items)
            yield name, slice(start, stop)
            start = stop


def register(module: str, *blocks: str, cite: str) -> Form:
    """Make ``step`` and ``entries`` of a module the equations of its ``Model``; return the form."""
    parts = sys.modules[module]
    implement(step, parts.Model, parts.step)
    implement(entries, parts.Model, parts.entries)
    return Form(module.rpartition(".")[2], parts.Model, ("attraction", *blocks), cite)
