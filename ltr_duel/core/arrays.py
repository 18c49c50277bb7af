"""Names for the array types that kernels read and write. Vectors are one-dimensional, matrices two-dimensional."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatVector: TypeAlias = NDArray[np.float64]
FloatMatrix: TypeAlias = NDArray[np.float64]
IntVector: TypeAlias = NDArray[np.int64]
IntMatrix: TypeAlias = NDArray[np.int64]
SmallIntVector: TypeAlias = NDArray[np.int16]  # grades, positions and ranks within a query
SmallIntMatrix: TypeAlias = NDArray[np.int16]
SignMatrix: TypeAlias = NDArray[np.int8]  # -1, 0, +1
MarkVector: TypeAlias = NDArray[np.uint8]  # 0 or 1
MarkMatrix: TypeAlias = NDArray[np.uint8]  # 0 or 1
