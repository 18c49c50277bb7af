"""Randomness: streams named by their purpose, and the draws of kernels."""

from __future__ import annotations

import hashlib

import numpy as np

from ltr_duel.core.random import coin, random_below, stream
from ltr_duel.core.vector import random_up_to


def test_streams_are_named_by_seed_and_purpose():
    draws = {stream(*name).random() for name in [(0,), (1,), (0, "a"), (0, "a", 1), (0, "a1"), (0, 1, "a"), (0, "b")]}
    assert len(draws) == 7
    assert stream(3, "x").random() == stream(3, "x").random()


def test_streams_are_stable_across_versions_and_machines():
    # SHA-256 of "0\x1fhello" seeds PCG64; numpy has generated this number since 1.17.
    seed = int.from_bytes(hashlib.sha256(b"0\x1fhello").digest(), "little")
    assert stream(0, "hello").random() == np.random.Generator(np.random.PCG64(seed)).random()


def test_random_below_is_uniform_and_draws_nothing_when_there_is_no_choice():
    rng = stream(0, "below")
    counts = np.bincount([random_below(6, rng) for _ in range(6000)], minlength=6)
    assert ((counts - 1000) ** 2 / 1000).sum() < 5 + 6 * np.sqrt(10)
    before = rng.bit_generator.state
    assert random_below(1, rng) == 0 and rng.bit_generator.state == before


def test_the_coin_is_fair():
    rng = stream(0, "coin")
    assert abs(sum(coin(rng) for _ in range(10_000))) < 5 * 100


def test_random_up_to_is_uniform_over_values_up_to_the_level():
    values, rng = np.array([0.1, 0.9, 0.2, 0.3]), stream(0, "pick")
    counts = np.bincount([random_up_to(values, 0.5, 3, rng) for _ in range(3000)], minlength=4)
    assert counts[1] == 0 and ((counts[[0, 2, 3]] - 1000) ** 2 / 1000).sum() < 2 + 6 * 2
