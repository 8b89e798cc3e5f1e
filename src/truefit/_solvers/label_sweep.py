"""LabelSweep: many label vectors for the same rows, as class codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.task import Fit
from truefit._core.typing import Floats

Codes = npt.NDArray[np.unsignedinteger[Any]]

#: Rows that are worked on together: as many as stay in the processor's cache.
STRETCH = 2048


@dataclass(frozen=True, slots=True, eq=False)
class LabelSweep:
    """Label vectors in which the same classes occur.

    ``places`` says which fits they are of; ``codes`` has a row for each, ``counts`` says how often each class occurs.
    """

    places: list[int]
    classes: npt.NDArray[Any]
    codes: Codes
    counts: npt.NDArray[np.intp]

    def sums(self, *tables: Floats) -> list[Floats]:
        """Add up the rows of each table by class under each label vector: shape (classes, vectors, columns)."""
        vectors, n = self.codes.shape
        others = np.arange(1, len(self.classes), dtype=self.codes.dtype)[:, None, None]
        found = [np.zeros((len(others) * vectors, table.shape[1])) for table in tables]
        for stretch in stretches(n):
            here = (self.codes[:, stretch] == others).reshape(len(others) * vectors, -1).astype(np.float64)
            for sums, table in zip(found, tables, strict=True):
                sums += here @ table[stretch]
        return [
            self._with_first(sums.reshape(len(others), vectors, -1), table)
            for sums, table in zip(found, tables, strict=True)
        ]

    def _with_first(self, sums: Floats, table: Floats) -> Floats:
        first = np.ones(len(table)) @ table - sums.sum(axis=0)
        return np.concatenate([first[None], sums])

    def parts(self, largest: int) -> list[LabelSweep]:
        """Return the same in parts of at most so many vectors."""
        cuts = [slice(start, start + largest) for start in range(0, len(self.places), largest)]
        return [LabelSweep(self.places[cut], self.classes, self.codes[cut], self.counts[cut]) for cut in cuts]


def stretches(n: int) -> list[slice]:
    """Cut ``n`` rows into stretches."""
    return [slice(start, start + STRETCH) for start in range(0, n, STRETCH)]


def label_sweeps(fits: Sequence[Fit], data: Data, index: npt.NDArray[np.intp]) -> list[LabelSweep]:
    """Return the labels that the fits have at ``index``, those with the same classes together.

    Vectors with a label that the table does not have, or with one class only, are left out.

    Examples
    --------
    >>> from truefit._core.rows import Rows
    >>> data = Data([[0.0], [1.0], [2.0]], ["a", "b", "c"], task="classification")
    >>> labels = [None, np.array(["c", "b", "a"]), np.array(["a", "a", "b"]), np.array(["a", "z", "b"])]
    >>> fits = [Fit(str(i), b"", b"", None, Rows.all(3), (), y=y) for i, y in enumerate(labels)]
    >>> for sweep in label_sweeps(fits, data, np.arange(3)):
    ...     print(sweep.places, sweep.classes.tolist(), sweep.codes.tolist())
    [0, 1] ['a', 'b', 'c'] [[0, 1, 2], [2, 1, 0]]
    [2] ['a', 'b'] [[0, 0, 1]]
    """
    known = data.classes
    if known is None:
        return []
    labels = [data.y if fit.y is None else fit.y for fit in fits]
    everything = len(index) == data.n and bool((index[1:] > index[:-1]).all())
    if not everything:
        labels = [each[index] for each in labels]
    codes, counts = all_coded(labels, known)
    together: dict[bytes, list[int]] = {}
    for place, (complete, present) in enumerate(zip(counts.sum(axis=1) == len(index), counts > 0, strict=True)):
        if complete:
            together.setdefault(present.tobytes(), []).append(place)
    sweeps = []
    for present_bytes, places in together.items():
        mask = np.frombuffer(present_bytes, dtype=bool)
        if mask.sum() > 1:
            matrix = codes if len(places) == len(fits) else codes[places]
            if not mask.all():
                matrix = (np.cumsum(mask) - 1).astype(matrix.dtype)[matrix]
            sweeps.append(LabelSweep(places, known[mask], matrix, counts[places][:, mask]))
    return sweeps


def all_coded(vectors: Sequence[npt.NDArray[Any]], classes: npt.NDArray[Any]) -> tuple[Codes, npt.NDArray[np.intp]]:
    """Return labels as positions in ``classes``, and how often each occurs: too few where a label is not there.

    Both have a row for each vector.
    """
    codes = np.zeros((len(vectors), len(vectors[0])), dtype=np.min_scalar_type(len(classes)))
    counts = np.zeros((len(vectors), len(classes)), dtype=np.intp)
    usual = "U" if classes.dtype.kind == "U" else "biuf"
    places = [place for place, labels in enumerate(vectors) if labels.ndim == 1 and labels.dtype.kind in usual]
    here = np.empty((len(places), codes.shape[1]), dtype=bool)
    # Faster than to search: the classes are few, and comparing runs through the labels at full speed.
    for code, one in enumerate(classes):
        for row, place in enumerate(places):
            np.equal(vectors[place], one, out=here[row])
        counts[places, code] = np.count_nonzero(here, axis=1)
        if code:
            codes[places] += here * codes.dtype.type(code)
    return codes, counts


def coded(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> tuple[Codes, npt.NDArray[np.intp]]:
    """Return the same for a single vector."""
    codes, counts = all_coded([labels], classes)
    return codes[0], counts[0]


def classes_for(fit: Fit, classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the classes in the type of the fit's own labels, as its model would have them."""
    return classes if fit.y is None else classes.astype(fit.y.dtype, copy=False)
