"""What a module of `ltr_duel.clicks.fit.forms` must define, so that its form of click model can be fitted.

The module defines ``Model``, ``step``, ``entries`` and ``FORM`` (see `register`). An item is a relevance grade or a
document. All parameters are probabilities, and the vector ``theta`` has them group by group. The first group is always
the attraction of each item.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from ltr_duel.core import FloatVector, IntVector, dispatched, implement, inlined

TINY = 1e-6  # fitted parameters are from TINY to 1 - TINY; a click that a model rules out has probability TINY
PER_RANK = 3  # largest number of entries that one rank writes


class Parameters(NamedTuple):
    """The fields of every ``Model``: the parameters, the number of items, and the length of the longest list."""

    theta: FloatVector
    items: int
    ranks: int


class Rank(NamedTuple):
    """A rank of a session. The probabilities are computed given all clicks of the session."""

    item: int
    k: int  # the rank, from 0
    last: int  # rank of the nearest click above, or -1
    clicked: bool
    ends: bool  # whether this is the last rank of the list
    reached: float  # probability that the user reached the rank
    noticed: float  # probability that the user noticed its document
    went_on: float  # probability that a user who reached the rank went on to the next one


class Entries(NamedTuple):
    """What a session says about the parameters. Each entry adds successes and trials to one parameter."""

    which: IntVector  # (PER_RANK * ranks,) index of the parameter in ``theta``
    successes: FloatVector  # expected number of successes
    trials: FloatVector  # expected number of trials


@dispatched
def step(model: Any, item: int, k: int, last: int) -> tuple[float, float, float, float]:
    """Return the probabilities attract, notice, after_click and after_skip for an item at rank k.

    last: the rank of the nearest click above, or -1.
    """
    raise NotImplementedError


@dispatched
def entries(model: Any, rank: Rank, out: Entries, count: int) -> int:
    """Append the entries of a rank to ``out``, except for attraction. Return the new number of entries."""
    raise NotImplementedError


@inlined
def enter(out: Entries, count: int, which: int, successes: float, trials: float) -> int:
    """Append one entry to ``out``, which has ``count`` entries. Return the new number of entries."""
    out.which[count], out.successes[count], out.trials[count] = which, successes, trials
    return count + 1


class Form(NamedTuple):
    """A form of click model: its name, its class, its groups of parameters in the order of ``theta``, and its source.

    The groups "attraction" and "satisfaction" have one parameter for each item. The group "attention" has one for each
    rank. The group "attention, last click" has one for each pair of a rank and the rank of the click above it.
    """

    name: str
    model: type[Parameters]
    blocks: tuple[str, ...]
    cite: str

    def slices(self, items: int, ranks: int) -> Iterator[tuple[str, slice]]:
        """Yield the name of each group of parameters, and its part of ``theta``."""
        sizes = {"attention": ranks, "attention, last click": ranks * ranks, "going on": 1}
        start = 0
        for name in self.blocks:
            stop = start + sizes.get(name, items)
            yield name, slice(start, stop)
            start = stop


def register(module: str, *blocks: str, cite: str) -> Form:
    """Register the functions ``step`` and ``entries`` of a module for its class ``Model``, and return the form."""
    parts = sys.modules[module]
    implement(step, parts.Model, parts.step)
    implement(entries, parts.Model, parts.entries)
    return Form(module.rpartition(".")[2], parts.Model, ("attraction", *blocks), cite)
