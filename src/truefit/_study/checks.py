"""Checks of a table: ids, duplicates, constant columns, columns that predict the target alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from truefit._core.data import Data

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["predicts", "id", "duplicates", "constant"]

#: A column is looked at on no more rows than this, on fewer where there are many columns.
ROWS: Final = 4_000
CELLS: Final = 2_000_000
FEWEST_ROWS: Final = 200
#: Rows needed before "all different" means anything.
ID_ROWS: Final = 50
#: A column is suspect when alone it leaves no more than this share of the error of knowing nothing.
CLASS_SHARE: Final = 0.02
VARIANCE_SHARE: Final = 0.005
#: So many columns are named of each kind.
NAMED: Final = 5

_ID_NAME: Final = re.compile(r"(^|[\W_])(id|ids|key|uuid|guid|index|idx|nr|no|number|row)($|[\W_])|[a-z]I[dD]$", re.I)
_LONGEST_ID: Final = 40


@dataclass(frozen=True, slots=True)
class Suspect:
    """Something in a table that a person should look at before a number is believed.

    Attributes
    ----------
    kind : "predicts", "id", "duplicates" or "constant"
    column : str or None
        The column it is about; None where it is about rows, or about several columns.
    text : str
        One or two sentences: what was found, and what to do.
    """

    kind: Kind
    column: str | None
    text: str


def find_suspects(data: Data) -> tuple[Suspect, ...]:
    """Look for columns that give the target away, ids, copies of rows, and columns that say nothing.

    The work is bounded: large tables are looked at in evenly spaced rows, the copies in all of them.

    Parameters
    ----------
    data : Data

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> X = pd.DataFrame({"size": rng.normal(size=300), "label": np.where(y == 1, "ill", "well")})
    >>> [found.column for found in find_suspects(Data(X, y, task="classification"))]
    ['label']
    """
    frame = _frame(data.X)
    if frame is None or data.y.ndim != 1:
        return ()
    sampled = _sample(frame)
    y = (data.codes if data.codes is not None else data.y)[sampled]
    some = frame.iloc[sampled]
    constant = _constant_columns(frame, some)
    ids = _ids(frame, some, constant)
    predicts = _predicting(some, y, data.task, constant)
    return (
        *predicts,
        *(found for found in ids if found.column not in {other.column for other in predicts}),
        *_duplicates(frame, data.y),
        *_constant_suspects(constant),
    )


def _frame(X: Any) -> pd.DataFrame | None:
    import pandas as pd

    if sparse.issparse(X) or len(X.shape) != 2:
        return None
    if hasattr(X, "iloc"):
        return X.set_axis([str(name) for name in X.columns], axis=1)  # type: ignore[no-any-return]
    if hasattr(X, "to_pandas"):
        return X.to_pandas()  # type: ignore[no-any-return]
    return pd.DataFrame(X, columns=[f"column {i}" for i in range(X.shape[1])], copy=False)


def _sample(frame: pd.DataFrame) -> npt.NDArray[np.intp]:
    rows = min(len(frame), ROWS, max(CELLS // max(frame.shape[1], 1), FEWEST_ROWS))
    # Evenly spaced would meet every row of one kind in a table that repeats itself; a fixed shuffle does not.
    return np.sort(np.random.default_rng(0).permutation(len(frame))[:rows])


def _columns(frame: pd.DataFrame) -> Iterator[tuple[str, pd.Series[Any]]]:
    # By position: two columns may have the same name.
    for i, name in enumerate(frame.columns):
        yield str(name), frame.iloc[:, i]


def _constant_columns(frame: pd.DataFrame, some: pd.DataFrame) -> list[str]:
    """Columns of one value; only those that are so in the sample are looked through."""
    likely = [i for i in range(some.shape[1]) if _distinct(some.iloc[:, i]) <= 1]
    return [str(frame.columns[i]) for i in likely if _distinct(frame.iloc[:, i]) <= 1]


def _distinct(values: pd.Series[Any]) -> int:
    try:
        return int(values.nunique(dropna=False))
    except TypeError:  # lists and the like
        return int(values.astype(str).nunique())


def _constant_suspects(names: list[str]) -> Iterator[Suspect]:
    if len(names) == 1:
        yield Suspect("constant", names[0], f"Column {names[0]!r} has the same value in every row: it says nothing.")
    elif names:
        listed = ", ".join(map(repr, names[:NAMED])) + (f" and {len(names) - NAMED:,} more" * (len(names) > NAMED))
        yield Suspect("constant", None, f"Columns {listed} have the same value in every row: they say nothing.")


def _ids(frame: pd.DataFrame, some: pd.DataFrame, constant: list[str]) -> list[Suspect]:
    if len(frame) < ID_ROWS:
        return []
    found: list[Suspect] = []
    for (name, values), (_, few) in zip(_columns(frame), _columns(some), strict=True):
        if len(found) == NAMED:
            break
        if name not in constant and _looks_like_id(name, few) and bool(values.is_unique):
            found.append(
                Suspect(
                    "id",
                    name,
                    f"Column {name!r} has a different value in each of the {len(frame):,} rows, as an id or a row "
                    "number has: it cannot help with new rows, and in a sorted table it gives the target away. "
                    "Leave it out unless it measures something.",
                )
            )
    return found


def _looks_like_id(name: str, values: pd.Series[Any]) -> bool:
    import pandas as pd

    if not bool(values.notna().all()) or pd.api.types.is_bool_dtype(values):
        return False
    if pd.api.types.is_numeric_dtype(values):
        numbers = values.to_numpy(dtype=float)
        if not (np.isfinite(numbers) & (numbers % 1 == 0)).all() or len(np.unique(numbers)) < len(numbers):
            return False
        steps = np.diff(numbers)
        counted = bool((steps > 0).all() or (steps < 0).all())
        return counted or bool(_ID_NAME.search(name))
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "mM":
        return False
    texts = values.astype(str)
    # A sentence that nobody else has written is no id; a word is.
    return (
        bool(texts.is_unique) and bool((texts.str.len() <= _LONGEST_ID).all()) and not texts.str.count(" ").mean() > 1
    )


def _predicting(some: pd.DataFrame, y: npt.NDArray[Any], task: str, constant: list[str]) -> list[Suspect]:
    half = len(y) // 2
    order = np.random.default_rng(1).permutation(len(y))
    seen, unseen = order[:half], order[half:]
    baseline = _baseline_error(y[seen], y[unseen], task)
    # A handful of rows of the smaller class is no evidence, whatever is said of them.
    if half < 10 or not baseline > 0 or (task == "classification" and baseline * len(unseen) < 5):
        return []
    limit = (CLASS_SHARE if task == "classification" else VARIANCE_SHARE) * baseline
    found = []
    for name, values in _columns(some):
        error = np.inf if name in constant else _error_alone(values, y, seen, unseen, task)
        if error <= limit:
            found.append((error / baseline, name))
    found.sort(key=lambda pair: pair[0])
    return [Suspect("predicts", name, _predicting_text(name, share, task)) for share, name in found[:NAMED]]


def _predicting_text(name: str, share: float, task: str) -> str:
    if task == "classification":
        alone = (
            "without an error" if share == 0 else f"with {share:.1%} of the errors that the most frequent class makes"
        )
    else:
        alone = f"and leaves {share:.2%} of its variance" if share >= 5e-5 else "almost exactly"
    return (
        f"Column {name!r} alone tells the target {alone}. Make sure that it is known before the target is; if not, "
        "leave it out, and expect a larger error than is said here."
    )


def _baseline_error(seen: npt.NDArray[Any], unseen: npt.NDArray[Any], task: str) -> float:
    if task == "classification":
        return float(np.mean(unseen != np.bincount(seen).argmax())) if len(seen) else 0.0
    return float(np.mean((unseen - seen.mean()) ** 2)) if len(seen) else 0.0


def _error_alone(
    values: pd.Series[Any],
    y: npt.NDArray[Any],
    seen: npt.NDArray[np.intp],
    unseen: npt.NDArray[np.intp],
    task: str,
) -> float:
    """Error on unseen rows of the best guess that one column allows: a tree for numbers, a lookup for the rest."""
    import pandas as pd
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    if pd.api.types.is_numeric_dtype(values) or (isinstance(values.dtype, np.dtype) and values.dtype.kind in "mM"):
        numbers = values.astype("int64") if values.dtype.kind in "mM" else values
        column: npt.NDArray[Any] = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isnan(column).all() or not _in_stretches(column, y, task):
            return np.inf
        column = np.clip(column, -1e38, 1e38).reshape(-1, 1)
        if task == "classification":
            leaves = 4 * int(y.max() + 1)
            tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(column[seen], y[seen])
            return float(np.mean(tree.predict(column[unseen]) != y[unseen]))
        tree = DecisionTreeRegressor(max_leaf_nodes=256, random_state=0).fit(column[seen], y[seen])
        return float(np.mean((tree.predict(column[unseen]) - y[unseen]) ** 2))
    texts = values.astype(object).map(_text).astype(object).where(values.notna(), None).to_numpy(dtype=object)
    table = pd.DataFrame({"value": texts[seen], "y": y[seen]}).groupby("value")["y"]
    by_value = table.agg(lambda group: group.mode().iloc[0]) if task == "classification" else table.mean()
    predicted = by_value.reindex(texts[unseen]).to_numpy(dtype=np.float64)
    if task == "classification":
        return float(np.mean(predicted != y[unseen]))
    return float(np.mean(np.where(np.isnan(predicted), np.inf, (predicted - y[unseen]) ** 2)))


def _in_stretches(column: npt.NDArray[np.float64], y: npt.NDArray[Any], task: str) -> bool:
    """Whether the target hardly changes from one value of the column to the next: if it does, no tree is needed."""
    ordered = y[np.argsort(column, kind="stable")]
    if task == "classification":
        changes = int(np.count_nonzero(ordered[1:] != ordered[:-1]))
        return changes <= 4 * int(y.max() + 1) + 4 * CLASS_SHARE * len(y)
    # Half the squared step is the variance around a curve through the points, if there is one.
    return float(np.mean(np.diff(ordered) ** 2)) / 2 <= 4 * VARIANCE_SHARE * float(np.var(y))


def _duplicates(frame: pd.DataFrame, y: npt.NDArray[Any]) -> Iterator[Suspect]:
    inputs = _row_hashes(frame)
    targets = np.unique(y, return_inverse=True)[1].astype(np.uint64)
    copies = len(inputs) - len(np.unique(np.stack([inputs, targets]), axis=1).T)
    if not copies:
        return
    rows = "rows is a copy of another" if copies == 1 else "rows are copies of others"
    yield Suspect(
        "duplicates",
        None,
        f"{copies:,} of the {len(y):,} {rows}, the target included. Where one is trained on and the other is tested "
        "on, the error looks smaller than it is. Remove copies that are no observations of their own, or keep them "
        "together with groups.",
    )


def _row_hashes(frame: pd.DataFrame) -> npt.NDArray[Any]:
    import pandas as pd

    try:
        return pd.util.hash_pandas_object(frame, index=False).to_numpy()
    except (TypeError, ValueError):  # lists and the like, lone surrogates, long doubles
        return pd.util.hash_pandas_object(frame.map(_text), index=False).to_numpy()


def _text(cell: Any) -> str:
    """Return a value as text that pandas takes: a lone surrogate is none."""
    return str(cell).encode("utf-8", "backslashreplace").decode()
