"""Registers have names, compiled and as plain Python; a state is taken apart into arrays and put together again."""

from typing import NamedTuple

import numpy as np
import pytest

from ltr_duel.bandits.state import Registers, registers
from ltr_duel.core import interpreted, kernel


class Now:
    waiting: int
    best: int
    radius: float


class Inner(NamedTuple):
    counts: np.ndarray


class State(NamedTuple):
    inner: Inner
    now: Registers[Now]


@kernel
def step(state):
    """Write registers through a local name, and through a function that receives them."""
    now = state.now[0]
    now.waiting -= 1
    if now.waiting < 0:
        fill(now)
    state.inner.counts[now.waiting] += 1


@kernel
def fill(now):
    now.waiting = 2
    now.radius *= 0.5


def new_state():
    return State(Inner(np.zeros(3, np.int64)), registers(Now, best=-1, radius=1.0))


@pytest.mark.parametrize("run", [step, interpreted(step)])
def test_what_is_written_to_a_register_stays_there(run):
    state = new_state()
    for _ in range(7):  # waiting: 2, 1, 0, 2, 1, 0, 2
        run(state)
    now = state.now[0]
    assert (now.waiting, now.best, now.radius) == (2, -1, 0.5**3)
    assert state.inner.counts.tolist() == [2, 2, 3]


def test_registers_start_at_zero_with_the_type_that_the_class_declares():
    now = registers(Now, radius=1)[0]
    assert (now.waiting.dtype, now.radius.dtype) == (np.int64, np.float64)
    assert (now.waiting, now.best, now.radius) == (0, 0, 1.0)


def test_a_name_that_numpy_records_have_is_refused():
    class Wrong:
        size: int

    with pytest.raises(ValueError, match="cannot be called 'size'"):
        registers(Wrong)


def test_a_value_without_a_register_is_refused():
    with pytest.raises(ValueError, match="worst"):
        registers(Now, worst=1)
