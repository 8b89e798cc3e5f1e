"""What every check has: a code, a title, a severity, and a method that returns findings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from truefit._core.data import Data
from truefit._core.finding import Finding, Severity
from truefit._methods.text import listed
from truefit._metrics.metric import Metric
from truefit._study.evidence import StudyEvidence

if TYPE_CHECKING:
    import pandas as pd

#: Columns are checked on a sample of at most this many rows, fewer where there are many columns.
_SAMPLE_ROWS: Final = 4_000
_SAMPLE_CELLS: Final = 2_000_000
_FEWEST_SAMPLE_ROWS: Final = 200
#: A text names at most this many columns or classes.
NAMED: Final = 5

Subject = TypeVar("Subject")


class Check(ABC, Generic[Subject]):
    """Looks for one problem. The code is stable; docs/findings.md has a section for it."""

    code: ClassVar[str]
    title: ClassVar[str]
    severity: ClassVar[Severity]

    def __init_subclass__(cls, code: str = "", title: str = "", severity: Severity = "info") -> None:
        super().__init_subclass__()
        cls.code, cls.title, cls.severity = code, title, severity

    @abstractmethod
    def run(self, subject: Subject) -> Iterable[Finding]:
        """Yield what was found; nothing where all is well."""

    def finding(self, text: str, advice: str, severity: Severity | None = None, **evidence: Any) -> Finding:
        """Return a finding of this check, or a less severe one; ``evidence`` holds plain JSON types."""
        return Finding(self.code, self.title, severity or self.severity, text, evidence, advice)


@dataclass(frozen=True, eq=False)
class CheckedTable:
    """A table before any fit, with the metric and the number of folds of the study."""

    data: Data
    metric: Metric
    folds: int = 5
    #: A separate test set.
    test: Data | None = None
    #: Whether the requested metric has no value on these folds, and another one takes its place.
    replaced: bool = False

    @cached_property
    def frame(self) -> pd.DataFrame | None:
        """X as a pandas frame with text as column names; None for a sparse matrix or an array of other dimensions."""
        return as_frame(self.data.X)

    @cached_property
    def sample(self) -> npt.NDArray[np.intp]:
        """Positions of the rows that columns are checked on: a fixed random sample, in the order of the table."""
        columns = 1 if self.frame is None else max(self.frame.shape[1], 1)
        rows = min(self.data.n, _SAMPLE_ROWS, max(_SAMPLE_CELLS // columns, _FEWEST_SAMPLE_ROWS))
        return np.sort(np.random.default_rng(0).permutation(self.data.n)[:rows])

    def columns(self) -> Iterator[tuple[str, pd.Series[Any], pd.Series[Any]]]:
        """Yield the name of each column, the column, and its values in the sample."""
        if self.frame is not None:
            for i, name in enumerate(self.frame.columns):  # by position: two columns may have the same name
                values = self.frame.iloc[:, i]
                yield str(name), values, values.iloc[self.sample]

    def numbers(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """Return cells as numbers: codes of text and categories in sorted order, a gap below the smallest number."""
        found = np.zeros((len(rows), 0 if self.frame is None else self.frame.shape[1]))
        for j, (_, values, _) in enumerate(self.columns()):
            column = np.clip(_as_numbers(values.iloc[rows]), -1e30, 1e30)
            known = column[~np.isnan(column)]
            low = known.min() - max(known.std(), 1.0) if len(known) else 0.0
            found[:, j] = np.where(np.isnan(column), low, column)
        return found


def as_frame(X: Any) -> pd.DataFrame | None:
    """Return a table as a pandas frame with text as column names; None for a sparse one, or for other dimensions."""
    import pandas as pd

    if sparse.issparse(X) or len(X.shape) != 2:
        return None
    if hasattr(X, "iloc"):
        return X.set_axis([str(name) for name in X.columns], axis=1)  # type: ignore[no-any-return]
    if hasattr(X, "to_pandas"):
        return X.to_pandas()  # type: ignore[no-any-return]
    return pd.DataFrame(X, columns=[f"column {i}" for i in range(X.shape[1])], copy=False)


def _as_numbers(values: pd.Series[Any]) -> npt.NDArray[np.float64]:
    import pandas as pd

    if pd.api.types.is_numeric_dtype(values):
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "mM":
        return np.where(values.isna(), np.nan, values.astype("int64").to_numpy(dtype=np.float64))
    if isinstance(values.dtype, pd.CategoricalDtype):
        codes = values.cat.codes.to_numpy(dtype=np.float64)
    else:
        texts = np.array([str(cell).encode("utf-8", "backslashreplace") for cell in values], dtype=object)
        codes = np.unique(texts, return_inverse=True)[1].astype(np.float64)
    return np.where(values.isna(), np.nan, codes)


class TableCheck(Check[CheckedTable]):
    """A check of the table, before any fit."""


class ResultCheck(Check[StudyEvidence]):
    """A check of the results of a study."""


def quoted(names: Sequence[Any]) -> str:
    """Return values as a list in a sentence, the first few of them in quotes.

    Examples
    --------
    >>> quoted(["a", "b"]), quoted(list("abcdefg"))
    ("'a' and 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    shown = [repr(name) for name in names[:NAMED]]
    return listed([*shown, f"{len(names) - NAMED:,} more"] if len(names) > NAMED else shown)
