"""numba's ``min``, ``max`` and ``int`` of numbers, put into kernels directly.

numba compiles a function for each of them, for each type of numbers and each kind of caller. Here the same instructions
stand in the kernel that asks for them. numba's own is left to all that is not one or two numbers.
"""

from __future__ import annotations

import operator
from typing import Any

from numba import types
from numba.core.typing import signature, templates
from numba.cpython.builtins import do_minmax
from numba.extending import lower_builtin

_FIRST = {"target": "cpu"}  # numba asks what is for one target before what is for all


def put_scalars_in_place() -> None:
    """Let numba use them, in the whole process."""
    for function, order in ((min, operator.lt), (max, operator.gt)):
        _offer(function, _type_of_two)
        lower_builtin(function, types.Number, types.Number)(_chosen_by(order))
    _offer(int, _type_of_whole)
    for given in (types.Number, types.Boolean):
        lower_builtin(int, given)(_whole)


def _offer(function: Any, typed: Any) -> None:
    members = {"key": function, "metadata": _FIRST, "generic": typed}
    template = type(f"{function.__name__} of numbers", (templates.AbstractTemplate,), members)
    templates.infer_global(function, types.Function(template))


def _type_of_two(self: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
    if kws or len(args) != 2 or not all(isinstance(kind, types.Integer | types.Float) for kind in args):
        return None
    return signature(self.context.unify_types(*args), *args)


def _chosen_by(order: Any) -> Any:
    return lambda context, builder, signature, args: do_minmax(context, builder, signature.args, args, order)


def _type_of_whole(self: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
    if kws or len(args) != 1 or not isinstance(args[0], types.Integer | types.Float | types.Boolean):
        return None
    return signature(args[0] if isinstance(args[0], types.Integer) else types.intp, *args)


def _whole(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return context.cast(builder, args[0], signature.args[0], signature.return_type)
