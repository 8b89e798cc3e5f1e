"""DelimitedReader: rows of a CSV or TSV file by where they stand in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from truefit.sources.delimited import checked_layout, stretches
from truefit.sources.files import DELIMITED, ending_of, file_errors, stem
from truefit.sources.reader import KeyKind, positions
from truefit.sources.sequence import Keys

if TYPE_CHECKING:
    import pandas as pd

#: Stands for a stretch in which a column has no value, and for a gap among yes and no.
_GAP: Final = "gap"


class DelimitedReader:
    """Rows of delimited text, which is looked through in stretches and never held.

    The file is looked through once to count its rows and to settle the types of its columns as a reading of the
    whole would: a column that is numbers in one sample and text in another would be two different columns.

    Parameters
    ----------
    path : Path
    target : str, optional
        Checked not to be there twice.
    """

    kind: KeyKind = "position"

    def __init__(self, path: Path, target: str | None) -> None:
        self.name = stem(path)
        self.place = str(path.resolve())
        self._path = path
        with file_errors(path):
            self._layout = checked_layout(path, target, separator=DELIMITED[ending_of(path)])
            self.notes: tuple[str, ...] = () if self._layout.note is None else (self._layout.note,)
            self.total, self._types = self._survey()

    def all_keys(self) -> Iterator[Keys]:
        """Every row's position."""
        return positions(self.total)

    def read(self, keys: Keys) -> pd.DataFrame:
        """Rows at these positions, in this order."""
        import pandas as pd

        wanted = np.sort(keys)
        picked, offset = [], 0
        # Text that is yes, no or nothing has no type to read it as: each stretch settles its own.
        types = {column: kind for column, kind in self._types.items() if kind != "object"}
        with file_errors(self._path), closing(stretches(self._path, layout=self._layout, types=types)) as chunks:
            for stretch in chunks:
                low, high = np.searchsorted(wanted, [offset, offset + len(stretch)])
                if low < high or not offset:
                    picked.append(stretch.iloc[wanted[low:high] - offset].astype(self._types))
                offset += len(stretch)
                if high == len(wanted):
                    break
        frame = pd.concat(picked, ignore_index=True)
        # Rows that have gone meanwhile are missing at the end; whoever asked counts them.
        places = np.searchsorted(wanted, keys)
        return frame.iloc[places[places < len(frame)]]

    def _survey(self) -> tuple[int, dict[str, Any]]:
        total, kinds = 0, defaultdict[str, set[str]](set)
        for stretch in stretches(self._path, layout=self._layout):
            total += len(stretch)
            for column, values in stretch.items():
                kinds[str(column)] |= _kinds(values)
        return total, {column: _whole(found) for column, found in kinds.items()}


def _kinds(values: pd.Series[Any]) -> set[str]:
    known = values.dropna() if values.dtype.kind != "i" else values
    if not len(known):
        return {_GAP}
    kind = str(values.dtype)
    if kind == "object" and all(isinstance(value, bool) for value in known):
        return {"bool", _GAP}
    # Gaps matter to whole numbers only, and a stretch of those that has one is floats already.
    return {kind}


def _whole(kinds: set[str]) -> str:
    """Type of a whole column, by those of its stretches."""
    if kinds in ({"int64"}, {"bool"}):
        return next(iter(kinds))
    if kinds == {"bool", _GAP}:
        return "object"
    return "float64" if kinds <= {"int64", "float64", _GAP} else "str"
