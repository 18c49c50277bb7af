"""min, max and int are instructions in a kernel, with the same results as in plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from numba.core import event

from ltr_duel.core import inlined, interpreted, kernel
from ltr_duel.core._machine.lanes import count_bits
from ltr_duel.core.jit import uncached_kernel


def _chosen(a, b):  # type: ignore[no-untyped-def]
    return min(a, b), max(a, b), int(a), int(b), int(a < b)


_chosen.__module__ = "ltr_duel.core.random"  # treated as code of the package; numba defines the names in other code
chosen = kernel(_chosen)


@inlined
def added(a, b):  # type: ignore[no-untyped-def]
    return a + b


@kernel
def adding(a):  # type: ignore[no-untyped-def]
    return added(a, 0) + added(1, a) + added(a, a) + count_bits(a)


PAIRS = [(1, 2), (2, 1), (-3, -3), (1.5, 2), (2, 1.5), (1.5, -2.5), (-0.5, 2.5), (np.int32(7), 5)]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_they_give_what_python_gives(a: float, b: float) -> None:
    assert chosen(a, b) == interpreted(chosen)(a, b)


@kernel
def several(values, a, b):  # type: ignore[no-untyped-def]
    return min(values), max(values), min(a, b, -1), max(a, b, 9), isinstance(a, int)


def test_in_the_text_of_others_the_names_are_those_of_numba() -> None:
    assert several((3, 1, 2), 4, 2.5) == (1, 3, -1, 9, True)


def test_no_function_is_compiled_around_an_instruction() -> None:
    with event.install_recorder("numba:compile") as seen:
        assert uncached_kernel(interpreted(adding))(6) == 6 + 7 + 12 + 2
    compiled = {one.data["dispatcher"].py_func.__name__: one.data["args"] for _, one in seen.buffer}
    assert list(compiled) == ["adding", "added"]
    assert len(seen.buffer) == 2 * len(compiled)  # start and end: one specialisation each, for any literal
