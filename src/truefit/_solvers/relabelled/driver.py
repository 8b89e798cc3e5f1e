"""The driver for other labels: many label vectors on the same rows, what depends on X alone computed once."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn import get_config

from truefit._core.data import Data
from truefit._core.outcome import Predictions
from truefit._core.protocols import Fit, Job, Response
from truefit._core.typing import Array, Floats, Positions
from truefit._solvers.closed_form.rounding import ClassScores
from truefit._solvers.plain import checked, labels_of, row_blocks
from truefit._solvers.registry import EstimatorFamilies, GroupSolver, RowsRequest, SharedResult, rows_requests

Codes = npt.NDArray[np.unsignedinteger[Any]]

#: Rows that are worked on together: as many as stay in the processor's cache.
STRETCH = 2048


@dataclass(frozen=True, slots=True, eq=False)
class LabelSweep:
    """Label vectors with the same classes: their fits (``places``), a row of ``codes`` and of class ``counts`` each."""

    places: list[int]
    classes: Array
    codes: Codes
    counts: Positions

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


def label_sweeps(fits: Sequence[Fit], data: Data, index: Positions) -> list[LabelSweep]:
    """Return the labels of the fits at ``index``, grouped by the classes that occur.

    Vectors with a label that the table does not have, or with one class only, are dropped.
    """
    known = data.classes
    if known is None:
        return []
    labels = [labels_of(fit, data) for fit in fits]
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


def all_coded(vectors: Sequence[Array], classes: Array) -> tuple[Codes, Positions]:
    """Return labels as positions in ``classes``, a row for each vector, and their counts, without unknown labels."""
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


def coded(labels: Array, classes: Array) -> tuple[Codes, Positions]:
    """Return the same for a single vector."""
    codes, counts = all_coded([labels], classes)
    return codes[0], counts[0]


def classes_for(fit: Fit, classes: Array) -> Array:
    """Return the classes in the type of the fit's own labels, as its model would have them."""
    return classes if fit.y is None else classes.astype(fit.y.dtype, copy=False)


#: Label codes of one job take at most about this much.
LABEL_BYTES = 64 << 20
#: So do the numbers that are worked with at a time.
WORK_BYTES = 32 << 20


