"""Python's ``min``, ``max`` and ``int`` of numbers, as instructions within a kernel.

Otherwise numba compiles a function for each of the three, for each type of numbers and each kind of caller: half of all
functions that a first simulation compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types

from ltr_duel.core._machine.instructions import put_in_place


def _chosen_by(order: str) -> Callable[..., Any]:
    """Return instructions that select the earlier of two numbers in an order, the first if they are equal."""

    def define(typing: Any, a: Any, b: Any) -> Any:
        if not (isinstance(a, types.Integer | types.Float) and isinstance(b, types.Integer | types.Float)):
            return None
        kind = typing.unify_types(a, b)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            one, other = (
                context.cast(builder, value, given, kind) for value, given in zip(args, signature.args, strict=True)
            )
            if isinstance(kind, types.Float):
                second = builder.fcmp_ordered(order, other, one)
            else:
                compare = builder.icmp_signed if kind.signed else builder.icmp_unsigned
                second = compare(order, other, one)
            return builder.select(second, other, one)

        return kind(a, b), generate

    return define


def _whole(typing: Any, number: Any) -> Any:
    if not isinstance(number, types.Integer | types.Float | types.Boolean):
        return None
    kind = number if isinstance(number, types.Integer) else types.intp

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.cast(builder, args[0], signature.args[0], kind)

    return kind(number), generate


put_in_place(min, _chosen_by("<"))
put_in_place(max, _chosen_by(">"))
put_in_place(int, _whole)
