"""Part: some rows of a table, with what splitting needs to know of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.errors import InvalidInput


class Part:
    """Some rows of a table as a table of their own to be split.

    With ``rare_classes`` rows are still dealt out class by class, but folds that lack a class are not refused.
    """

    def __init__(self, data: Data, rows: npt.NDArray[np.intp], *, rare_classes: bool = False) -> None:
        self.n = len(rows)
        self.y = data.y[rows]
        self.tokens = data.tokens[rows]
        self.groups = None if data.groups is None else data.groups[rows]
        self.classes: npt.NDArray[Any] | None = None
        self.codes: npt.NDArray[Any] | None = None
        if data.task == "classification":
            self.classes, self.codes = np.unique(self.y, return_inverse=True)
            if len(self.classes) < 2:
                raise InvalidInput(
                    f"A training part of the splits has only rows of class {self.classes[0]!r}. Stratify the splits."
                )
            if rare_classes:
                self.classes = None
