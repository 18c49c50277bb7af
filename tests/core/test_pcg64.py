"""Uniform numbers in compiled code are numpy's, and the generator is left as numpy leaves it."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
from llvmlite import binding

from ltr_duel.core import kernel, pcg64, uniform
from ltr_duel.core.pcg64 import is_laid_out_as_expected


@kernel
def draw(rng: np.random.Generator, drawn: np.ndarray) -> None:
    for k in range(drawn.shape[0]):
        drawn[k] = uniform(rng)


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox])
@pytest.mark.parametrize("halved", [False, True])  # a number of 32 bits leaves another one behind
def test_numbers_and_state_are_those_of_numpy(bits: type, halved: bool) -> None:
    ours, theirs = (np.random.Generator(bits(7)) for _ in range(2))
    for rng in (ours, theirs):
        if halved:
            rng.random(dtype=np.float32)
    drawn = np.zeros(1000)
    draw(ours, drawn)
    assert drawn.tolist() == theirs.random(1000).tolist()
    assert [ours.integers(2**31, dtype=np.uint32) for _ in range(3)] == [
        theirs.integers(2**31, dtype=np.uint32) for _ in range(3)
    ]
    assert ours.random() == theirs.random()


def test_another_layout_is_noticed() -> None:
    bits = np.random.PCG64(3)
    assert is_laid_out_as_expected(bits)
    halves = (ctypes.c_uint64 * 4)(*np.frombuffer(_numbers(bits), np.uint64)[[1, 0, 3, 2]].tolist())  # highest first
    place = ctypes.c_void_p(ctypes.addressof(halves))
    other = SimpleNamespace(state=bits.state, ctypes=SimpleNamespace(state_address=ctypes.addressof(place)))
    assert not is_laid_out_as_expected(other)


def test_compiled_code_knows_the_function_of_pcg64_that_it_steps_itself(monkeypatch) -> None:
    function = ctypes.cast(np.random.PCG64(5).ctypes.next_double, ctypes.c_void_p).value
    assert function is not None
    assert pcg64._next_double() == binding.address_of_symbol(pcg64._SYMBOL) == function
    monkeypatch.setattr(pcg64, "is_laid_out_as_expected", lambda bits: False)
    assert pcg64._next_double() not in (0, function)  # of no generator, so numpy is called


def _numbers(bits: np.random.PCG64) -> bytes:
    kept = bits.state["state"]
    return b"".join(kept[name].to_bytes(16, "little") for name in ("state", "inc"))
