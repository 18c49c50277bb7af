"""The few machine instructions that numba does not offer; all LLVM code of the package is here and in `coins`.

Each is a plain Python function, which is what runs where kernels are interpreted. In compiled code an LLVM instruction
stands in its place. Both give the same answer on every input; tests compare them.

`larger`
    A maximum of floats written as a comparison is computed step by step: the compiler may not reorder it. This
    instruction says that it may, and scanning a row gets six times faster.
`lanes_up_to`, `lanes_at`, `count_bits`, `trailing_zeros`
    Many numbers are compared at once, and the answer is their bits, in which the n-th number that fulfils a condition
    is found without a branch for each. Where a loop leaves at that number the processor cannot guess.
`count_reaching`, `count_below`
    The same for where a number falls among a few: only the count is wanted.
`load_word`, `space_mask`, `trailing_zeros`
    Feature files are read eight digits at a time, and the next token is found by comparing 32 bytes at once. Without
    them scanning takes 1.8 times as long for dense text and 2.3 times as long for sparse text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core.typing import templates
from numpy.typing import NDArray

from ltr_duel.core.jit import KERNEL_FLAGS

# For kernels that cost less than a call with all that describes an array.
INLINED: dict[str, Any] = {**KERNEL_FLAGS, "forceinline": True}

_BYTE = ir.IntType(8)
LANES = 32  # numbers that `lanes_up_to` and `lanes_at` take
_DOUBLES = ir.VectorType(ir.DoubleType(), LANES)
_SPACE = ord(" ")
AT_ONCE = 8  # floats that `count_reaching` takes
SMALL_AT_ONCE = 16  # integers that `count_below` takes


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function like a kernel; its machine code becomes part of every kernel that calls it.

    numba would compile it anew for each number that a caller writes down, which LLVM sees in the caller anyway.
    """
    compiled: Any = njit(**INLINED)(function)
    if config.DISABLE_JIT:
        return compiled
    ask = compiled.get_call_template
    compiled.get_call_template = lambda args, kws: ask(
        tuple(map(_any_number, args)), {name: _any_number(kind) for name, kind in kws.items()}
    )
    return compiled


def _any_number(kind: Any) -> Any:
    return types.unliteral(kind) if isinstance(kind, types.IntegerLiteral | types.BooleanLiteral) else kind


