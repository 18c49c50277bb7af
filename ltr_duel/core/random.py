"""Generators of random numbers that have names (*streams*), and the draws that kernels need.

The numbers of a stream depend only on the user's seed and on the name of the stream. A seed therefore gives the same
results on any number of workers, and a new stream does not change the others. Kernels draw only by `uniform`, whose
numbers are equal in all versions of numpy.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

from ltr_duel.core._machine.generators import uniform
from ltr_duel.core.arrays import IntVector
from ltr_duel.core.errors import require_whole
from ltr_duel.core.jit import kernel


class Streams(NamedTuple):
    """The independent streams of one simulated run."""

    policy: np.random.Generator  # random choices of the policy
    feedback: np.random.Generator  # the coin of a duel in a matrix, or of a tied comparison
    queries: np.random.Generator  # the sequence of queries
    lists: np.random.Generator  # the shown lists
    clicks: np.random.Generator  # the clicks


def checked_seed(seed: int) -> int:
    """Return a seed as an ``int``. Raise `InputError` if it is not a whole number."""
    return require_whole("the seed", seed)


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the random generator with this name.

    Parameters
    ----------
    seed : int
        The user's seed, any integer.
    *names : str or int
        Purpose of the stream, for example ``(3, "policy", "rucb")``. Different names give independent streams.

    Returns
    -------
    numpy.random.Generator
        PCG64, seeded with the SHA-256 of seed and names.

    Raises
    ------
    InputError
        If the seed is not a whole number.

    Examples
    --------
    >>> stream(0, "coins").random() == stream(0, "coins").random() != stream(0, "queries").random()
    True
    """
    text = "\x1f".join(str(part) for part in (checked_seed(seed), *names))
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), "<u4")
    while not words[-1]:  # given an integer, numpy would drop these zeros itself, but more slowly
        words = words[:-1]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))


@kernel
def random_below(n: int, rng: np.random.Generator) -> int:
    """Draw a whole number from 0 to n - 1. If n is 1, no random number is used.

    Parameters
    ----------
    n : int
        At least 1.
    rng : numpy.random.Generator

    Examples
    --------
    >>> rng = stream(0, "die")
    >>> {random_below(6, rng) for _ in range(100)} == set(range(6))
    True
    """
    if n == 1:
        return 0
    return int(uniform(rng) * n)


@kernel
def coin(rng: np.random.Generator) -> int:
    """Flip a fair coin: +1 or -1.

    Parameters
    ----------
    rng : numpy.random.Generator

    Examples
    --------
    >>> coin(stream(0, "coin")) in (-1, 1)
    True
    """
    if uniform(rng) < 0.5:
        return 1
    return -1


@kernel
def shuffle(values: IntVector, rng: np.random.Generator) -> None:
    """Put integers into random order, in place (Fisher and Yates).

    Parameters
    ----------
    values : ndarray of int64, shape (n,)
    rng : numpy.random.Generator

    Examples
    --------
    >>> values = np.arange(5)
    >>> shuffle(values, stream(0, "cards"))
    >>> sorted(values.tolist())
    [0, 1, 2, 3, 4]
    """
    for last in range(values.shape[0] - 1, 0, -1):
        other = random_below(last + 1, rng)
        values[last], values[other] = values[other], values[last]
