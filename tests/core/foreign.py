"""Twenty functions as other packages define them, and the LLVM text of each."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numba
import numpy as np

FLOATS, WHOLE = np.linspace(1, 2, 8), np.arange(8)
RNG = np.random.default_rng(1)


class Point(NamedTuple):
    x: float
    y: int


def smaller_of_two(a, b):
    return min(a, b)


def larger_of_three(a, b, c):
    return max(a, b, c)


def whole_part(a):
    return int(a) + int(a > 1)


def uniform(rng):
    return rng.random()


def drawn(rng, n):
    return rng.integers(0, n) + rng.standard_normal()


def two_generators(one, other):
    return one.random() + other.random()


def legacy_random(n):
    return np.random.random() + np.random.randint(n)  # noqa: NPY002  the random numbers of older code


def dot(a):
    return np.dot(a, a)


def list_of(n):
    out = [1.0]
    for i in range(n):
        out.append(i * 0.5)
    return out


def counted(n):
    out = {1: 2.0}
    for i in range(n):
        out[i] = out.get(i, 0.0) + 1.0
    return out


def in_parallel(a):
    total = 0.0
    for i in numba.prange(a.size):
        total += a[i]
    return total


def added(a, b):
    return a + b * 2


def tuples(t):
    return (t[1], t[0], len(t))


def named(p):
    return Point(p.x + 1, p.y)


def text(s):
    return s + "x"


def put_in_order(a):
    return np.sort(a)


def refused(a):
    if a < 0:
        raise ValueError("below 0")
    return a


def closed_over(a):
    def inner(b):
        return a + b

    return inner(a) + inner(2)


def reduced(a):
    return a.sum() + a.max() + np.argmin(a) + abs(a[0]) + round(a[1]) + bool(a[2])


@numba.njit
def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)


FUNCTIONS: dict[Any, tuple[Any, ...]] = {
    smaller_of_two: (1, 2.5),
    larger_of_three: (1, 2, 3),
    whole_part: (2.5,),
    uniform: (RNG,),
    drawn: (RNG, 5),
    two_generators: (RNG, RNG),
    legacy_random: (3,),
    dot: (FLOATS,),
    list_of: (3,),
    counted: (3,),
    in_parallel: (FLOATS,),
    added: (FLOATS, FLOATS),
    tuples: ((1, 2.0),),
    named: (Point(1.0, 2),),
    text: ("a",),
    put_in_order: (WHOLE,),
    refused: (1,),
    closed_over: (1,),
    reduced: (FLOATS,),
    factorial: (3,),
}


def llvm_texts() -> dict[str, str]:
    """Return the LLVM text of each function; two of them are compiled with ``parallel=True``."""
    texts = {}
    for function, arguments in FUNCTIONS.items():
        parallel = function in (in_parallel, added)
        compiled = function if hasattr(function, "py_func") else numba.njit(parallel=parallel)(function)
        compiled(*arguments)
        (code,) = compiled.inspect_llvm().values()
        texts[compiled.__name__] = normalised(code)
    return texts


def normalised(code: str) -> str:
    """Return LLVM text without the parts that differ between processes: addresses, counters, pickled classes."""
    code = re.sub(r"0x[0-9a-f]{8,}", "ADDRESS", code)
    code = re.sub(r"B\d+v\d+", "NUMBER", code)
    code = re.sub(r'^@"\.const\.missing Environment.*\n', "", code, flags=re.M)
    code = re.sub(r"^@\.const\.pickledata.*\n", "", code, flags=re.M)
    return re.sub(r"(\.const\.pickle[a-z]+)\.[0-9a-f]{9,}", r"\1", code)
