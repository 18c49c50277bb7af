"""The few machine instructions that numba does not offer; all LLVM code of the package is here.

Each is a plain Python function, which is what runs where kernels are interpreted. In compiled code an LLVM instruction
stands in its place. Both give the same answer on every input; tests compare them.

`larger`
    A maximum of floats written as a comparison is computed step by step: the compiler may not reorder it. This
    instruction says that it may, and scanning a row gets six times faster.
`load_word`, `space_mask`, `trailing_zeros`
    Feature files are read eight digits at a time, and the next token is found by comparing 32 bytes at once. Without
    them scanning takes 1.8 times as long for dense text and 2.3 times as long for sparse text.
`at_most_mask`, `scrambled`
    Coins are tossed 32 at once: random words from a counter, by products that wrap around at 64 bits (of which numpy's
    numbers warn), each compared with the word of its coin's probability.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from ltr_duel.core.jit import KERNEL_FLAGS

# For kernels that cost less than a call with all that describes an array.
INLINED: dict[str, Any] = {**KERNEL_FLAGS, "forceinline": True}

_BYTE = ir.IntType(8)
_SPACE = ord(" ")
_ALL = 2**64 - 1


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function like a kernel; its machine code becomes part of every kernel that calls it."""
    return njit(**INLINED)(function)


def larger(a: float, b: float) -> float:
    """Return the larger of two floats, neither of them NaN."""
    return a if a > b else b


@intrinsic
def _larger(typing: Any, a: Any, b: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        double = ir.DoubleType()
        function = builder.module.declare_intrinsic("llvm.maximum", [double], ir.FunctionType(double, [double, double]))
        return builder.call(function, args, fastmath=("nnan", "nsz"))

    return types.float64(types.float64, types.float64), generate


@overload(larger, jit_options=KERNEL_FLAGS, inline="always", strict=False)
def _larger_compiled(a: Any, b: Any) -> Any:
    return lambda a, b: _larger(a, b)


def load_word(text: NDArray[np.uint8], at: int) -> int:
    """Return eight bytes from ``text[at]`` on as one little-endian word; all must lie in the text."""
    return int.from_bytes(text[at : at + 8].tobytes(), "little")


@intrinsic
def _load_word(typing: Any, text: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _load(context, builder, signature.args[0], *args, ir.IntType(64))

    return types.uint64(text, types.int64), generate


@overload(load_word, jit_options=INLINED, strict=False)
def _load_word_compiled(text: Any, at: Any) -> Any:
    return lambda text, at: _load_word(text, at)


def space_mask(text: NDArray[np.uint8], at: int) -> int:
    """Compare 32 bytes from ``text[at]`` on with a space; bit k of the answer says whether byte k is one."""
    return sum(1 << k for k, byte in enumerate(text[at : at + 32].tolist()) if byte == _SPACE)


@intrinsic
def _space_mask(typing: Any, text: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(_BYTE, 32)
        data = _load(context, builder, signature.args[0], *args, vector)
        same = builder.icmp_unsigned("==", data, ir.Constant(vector, [_SPACE] * 32))
        return builder.zext(builder.bitcast(same, ir.IntType(32)), ir.IntType(64))

    return types.int64(text, types.int64), generate


@overload(space_mask, jit_options=INLINED, strict=False)
def _space_mask_compiled(text: Any, at: Any) -> Any:
    return lambda text, at: _space_mask(text, at)


def trailing_zeros(word: int | np.uint64) -> int:
    """Count the zeros below the lowest bit of a word of 64 bits that is set; 64 if none is."""
    number = int(word)
    return (number & -number).bit_length() - 1 if number else 64


@intrinsic
def _trailing_zeros(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@overload(trailing_zeros, jit_options=INLINED, strict=False)
def _trailing_zeros_compiled(word: Any) -> Any:
    return lambda word: _trailing_zeros(word)


def at_most_mask(words: NDArray[np.uint16], levels: NDArray[np.uint16], at: int) -> int:
    """Compare 32 words from place ``at`` on with as many levels; bit k of the answer says if word k is at most its."""
    both = zip(words[at : at + 32].tolist(), levels[at : at + 32].tolist(), strict=True)
    return sum(1 << k for k, (word, level) in enumerate(both) if word <= level)


@intrinsic
def _at_most_mask(typing: Any, words: Any, levels: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector, (first, second, _) = ir.VectorType(ir.IntType(16), 32), signature.args
        word = _load(context, builder, first, args[0], args[2], vector)
        level = _load(context, builder, second, args[1], args[2], vector)
        low = builder.icmp_unsigned("<=", word, level)
        return builder.zext(builder.bitcast(low, ir.IntType(32)), ir.IntType(64))

    return types.int64(words, levels, types.int64), generate


@overload(at_most_mask, jit_options=INLINED, strict=False)
def _at_most_mask_compiled(words: Any, levels: Any, at: Any) -> Any:
    return lambda words, levels, at: _at_most_mask(words, levels, at)


def scrambled(seed: int | np.uint64, k: int) -> np.uint64:
    """Return random number k = 0, 1, ... of 64 bits of a seed of as many (splitmix64: Steele, Lea, Flood 2014)."""
    x = (int(seed) + (int(k) + 1) * 0x9E3779B97F4A7C15) & _ALL
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & _ALL
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & _ALL
    return np.uint64(x ^ x >> 31)


@overload(scrambled, jit_options=KERNEL_FLAGS, inline="always", strict=False)
def _scrambled_compiled(seed: Any, k: Any) -> Any:
    def compiled(seed: Any, k: Any) -> Any:
        x = seed + np.uint64(k + 1) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))

    return compiled


def _load(context: Any, builder: Any, array: Any, text: Any, at: Any, kind: ir.Type) -> Any:
    """Load a value of some type from element ``at`` of an array on; it need not be aligned."""
    data = context.make_array(array)(context, builder, text).data
    value = builder.load(builder.bitcast(builder.gep(data, [at]), kind.as_pointer()))
    value.align = 1
    return value
