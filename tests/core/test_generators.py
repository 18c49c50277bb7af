"""Uniform numbers in compiled code equal numpy's, and the generator ends in the same state."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest

from ltr_duel.core import Streams, kernel, stream, uniform
from ltr_duel.core._machine import generators
from ltr_duel.core._machine.generators import Called, Stepped, borrowed


@kernel
def draw(rng: np.random.Generator, drawn: np.ndarray) -> None:
    for k in range(drawn.shape[0]):
        drawn[k] = uniform(rng)


@pytest.mark.parametrize(
    "bits", [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64]
)
@pytest.mark.parametrize("halved", [False, True])  # drawing 32 bits leaves 32 bits in a buffer
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


def test_another_layout_is_left_to_numpy(monkeypatch) -> None:
    rng = np.random.Generator(np.random.PCG64(5))
    address = rng.bit_generator.ctypes.state_address
    assert borrowed(rng) == Stepped(address)
    generators._steps_in_place.cache_clear()
    monkeypatch.setattr(generators, "is_laid_out_as_expected", lambda bits: False)
    try:
        function = ctypes.cast(rng.bit_generator.ctypes.next_double, ctypes.c_void_p).value
        assert borrowed(rng) == Called(address, function)
        drawn = np.zeros(3)
        draw(rng, drawn)
        assert drawn.tolist() == np.random.Generator(np.random.PCG64(5)).random(3).tolist()
    finally:
        generators._steps_in_place.cache_clear()


@kernel
def method(rng, streams):  # type: ignore[no-untyped-def]
    return rng.random(), streams.policy.random(), uniform(streams.clicks)


def test_generators_are_lent_whatever_the_parameters_are_called_and_within_a_tuple() -> None:
    one, all_of_them = stream(1, "one"), Streams(*(stream(1, name) for name in Streams._fields))
    expected = stream(1, "one").random(), stream(1, "policy").random(), stream(1, "clicks").random()
    assert method(one, all_of_them) == expected


def test_no_call_of_a_kernel_keeps_a_generator() -> None:
    rng, drawn = stream(0, "kept"), np.zeros(1)
    draw(rng, drawn)
    before = sys.getrefcount(rng), sys.getrefcount(rng.bit_generator)
    for _ in range(1000):
        draw(rng, drawn)
    assert (sys.getrefcount(rng), sys.getrefcount(rng.bit_generator)) == before
