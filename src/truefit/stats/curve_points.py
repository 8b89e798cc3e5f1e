"""Measured points of learning curves, many curves side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Points:
    """Curves in rows, sizes ascending; shorter ones are filled up with NaN on the left, so that all end together.

    Attributes
    ----------
    sizes, errors : array of shape (curves, points)
    stderr : array of shape (curves, points) or None
        Standard errors of the errors, None where they are not known.
    covariance : array of shape (curves, points, points) or None
        Of the errors, where samples share rows; 0 where there is no point. None where that is not known.
    """

    sizes: Floats
    errors: Floats
    stderr: Floats | None = None
    covariance: Floats | None = None

    @classmethod
    def of(
        cls,
        sizes: Sequence[npt.ArrayLike],
        errors: Sequence[npt.ArrayLike],
        stderr: Sequence[npt.ArrayLike] | None = None,
    ) -> Points:
        """Put curves of different lengths side by side.

        Examples
        --------
        >>> Points.of([[10, 20], [10, 20, 40]], [[0.3, 0.2], [0.4, 0.3, 0.2]]).sizes.tolist()
        [[nan, 10.0, 20.0], [10.0, 20.0, 40.0]]
        """
        filled = [_filled(column) for column in (sizes, errors, stderr) if column is not None]
        return cls(*filled)

    @property
    def used(self) -> npt.NDArray[np.bool_]:
        """Where there is a point."""
        return np.isfinite(self.sizes)

    @property
    def last(self) -> Floats:
        """The largest size of each curve."""
        return self.sizes[:, -1]

    @property
    def share(self) -> Floats:
        """Sizes as shares of the largest; 0 where there is no point."""
        return np.where(self.used, self.sizes / self.last[:, None], 0.0)

    def end(self, count: int) -> Floats:
        """Mean of the last errors of each curve."""
        return np.asarray(np.nanmean(self.errors[:, -count:], axis=1))

    def around(self, share: float, count: int = 3) -> Floats:
        """Mean of the errors at the sizes that are nearest, as a ratio, to a share of the largest."""
        with np.errstate(divide="ignore"):
            distance = np.abs(np.log(self.share / share))
        nearest = np.argsort(distance, axis=1, kind="stable")[:, :count]
        return np.asarray(np.nanmean(np.take_along_axis(self.errors, nearest, axis=1), axis=1))

    def smoothed(self) -> Floats:
        """Means of three neighbours; NaN where there are not three. At least three points are needed."""
        return (self.errors[:, 2:] + self.errors[:, 1:-1] + self.errors[:, :-2]) / 3


def _filled(rows: Sequence[npt.ArrayLike]) -> Floats:
    columns = [np.asarray(row, dtype=np.float64) for row in rows]
    filled = np.full((len(columns), max(map(len, columns), default=0)), np.nan)
    for row, column in zip(filled, columns, strict=True):
        row[len(row) - len(column) :] = column
    return filled
