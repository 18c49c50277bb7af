"""Registers have names, and keep what compiled code and plain Python write to them."""

from typing import NamedTuple

import numpy as np
import pytest

from ltr_duel.bandits.state import Registers, registers
from ltr_duel.core import interpreted, kernel


class Now:
    waiting: int
    best: int
    radius: float


class State(NamedTuple):
    now: Registers[Now]


@kernel
def step(state):
    """Write registers through a local name, and through a function that receives them."""
    now = state.now[0]
    now.waiting -= 1
    if now.waiting < 0:
        fill(now)


@kernel
def fill(now):
    now.waiting = 2
    now.radius *= 0.5


@pytest.mark.parametrize("run", [step, interpreted(step)])
def test_registers_of_a_state_keep_what_is_written(run):
    state = State(registers(Now, best=-1, radius=1))
    for _ in range(7):  # waiting: 2, 1, 0, 2, 1, 0, 2
        run(state)
    now = state.now[0]
    assert (now.waiting, now.best, now.radius) == (2, -1, 0.5**3)
    assert (now.waiting.dtype, now.radius.dtype) == (np.int64, np.float64)


def test_a_name_that_numpy_records_have_and_a_value_without_a_register_are_refused():
    with pytest.raises(ValueError, match="cannot be called 'size'"):
        registers(type("Wrong", (), {"__annotations__": {"size": int}}))
    with pytest.raises(ValueError, match="worst"):
        registers(Now, worst=1)
