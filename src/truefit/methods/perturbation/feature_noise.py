"""Noise in the features: rows whose values come from other rows, column by column.

A fit knows its rows by their content, so disturbed rows are rows of their own: they stand below the table's, as many
for each repeat, and a level says how many rows are replaced by theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from truefit.core.data import Data
from truefit.core.rows import Rows
from truefit.core.stacked import stacked
from truefit.methods.perturbation.noise import Disturbed, count

Places = npt.NDArray[np.intp]


def with_disturbed_rows(data: Data, repeats: int, random_state: int | None) -> Data:
    """Return the table with a disturbed copy of it below for each repeat; the rows above stay what they are.

    In a copy every value comes from another row, for each column from one drawn anew, so that the columns keep their
    values and lose what they have to do with each other and with the target.

    Examples
    --------
    >>> data = Data(np.arange(6.0).reshape(3, 2), [1.0, 2.0, 3.0], task="regression")
    >>> below = with_disturbed_rows(data, 2, None).X[3:6]
    >>> sorted(below[:, 0].tolist()) == [0.0, 2.0, 4.0], bool((below != data.X).all())
    (True, True)
    """
    donors = np.concatenate([_donors(data, repeat, random_state) for repeat in range(repeats)])
    tiled = np.tile(np.arange(data.n), repeats + 1)
    return Data(
        stacked(data.X, _gathered(data.X, donors)),
        data.y[tiled],
        task=data.task,
        groups=None if data.groups is None else data.groups[tiled],
        weight=None if data.weight is None else data.weight[tiled],
    )


def _donors(data: Data, repeat: int, random_state: int | None) -> Places:
    """For each row and column the row that gives the value: never the row itself."""
    width = int(np.prod(data.X.shape[1:], dtype=np.int64))
    seed = f"features {data.total[0]:016x}{data.total[1]:016x} {data.n} {random_state} {repeat}"
    random = np.random.default_rng(int.from_bytes(blake2b(seed.encode(), digest_size=16).digest(), "little"))
    by_content = np.lexsort((data.tokens[:, 1], data.tokens[:, 0]))
    donors = np.empty((data.n, width), dtype=np.intp)
    for column in range(width):
        order = by_content[random.permutation(data.n)]
        donors[order, column] = np.roll(order, 1)
    return donors


def _gathered(X: Any, donors: Places) -> Any:
    """Values of X at the donors, as a table of X's own kind."""
    if sparse.issparse(X):
        columns = X.tocsc()
        parts = [columns[:, [j]][donors[:, j]] for j in range(X.shape[1])]
        return sparse.hstack(parts, format="csr", dtype=X.dtype)
    if hasattr(X, "iloc"):
        import pandas as pd

        series = [X.iloc[donors[:, j], j].reset_index(drop=True) for j in range(X.shape[1])]
        frame = pd.concat(series, axis=1)
        # The labels of rows go with the copies, as they do with the rows.
        return frame if X.index.dtype.kind in "iu" else frame.set_axis(np.tile(X.index, len(donors) // len(X)))
    if type(X).__module__.startswith("polars"):
        import polars as pl

        return pl.DataFrame([column.gather(donors[:, j]) for j, column in enumerate(X.get_columns())])
    return np.take_along_axis(X.reshape(len(X), -1), donors, axis=0).reshape(len(donors), *X.shape[1:])


@dataclass(frozen=True)
class DisturbedFeatures:
    """A share of the rows replaced by their disturbed copies.

    Parameters
    ----------
    data : Data
        From :func:`with_disturbed_rows`.
    rows : int
        How many rows the table itself has.
    random_state : int, optional
    """

    data: Data
    rows: int
    random_state: int | None = None

    def at(self, repeat: int, level: float) -> Disturbed:
        """Return the table with this share of its rows replaced."""
        replaced = count(level, self.rows)
        by_content = np.lexsort((self.data.tokens[: self.rows, 1], self.data.tokens[: self.rows, 0]))
        seed = blake2b(f"rows {self.random_state} {repeat} {level:.12g}".encode(), digest_size=16).digest()
        chosen = np.random.default_rng(int.from_bytes(seed, "little")).permutation(by_content)[:replaced]
        index = np.arange(self.rows)
        index[chosen] += self.rows * (repeat + 1)
        index = np.sort(index)
        data = self.data
        weight = None if data.weight is None else data.weight[index]
        return Disturbed(Rows.of(index), None, data.y[index], weight, replaced / self.rows, data.classes)

    def ideal(self, agreement: float) -> float | None:
        """Only the predictions on the disturbed rows can tell."""
        return None
