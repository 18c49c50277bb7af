"""Define what the modules of `ltr_duel.clicks.fit.forms` have in common. Each of them defines one form of click model.

Such a module defines a class ``Model``, two functions ``step`` and ``entries``, and the constant ``FORM``. All
parameters of a model are probabilities. They are stored in a vector, group by group. The first group is the attraction
of each item, where an item is a relevance grade or a document.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from ltr_duel.core import FloatVector, IntVector, dispatched, implement, inlined

TINY = 1e-6  # fitted parameters are from TINY to 1 - TINY; a click that a model rules out has probability TINY
PER_RANK = 3  # largest number of entries that one rank writes


class Parameters(NamedTuple):
    """The parameters of a click model in one vector. The class ``Model`` of each module is a subclass."""

    theta: FloatVector  # the parameters, group by group
    items: int  # number of items
    ranks: int  # length of the longest list


class Rank(NamedTuple):
    """A position in a list that a user saw, and what the clicks of this user say about it."""

    item: int
    k: int  # the rank, from 0
    last: int  # rank of the nearest click above, or -1
    clicked: bool
    ends: bool  # whether this is the last rank of the list
    reached: float  # probability that the user reached the rank, given all clicks (as for the next two)
    noticed: float  # probability that the user noticed its document
    went_on: float  # probability that a user who reached the rank went on to the next one


class Entries(NamedTuple):
    """Arrays of successes and trials that one session adds to the parameters of a model."""

    which: IntVector  # (PER_RANK * ranks,) index of the parameter in ``theta``
    successes: FloatVector  # expected number of successes
    trials: FloatVector  # expected number of trials


@dispatched
def step(model: Any, item: int, k: int, last: int) -> tuple[float, float, float, float]:
    """Return four probabilities for a user who reaches an item at rank ``k``.

    The first is the probability that the item attracts the user, and the second that the user notices the item. The
    third is the probability that the user goes on after a click, and the fourth that the user goes on without a click.

    last: the rank of the nearest click above, or -1.
    """
    raise NotImplementedError


@dispatched
def entries(model: Any, rank: Rank, out: Entries, count: int) -> int:
    """Add to ``out`` what a rank says about the parameters, except for attraction. Return the new ``count``."""
    raise NotImplementedError


@inlined
def enter(out: Entries, count: int, which: int, successes: float, trials: float) -> int:
    """Add successes and trials of the parameter ``which`` to ``out``. Return the new ``count``."""
    out.which[count], out.successes[count], out.trials[count] = which, successes, trials
    return count + 1


class Form(NamedTuple):
    """A form of click model that can be fitted to sessions."""

    name: str
    model: type[Parameters]
    blocks: tuple[str, ...]  # names of the groups of parameters, in the order of ``theta``
    cite: str  # the source

    def slices(self, items: int, ranks: int) -> Iterator[tuple[str, slice]]:
        """Yield the name of each group of parameters, and the slice of the vector that holds the group."""
        # one parameter for each item, unless another size follows; "last click" has one for each pair of ranks
        sizes = {"attention": ranks, "attention, last click": ranks * ranks, "going on": 1}
        start = 0
        for name in self.blocks:
            stop = start + sizes.get(name, items)
            yield name, slice(start, stop)
            start = stop


def register(module: str, *blocks: str, cite: str) -> Form:
    """Return the form of click model that a module defines. ``blocks`` names its groups besides attraction."""
    parts = sys.modules[module]
    implement(step, parts.Model, parts.step)
    implement(entries, parts.Model, parts.entries)
    return Form(module.rpartition(".")[2], parts.Model, ("attraction", *blocks), cite)
