"""The options with which numba compiles kernels.

Undocumented options make kernels faster and do not change results. They are used only if the installed numba has them.
``LTR_DUEL_COMPILER=plain`` switches them off.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba

from ltr_duel.core.errors import InputError

# No kernel produces a NaN or depends on the sign of a zero; given this promise, LLVM vectorises a maximum.
_DOCUMENTED: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"nnan", "nsz"}}

# The value of each option, and a test of its effect on the compiler's flags.
_UNDOCUMENTED: dict[str, tuple[bool, Callable[[Any], bool]]] = {
    "_nrt": (False, lambda flags: not flags.nrt),  # without reference counts, small steps are several times faster
    "no_cfunc_wrapper": (True, lambda flags: bool(flags.no_cfunc_wrapper)),  # kernels are not called from C
    "no_cpython_wrapper": (True, lambda flags: bool(flags.no_cpython_wrapper)),
    "forceinline": (True, lambda flags: bool(flags.forceinline)),
}


def is_effective(name: str) -> bool:
    """Return whether an undocumented option has the expected effect in the installed numba."""
    value, shows = _UNDOCUMENTED[name]
    try:
        from numba.core.compiler import Flags
        from numba.core.cpu import CPUTargetOptions

        with_it, without = (CPUTargetOptions.parse_as_flags(Flags(), options) for options in ({name: value}, {}))
        return shows(with_it) and not shows(without)
    except Exception:  # any exception means that the private interface has changed
        return False


def _is_plain() -> bool:
    wanted = os.environ.get("LTR_DUEL_COMPILER", "")
    if wanted not in ("", "plain"):
        raise InputError(f"LTR_DUEL_COMPILER must be 'plain' or unset, not '{wanted}'")
    return bool(wanted)


_USED = {} if _is_plain() else {name: value for name, (value, _) in _UNDOCUMENTED.items() if is_effective(name)}
_CALLED, _INLINED = "no_cpython_wrapper", "forceinline"  # options that only some kernels use
KERNEL = _DOCUMENTED | {name: value for name, value in _USED.items() if name not in (_CALLED, _INLINED)}
CALLED = {name: value for name, value in _USED.items() if name == _CALLED}  # for kernels that only other kernels call
INLINED = KERNEL | {name: value for name, value in _USED.items() if name == _INLINED}


def compiler() -> str:
    """Return the version of numba, and the undocumented options in use."""
    if numba.config.DISABLE_JIT:
        return "interpreted"
    return f"numba {numba.__version__}, {'plain' if _is_plain() else ', '.join(sorted(_USED))}"
