"""Tables large enough to keep many rows aside: a sample to choose on, and the rest to judge the choice by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

#: Rows that a choice is made on, and at most so many that it is judged by.
ROWS, TEST_ROWS = 600, 8_000


@dataclass(frozen=True)
class Table:
    """A classification table of the data folder; numbers stay, each category becomes a column."""

    name: str
    #: From which grade on a number counts as the second class; for targets that are grades.
    good_from: float | None = None

    def drawn(self, folder, seed):
        """Return rows to choose on and rows to judge by, X and y of each."""
        frame = pd.read_parquet(folder / f"{self.name}.parquet")
        target = frame.pop(frame.columns[-1])
        y = (
            target.astype(str).to_numpy()
            if self.good_from is None
            else (target >= self.good_from).to_numpy().astype(int)
        )
        X = pd.get_dummies(frame, dummy_na=False).to_numpy(float)
        chosen, rest = train_test_split(np.arange(len(y)), train_size=ROWS, random_state=seed, stratify=y)
        rest = rest[:TEST_ROWS]
        return (X[chosen], y[chosen]), (X[rest], y[rest])


TABLES = (
    Table("adult"),
    Table("bank_marketing"),
    Table("connect4"),
    Table("letter"),
    Table("spambase"),
    Table("wine_quality", good_from=6),
)