class RelabelledSolver(GroupSolver):
    """Fits on the same rows with other labels: the work that depends on X alone is done once for all of them."""

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job, or a few, for each family of estimators and each set of training rows with at least two fits."""
        if get_config()["enable_metadata_routing"] or not self._takes_weights(data):
            return []
        families = EstimatorFamilies(self.path)
        groups: dict[tuple[bytes, tuple[int, int], int], list[Fit]] = defaultdict(list)
        for fit in fits:
            if type(fit.estimator) in self.kinds and self._can_answer(fit):
                family = families.of(fit)
                if family is not None:
                    groups[family, data.digest(fit.train), len(fit.train)].append(fit)
        served = [some for group in groups.values() if len(some := self._served(group, data)) > 1]
        jobs: list[Job] = []
        if served and self.takes(data):
            for group in served:
                most = max(2, min(self.most, LABEL_BYTES // max(len(group[0].train), 1)))
                jobs.extend(self._job(group[i : i + most]) for i in range(0, len(group), most))
        return jobs

    def takes(self, data: Data) -> bool:
        """Whether X is a table that can be worked with: dense, finite, and of full precision."""
        return full_precision(data)


def add_responses(
    request: RowsRequest,
    results: Sequence[SharedResult | None],
    data: Data,
    scores_of: Callable[[Positions], Callable[[Response, int], Array]],
) -> None:
    """Add answers to the results of those fits that have one, row block by row block as in plain fitting.

    ``scores_of`` gets the positions of a block, and returns a function for the response of each fit; labels as codes.
    """
    index = request.rows.index
    parts: dict[tuple[Response, int], list[Array]] = {
        (response, place): []
        for response, places in request.wanted.items()
        for place in places
        if results[place] is not None
    }
    for block in row_blocks(index, data) if parts else ():
        respond = scores_of(block)
        for (response, place), values in parts.items():
            values.append(checked(respond(response, place), len(block), response))
    tokens = data.tokens_of(request.rows)
    for (response, place), values in parts.items():
        result = results[place]
        assert result is not None
        coded = response == "predict" and result.classes is not None
        whole = values[0] if len(values) == 1 else np.concatenate(values)
        result.answers.append(Predictions(response, tokens, whole, coded))


def full_precision(data: Data) -> bool:
    """Whether X is a dense table of whole numbers or floats of double precision, all of them finite."""
    X = data.X
    if hasattr(X, "iloc"):
        if len({isinstance(name, str) for name in X.columns}) > 1:  # which scikit-learn refuses
            return False
        dtypes = list(X.dtypes)
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        dtypes = [X.dtype]
    else:
        return False
    if not (dtypes and X.shape[1] and all(isinstance(one, np.dtype) and one.kind in "iuf" for one in dtypes)):
        return False
    if any(one.kind == "f" and one != np.float64 for one in dtypes):
        return False
    return bool(np.isfinite(np.asarray(X)).all()) if any(one.kind == "f" for one in dtypes) else True


def as_floats(X: Any) -> Floats:
    """Return a table as scikit-learn sees it; ValueError if a value is missing or infinite."""
    floats = np.asarray(X, dtype=np.float64)
    if not np.isfinite(floats).all():
        raise ValueError("X must be finite. Got NaN or infinite values.")
    return floats


def centred(X: Floats, centre: Floats) -> Floats:
    """Return rows counted from a centre."""
    # Several rows at a time: numpy goes through short rows at a tenth of its speed.
    n, p = X.shape
    many = max(1, 512 // max(p, 1))
    if not X.flags.c_contiguous or n < many:
        return X - centre
    whole = n - n % many
    values = np.empty((n, p))
    np.subtract(X[:whole].reshape(-1, many * p), np.tile(centre, many), out=values[:whole].reshape(-1, many * p))
    np.subtract(X[whole:], centre, out=values[whole:])
    return values


#: Tables of which a score is a linear function, a row for each row of X.
Features = tuple[Floats, ...]


class ScoreModels(Protocol):
    """Models of classifiers that differ in their labels or training rows, by scores of the classes."""

    def some(self, models: Sequence[int]) -> ScoreModels:
        """Return some of the models."""

    def leads(self, features: Features) -> Floats:
        """Return how far the classes lead over the first, of shape (classes - 1, models, rows)."""

    def error(self, features: Features) -> Floats:
        """Return for each model how far these may be from those of plain fitting."""


class RelabelledTable(Protocol):
    """Training rows, and what of them does not depend on the labels; ``own`` are their features."""

    own: Features

    def features(self, X: Floats) -> Features:
        """Return the features of other rows."""

    def models(self, sweep: LabelSweep) -> ScoreModels | None:
        """Fit all label vectors of a sweep; None where the parameters do not suit its classes."""


class RelabelledScoresSolver(RelabelledSolver):
    """Answers from scores: the labels of the classes that lead, and their probabilities."""

    #: Whether probabilities of two classes are a logistic function of one score.
    logistic = False

    @abstractmethod
    def table(self, X: Floats, estimator: Any) -> RelabelledTable:
        """Return the training rows, ready for any labels."""

    def results(self, fits: Sequence[Fit], data: Data) -> Sequence[SharedResult | None]:
        """Compute all models, then their responses on all rows."""
        index = fits[0].train.index
        results: list[SharedResult | None] = [None] * len(fits)
        with np.errstate(all="ignore"):  # what comes out as NaN or infinite is not trusted
            X = data.X if fits[0].train.whole else data.take(index)
            table = self.table(as_floats(X), fits[0].estimator)
            for whole in label_sweeps(fits, data, index):
                for sweep in whole.parts(max(1, WORK_BYTES // (8 * STRETCH * len(whole.classes)))):
                    models = table.models(sweep)
                    if models is None:
                        continue
                    swept = [fits[place] for place in sweep.places]
                    given = [SharedResult(classes_for(fit, sweep.classes)) for fit in swept]
                    for request in rows_requests(swept):
                        own = table.own if request.rows == fits[0].train else None
                        blocks = _blocks(request.rows.index, own, table, data)
                        self._add_responses(request, blocks, models, given, data)
                    for place, result in zip(sweep.places, given, strict=True):
                        results[place] = result
        return results

    def _add_responses(
        self,
        request: RowsRequest,
        blocks: Iterable[Features],
        models: ScoreModels,
        results: list[SharedResult],
        data: Data,
    ) -> None:
        parts: dict[Response, list[Array]] = {response: [] for response in request.wanted}
        for block in blocks:
            error = models.error(block)
            for stretch in stretches(len(block[0])):
                scores = ClassScores(models.leads(tuple(table[stretch] for table in block)), error)
                for response, places in request.wanted.items():
                    values, trusted = scores.values(response, logistic=self.logistic)
                    parts[response].append(values)
                    if not trusted.all():
                        for place in places:
                            results[place].trusted &= bool(trusted[place])
        tokens = data.tokens_of(request.rows)
        for response, places in request.wanted.items():
            values = np.concatenate(parts[response], axis=1)
            for place in places:
                answer = Predictions(response, tokens, values[place], coded=response == "predict")
                results[place].answers.append(answer)


def _blocks(index: Positions, own: Features | None, table: RelabelledTable, data: Data) -> Iterator[Features]:
    """Return the features of rows in blocks; those of the training rows are there already."""
    if own is not None:
        yield own
        return
    for block in row_blocks(index, data):
        yield table.features(as_floats(data.take(block)))


def weighted(weights: Floats, table: Floats) -> Floats:
    """Return sums of values times weights, of shape (classes - 1, models, rows).

    ``weights`` have shape (classes - 1, models, columns); ``table`` has rows for all models, or a first axis for these.
    """
    if table.ndim == 2:
        return (weights.reshape(-1, weights.shape[2]) @ table.T).reshape(*weights.shape[:2], len(table))
    return np.ascontiguousarray(np.moveaxis(table @ np.moveaxis(weights, 0, 2), 2, 0))