def in_place_of(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let compiled code hold LLVM instructions in place of a function; they are defined as for numba's `intrinsic`.

    By `intrinsic` and `overload`, numba would compile for each use a function that holds them, and then put that into
    its callers.
    """

    def define(instructions: Callable[..., Any]) -> Callable[..., Any]:
        template = templates.make_intrinsic_template(function, instructions, function.__name__)
        templates.infer(template)
        templates.infer_global(function, types.Function(template))
        return instructions

    return define


def larger(a: float, b: float) -> float:
    """Return the larger of two floats, neither of them NaN."""
    return a if a > b else b


@in_place_of(larger)
def _larger(typing: Any, a: Any, b: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        double = ir.DoubleType()
        function = builder.module.declare_intrinsic("llvm.maximum", [double], ir.FunctionType(double, [double, double]))
        return builder.call(function, args, fastmath=("nnan", "nsz"))

    return types.float64(types.float64, types.float64), generate


def lanes_up_to(values: NDArray[np.float64], at: int, level: float) -> int:
    """Compare 32 values from ``values[at]`` on with a level; bit k says whether value k is at most that."""
    return sum(1 << k for k, value in enumerate(values[at : at + LANES].tolist()) if value <= level)


@in_place_of(lanes_up_to)
def _lanes_up_to(typing: Any, values: Any, at: Any, level: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = load(context, builder, signature, args, _DOUBLES, 0, args[1])
        return _mask(builder, builder.fcmp_ordered("<=", data, spread(builder, args[2])))

    return types.int64(values, types.int64, types.float64), generate


def lanes_at(base: NDArray[np.float64], width: NDArray[np.float64], at: int, scale: float, level: float) -> int:
    """Compute 32 numbers ``base + scale * width`` from place ``at`` on; bit k says whether number k is the level."""
    numbers = (base[at : at + LANES] + scale * width[at : at + LANES]).tolist()
    return sum(1 << k for k, number in enumerate(numbers) if number == level)


@in_place_of(lanes_at)
def _lanes_at(typing: Any, base: Any, width: Any, at: Any, scale: Any, level: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        start = load(context, builder, signature, args, _DOUBLES, 0, args[2])
        wide = load(context, builder, signature, args, _DOUBLES, 1, args[2])
        number = builder.fadd(start, builder.fmul(spread(builder, args[3]), wide))
        return _mask(builder, builder.fcmp_ordered("==", number, spread(builder, args[4])))

    return types.int64(base, width, types.int64, types.float64, types.float64), generate


def count_reaching(values: NDArray[np.float64], at: int, level: float) -> int:
    """Count those of the `AT_ONCE` floats from ``values[at]`` on that are at least ``level``; all must be there."""
    return int((values[at : at + AT_ONCE] >= level).sum())


@in_place_of(count_reaching)
def _count_reaching(typing: Any, values: Any, at: Any, level: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = load(context, builder, signature, args, ir.VectorType(ir.DoubleType(), AT_ONCE), 0, args[1])
        return builder.ctpop(_mask(builder, builder.fcmp_ordered(">=", data, spread(builder, args[2], data.type))))

    return types.int64(values, types.int64, types.float64), generate


def count_below(values: NDArray[np.int16], at: int, level: int) -> int:
    """Count those of the `SMALL_AT_ONCE` small integers from ``values[at]`` on that are less than ``level``."""
    return int((values[at : at + SMALL_AT_ONCE] < level).sum())


@in_place_of(count_below)
def _count_below(typing: Any, values: Any, at: Any, level: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = load(context, builder, signature, args, ir.VectorType(ir.IntType(16), SMALL_AT_ONCE), 0, args[1])
        return builder.ctpop(_mask(builder, builder.icmp_signed("<", data, spread(builder, args[2], data.type))))

    return types.int64(values, types.int64, types.int16), generate


def spread(builder: Any, number: Any, kind: ir.VectorType = _DOUBLES) -> Any:
    """Put a number into all lanes of a vector."""
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    nowhere = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), [0] * kind.count)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), nowhere)


def _mask(builder: Any, same: Any) -> Any:
    return builder.zext(builder.bitcast(same, ir.IntType(same.type.count)), ir.IntType(64))


def count_bits(word: int) -> int:
    """Count the bits of a word of 64 bits that are set."""
    return int(word).bit_count()


@in_place_of(count_bits)
def _count_bits(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), generate


def load_word(text: NDArray[np.uint8], at: int) -> int:
    """Return eight bytes from ``text[at]`` on as one little-endian word; all must lie in the text."""
    return int.from_bytes(text[at : at + 8].tobytes(), "little")


@in_place_of(load_word)
def _load_word(typing: Any, text: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return load(context, builder, signature, args, ir.IntType(64), 0, args[1])

    return types.uint64(text, types.int64), generate


def space_mask(text: NDArray[np.uint8], at: int) -> int:
    """Compare 32 bytes from ``text[at]`` on with a space; bit k of the answer says whether byte k is one."""
    return sum(1 << k for k, byte in enumerate(text[at : at + 32].tolist()) if byte == _SPACE)


@in_place_of(space_mask)
def _space_mask(typing: Any, text: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(_BYTE, 32)
        data = load(context, builder, signature, args, vector, 0, args[1])
        same = builder.icmp_unsigned("==", data, ir.Constant(vector, [_SPACE] * 32))
        return builder.zext(builder.bitcast(same, ir.IntType(32)), ir.IntType(64))

    return types.int64(text, types.int64), generate


def trailing_zeros(word: int | np.uint64) -> int:
    """Count the zeros below the lowest bit of a word of 64 bits that is set; 64 if none is."""
    number = int(word)
    return (number & -number).bit_length() - 1 if number else 64


@in_place_of(trailing_zeros)
def _trailing_zeros(typing: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


def load(context: Any, builder: Any, signature: Any, args: Any, kind: ir.Type, array: int, at: Any) -> Any:
    """Load a value of some type from place ``at`` on of the array that has that number in ``args``."""
    value = builder.load(_place(context, builder, signature, args, kind, array, at))
    value.align = signature.args[array].dtype.bitwidth // 8  # that of one number: any may be the first
    return value


def store(
    context: Any, builder: Any, signature: Any, args: Any, kind: ir.Type, array: int, at: Any, value: Any
) -> None:
    """Store a value of some type where `load` finds it."""
    place = _place(context, builder, signature, args, kind, array, at)
    builder.store(value, place).align = signature.args[array].dtype.bitwidth // 8


def _place(context: Any, builder: Any, signature: Any, args: Any, kind: ir.Type, array: int, at: Any) -> Any:
    data = context.make_array(signature.args[array])(context, builder, args[array]).data
    return builder.bitcast(builder.gep(data, [at]), kind.as_pointer())
