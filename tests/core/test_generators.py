"""Uniform numbers in compiled code equal numpy's, and the generator ends in the same state."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from ltr_duel.core import Streams, kernel, stream, uniform


@kernel
def draw(rng: np.random.Generator, drawn: np.ndarray) -> None:
    for k in range(drawn.shape[0]):
        drawn[k] = uniform(rng)


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox])
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
