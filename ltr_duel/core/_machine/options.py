"""Which options numba compiles kernels with, and how they were chosen.

Three options are documented. The others are not, and each is used only if the installed numba accepts it and shows its
effect; without them kernels return the same values, later. ``LTR_DUEL_COMPILER`` chooses: ``fast`` (the default; it is
``plain`` with a version of numba that was not tested), ``plain``, or ``documented`` (no undocumented option).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba

MODES = ("fast", "plain", "documented")
TESTED = ((0, 62), (0, 68))  # the lowest and the highest version of numba that ``fast`` was tested with

# No kernel makes a NaN or depends on the sign of a zero; with that promise LLVM vectorises a maximum.
_DOCUMENTED: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"nnan", "nsz"}}

# Each with the value that is wanted, and how the compiler's flags show it.
_UNDOCUMENTED: dict[str, tuple[Any, Callable[[Any], bool]]] = {
    "_nrt": (False, lambda flags: not flags.nrt),  # no reference counts: small steps are several times faster
    "no_cfunc_wrapper": (True, lambda flags: bool(flags.no_cfunc_wrapper)),  # no kernel is handed to C
    "no_cpython_wrapper": (True, lambda flags: bool(flags.no_cpython_wrapper)),
    "forceinline": (True, lambda flags: bool(flags.forceinline)),
}


def effective(name: str) -> bool:
    """Whether the installed numba has an undocumented option, and the option does what its name says."""
    value, shows = _UNDOCUMENTED[name]
    try:
        from numba.core.compiler import Flags
        from numba.core.cpu import CPUTargetOptions

        flags = CPUTargetOptions.parse_as_flags(Flags(), {"nopython": True, name: value})
        return shows(flags) and not shows(CPUTargetOptions.parse_as_flags(Flags(), {"nopython": True}))
    except Exception:  # whatever a private interface raises, it is not the one that was tested
        return False


def _mode() -> str:
    wanted = os.environ.get("LTR_DUEL_COMPILER", "fast")
    if wanted not in MODES:
        raise ValueError(f"LTR_DUEL_COMPILER is {', '.join(MODES[:-1])} or {MODES[-1]}, not {wanted!r}")
    tested = TESTED[0] <= tuple(map(int, numba.__version__.split(".")[:2])) <= TESTED[1]
    return wanted if tested or wanted != "fast" else "plain"


MODE = _mode()
_USED = {name: value for name, (value, _) in _UNDOCUMENTED.items() if MODE != "documented" and effective(name)}

_ROLES = ("no_cpython_wrapper", "forceinline")  # of some kernels only
KERNEL = _DOCUMENTED | {name: value for name, value in _USED.items() if name not in _ROLES}
CALLED = {name: value for name, value in _USED.items() if name == "no_cpython_wrapper"}  # by other kernels only
INLINED = KERNEL | {name: value for name, value in _USED.items() if name == "forceinline"}


def compiler() -> str:
    """Return how kernels are compiled: the mode, and the undocumented options that are in use.

    Examples
    --------
    >>> compiler().split()[0] in ("fast", "plain", "documented", "interpreted")
    True
    """
    if numba.config.DISABLE_JIT:
        return "interpreted"
    return f"{MODE} ({', '.join(sorted(_USED)) or 'documented options only'})"
