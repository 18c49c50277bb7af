"""The state of a policy: what it may contain, and how it is copied.

A state is a NamedTuple of arrays, of further NamedTuples, and of registers. *Registers* are single numbers that change,
for example counts. They are stored in a numpy record array with one element, so compiled code and plain Python use them
in the same way. A policy that runs as plain Python may have any object with attributes as its state.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, TypeVar, get_type_hints

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Registers(Protocol[T_co]):
    """The registers of a state. Element 0 of this record array has a field for each register."""

    def __getitem__(self, index: int, /) -> T_co:
        """Return the element. If you assign to a field of the element, the array changes."""


def registers(kind: type[T], **values: float) -> Registers[T]:
    """Make the registers that a class declares.

    Parameters
    ----------
    kind : type
        A class whose annotations name the registers. An annotation is ``int`` (64 bits) or ``float``.
    **values : float
        Initial values. A register without an initial value starts with 0.

    Returns
    -------
    ndarray of records, shape (1,)

    Raises
    ------
    ValueError
        If the name of a register is also an attribute of numpy records, for example ``size``, or if you give an
        initial value to a register that the class does not declare.

    Examples
    --------
    >>> class Now:
    ...     waiting: int  # arms that wait for their turn
    ...     radius: float
    >>> now = registers(Now, radius=1.0)[0]  # in a kernel: now = state.now[0]
    >>> now.waiting += 2
    >>> int(now.waiting), float(now.radius)
    (2, 1.0)
    """
    fields = get_type_hints(kind)
    for name in fields:
        if hasattr(np.record, name):
            raise ValueError(f"{kind.__qualname__}: a register cannot be called '{name}', an attribute of np.record")
    record: Any = np.zeros(1, np.dtype((np.record, [(name, np.dtype(hint)) for name, hint in fields.items()])))
    for name, value in values.items():
        record[name] = value
    return record


def arrays_in(state: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the name and the array of each field of a state. A nested field is named ``outer.inner``."""
    for name, value in zip(state._fields, state, strict=True):
        if hasattr(value, "_fields"):
            yield from arrays_in(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def in_one_piece(state: Any) -> tuple[Any, NDArray[np.uint64]]:
    """Return a copy of a state, and the buffer that contains its arrays. To copy the state later, copy the buffer."""
    sizes = [-(-array.nbytes // 64) * 8 for _, array in arrays_in(state)]
    memory = np.zeros(sum(sizes), np.uint64)
    pieces = iter(np.split(memory, np.cumsum(sizes)[:-1]))

    def moved(part: Any) -> Any:
        if hasattr(part, "_fields"):
            return type(part)(*map(moved, part))
        piece = next(pieces).view(np.uint8)[: part.nbytes].view(part.dtype).reshape(part.shape)
        piece[...] = part
        return piece

    return moved(state), memory


class Attributes:
    """Copies a state that is an object: ``copy[:] = source`` copies all attributes.

    The copy draws random numbers from ``others`` instead of ``rng``.
    """

    def __init__(self, state: Any, rng: Generator, others: Generator) -> None:
        self.values, self._generators = vars(state), {id(rng): others, id(others): others}

    def __setitem__(self, every: slice, source: Attributes) -> None:
        copied = copy.deepcopy(source.values, dict(self._generators))
        self.values.clear()
        self.values.update(copied)


class Copies(NamedTuple):
    """The copies of a policy's state. The policy uses them to choose while it waits for an outcome (see `delayed`)."""

    words: Any  # the buffer of the policy's state
    before: Any  # a copy of this buffer before the pending choice
    shadow: Any  # a copy of the state, which chooses while a choice is pending
    shadow_words: Any  # the buffer of the shadow


def with_copies(state: Any, rng: Generator, others: Generator, *, in_turn: bool) -> tuple[Any, Copies]:
    """Return the state, and the memory for its copies. If ``in_turn`` is False, no copies are made."""
    if not in_turn:
        nothing = np.zeros(0, np.uint64)
        return state, Copies(nothing, nothing, state, nothing)
    if isinstance(state, tuple):
        state, words = in_one_piece(state)
        return state, Copies(words, words.copy(), *in_one_piece(state))
    shadow = copy.copy(state)
    whole, before, copied = (Attributes(each, rng, others) for each in (state, copy.copy(state), shadow))
    return state, Copies(whole, before, shadow, copied)
