"""Array types that annotations share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

#: Of whatever type.
Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
#: Positions of rows or columns in an array.
Positions = npt.NDArray[np.intp]
