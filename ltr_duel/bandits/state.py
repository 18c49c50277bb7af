"""The state of a policy: what it may contain, and how it is copied.

A state is a NamedTuple of arrays, of further NamedTuples, and of registers. *Registers* are single numbers that a
policy counts or stores. They are the fields of a numpy record array of one element, so compiled code and plain Python
read and write them in the same way. If a policy runs as plain Python, its state may be any object with attributes.
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
    """A record array of shape (1,); its one element has the fields of a class."""

    def __getitem__(self, index: int, /) -> T_co:
        """Return the element; assignments to its fields change the array."""


def registers(kind: type[T], **values: float) -> Registers[T]:
    """Make the registers that a class declares.

    Parameters
    ----------
    kind : type
        A class whose annotations, ``int`` (64 bits) or ``float``, name the registers.
    **values : float
        Initial values other than zero.

    Returns
    -------
    ndarray of records, shape (1,)

    Raises
    ------
    ValueError
        If a name is an attribute of numpy records, such as ``size``, or an initial value names no register.

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
    """Yield the name and the array of each field; fields of a nested NamedTuple are named ``outer.inner``."""
    for name, value in zip(state._fields, state, strict=True):
        if hasattr(value, "_fields"):
            yield from arrays_in(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def in_one_piece(state: Any) -> tuple[Any, NDArray[np.uint64]]:
    """Return a copy of a state, and the buffer that all its arrays share; copying the buffer copies the state."""
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
    """The attributes of a state that is an object. Assignment to ``[:]`` copies them, as it copies a buffer of arrays.

    A copy draws from ``others`` in place of ``rng``, so its choices are independent of the choices of the state.
    """

    def __init__(self, state: Any, rng: Generator, others: Generator) -> None:
        self.values, self._generators = vars(state), {id(rng): others, id(others): others}

    def __setitem__(self, every: slice, source: Attributes) -> None:
        copied = copy.deepcopy(source.values, dict(self._generators))
        self.values.clear()
        self.values.update(copied)


class Copies(NamedTuple):
    """The memory for learning in turn (see `ltr_duel.bandits.delayed`): buffers of arrays, or `Attributes`."""

    words: Any  # the buffer of the policy's state
    before: Any  # a copy of this buffer before the pending choice
    shadow: Any  # a copy of the state, which chooses while a choice is pending
    shadow_words: Any  # the buffer of the shadow


def with_copies(state: Any, rng: Generator, others: Generator, *, in_turn: bool) -> tuple[Any, Copies]:
    """Return the state and the memory of its copies, which is empty unless the policy learns in turn."""
    if not in_turn:
        nothing = np.zeros(0, np.uint64)
        return state, Copies(nothing, nothing, state, nothing)
    if isinstance(state, tuple):
        state, words = in_one_piece(state)
        return state, Copies(words, words.copy(), *in_one_piece(state))
    shadow = copy.copy(state)
    whole, before, copied = (Attributes(each, rng, others) for each in (state, copy.copy(state), shadow))
    return state, Copies(whole, before, shadow, copied)
