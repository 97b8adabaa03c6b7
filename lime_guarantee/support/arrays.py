"""Names for the array types used throughout, and the one way to freeze an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
ByteArray = NDArray[np.uint8]
AnyArray = NDArray[Any]


def frozen(values: object) -> FloatArray:
    """A read-only float64 copy; what is one already is returned as it is."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and not values.flags.writeable:
        return values
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array
