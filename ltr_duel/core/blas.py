"""numba's array functions without scipy.linalg, until a kernel multiplies matrices.

When numba loads them, for the first kernel of a process, it imports scipy.linalg to see whether that is there, a tenth
of a second. It is: this package needs scipy. Before a product is compiled numba looks all the same, for later versions
of numba also refuse a scipy whose BLAS takes integers of another width: its products would be wrong, or crash.
"""

from __future__ import annotations

import sys

from numba.np import linalg

_ensure_blas = linalg.ensure_blas


def _ensure_blas_when_used() -> None:
    if hasattr(sys.modules.get("numba.np.arraymath"), "_HAVE_BLAS"):  # else it is being loaded, and asks for this
        _ensure_blas()


def import_blas_when_used() -> None:
    """Let numba import scipy.linalg when it compiles a product of matrices, and not before."""
    linalg.ensure_blas = _ensure_blas_when_used
