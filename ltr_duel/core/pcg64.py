"""Uniform random numbers in compiled code: where numpy would be called by a pointer, its PCG64 is stepped in place.

The numbers and the state that is left are those of ``rng.random()``, in a third of the time. The generator's memory is
used as numpy lays it out; where that is not found as expected, or for another bit generator, numpy is called.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils

from ltr_duel.core.simd import in_place_of

_SYMBOL = "ltr_duel.pcg64_next_double"  # compiled code is kept on disk, and numpy's address differs in each process
_NO_FUNCTION = 1
_FACTOR = 0x2360ED051FC65DA44385DF649FCCF645  # of PCG's generator of 128 bits (O'Neill, 2014)


def uniform(rng: np.random.Generator) -> float:
    """Draw a number uniformly from [0, 1).

    Parameters
    ----------
    rng : numpy.random.Generator

    Returns
    -------
    float
        What ``rng.random()`` returns; so are all that follow.

    Examples
    --------
    >>> uniform(np.random.default_rng(1)) == np.random.default_rng(1).random()
    True
    """
    return rng.random()


def is_laid_out_as_expected(bits: Any) -> bool:
    """Tell whether a PCG64 keeps state and increment as two numbers of 128 bits, lowest byte first."""
    place = ctypes.c_void_p.from_address(bits.ctypes.state_address).value
    kept = bits.state["state"]
    return place is not None and ctypes.string_at(place, 32) == b"".join(
        kept[name].to_bytes(16, "little") for name in ("state", "inc")
    )


def _next_double() -> int:
    bits = np.random.PCG64(1)
    if not is_laid_out_as_expected(bits):
        return _NO_FUNCTION
    return ctypes.cast(bits.ctypes.next_double, ctypes.c_void_p).value or _NO_FUNCTION


binding.add_symbol(_SYMBOL, _next_double())


@in_place_of(uniform)
def _uniform(typing: Any, rng: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        generator = cgutils.create_struct_proxy(signature.args[0])(context, builder, value=args[0])
        kind = types.NumPyRandomBitGeneratorType("bit_generator")
        bits = cgutils.create_struct_proxy(kind)(context, builder, value=generator.bit_generator)
        wide, double = ir.IntType(64), ir.DoubleType()
        function = ir.FunctionType(double, [wide])
        known = cgutils.get_or_insert_function(builder.module, function, _SYMBOL)
        drawn = cgutils.alloca_once(builder, double)
        is_pcg64 = builder.icmp_unsigned("==", bits.fnptr_next_double, builder.ptrtoint(known, wide))
        with builder.if_else(is_pcg64, likely=True) as (step, call):
            with step:
                builder.store(_step(builder, bits.state_address), drawn)
            with call:
                pointer = builder.inttoptr(bits.fnptr_next_double, function.as_pointer())
                builder.store(builder.call(pointer, [bits.state]), drawn)
        return builder.load(drawn)

    return types.float64(rng), generate


def _step(builder: Any, address: Any) -> Any:
    """Step the generator of 128 bits, and turn its halves into 64 bits (XSL RR) and the upper 53 into a float."""
    wide, huge, double = ir.IntType(64), ir.IntType(128), ir.DoubleType()
    place = builder.load(builder.inttoptr(address, huge.as_pointer().as_pointer()))
    before = builder.load(place)
    increment = builder.load(builder.gep(place, [ir.IntType(32)(1)]))
    after = builder.add(builder.mul(before, huge(_FACTOR)), increment)
    kept = builder.store(after, place)
    before.align = increment.align = kept.align = 8
    high, low = (builder.trunc(half, wide) for half in (builder.lshr(after, huge(64)), after))
    turned = builder.module.declare_intrinsic("llvm.fshr", [wide], ir.FunctionType(wide, [wide] * 3))
    mixed = builder.xor(high, low)
    word = builder.call(turned, [mixed, mixed, builder.lshr(high, wide(58))])
    return builder.fmul(builder.uitofp(builder.lshr(word, wide(11)), double), double(2.0**-53))
