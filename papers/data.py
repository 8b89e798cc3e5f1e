"""Tables of the papers: from a folder, or from OpenML."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[Any]

#: What each table is at OpenML: name, version and target column.
_OPENML: Final = {
    "adult": ("adult", 2, "class"),
    "connect4": ("connect-4", 2, "class"),
    "mnist": ("mnist_784", 1, "class"),
}
#: Rows of the original training file of Adult, and age and weight in its first row: copies have the test file
#: before or after it.
_ADULT_ROWS, _ADULT_FIRST = 32_561, (39, 77_516)


def breast_cancer() -> tuple[Array, Array]:
    """Return scikit-learn's breast cancer table."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return X, y


def adult(folder: Path | None) -> tuple[Array, Array]:
    """Return the training file of Adult, categories as numbers, a missing value as a category of its own."""
    frame, target = frame_of("adult", folder)
    age, weight = _ADULT_FIRST
    starts = np.flatnonzero((frame["age"] == age) & (frame["fnlwgt"] == weight))
    if not len(starts) or len(frame) < starts[0] + _ADULT_ROWS:
        raise InvalidInput(
            f"The Adult table must hold the {_ADULT_ROWS:,} rows of its training file in their order. Got "
            f"{len(frame):,} rows without them; take the table from UCI."
        )
    rows = slice(starts[0], starts[0] + _ADULT_ROWS)
    return as_ordinal(frame.iloc[rows]), target[rows]


def connect4(folder: Path | None) -> tuple[Array, Array]:
    """Return Connect-4 without the draws, categories as numbers."""
    frame, target = frame_of("connect4", folder)
    # Copies name the classes differently; the draws are the fewest.
    names, sizes = np.unique(target, return_counts=True)
    decided = target != names[sizes.argmin()]
    return as_ordinal(frame[decided]), target[decided]


def mnist01(folder: Path | None) -> tuple[Array, Array]:
    """Return MNIST's zeros and ones, pixels from 0 to 1."""
    if folder is not None and (folder / "mnist01.npz").is_file():
        with np.load(folder / "mnist01.npz") as found:
            X, y = found["x"], found["y"]
    else:
        frame, target = frame_of("mnist", folder)
        wanted = np.isin(target, ["0", "1"])
        X, y = frame[wanted].to_numpy(), target[wanted].astype(np.uint8)
    return X.reshape(len(X), -1) / 255.0, y


def retina(folder: Path | None) -> tuple[Array, Array]:
    """Return RetinaMNIST: 1,600 images of 28 by 28 pixels in three colours from 0 to 1, and grades from 0 to 4."""
    place = None if folder is None else folder / "retinamnist.npz"
    if place is None or not place.is_file():
        where = "no folder was given" if folder is None else f"{folder} has none"
        raise InvalidInput(
            f"The images must be in a folder as retinamnist.npz, the file of MedMNIST. Here {where}. Give the folder "
            "with --data or TRUEFIT_DATA."
        )
    with np.load(place) as found:
        parts = ("train", "val", "test")
        names = [("x", "y")] if "x" in found else [(f"{part}_images", f"{part}_labels") for part in parts]
        images = np.concatenate([found[x] for x, _ in names])
        grades = np.concatenate([np.asarray(found[y]).reshape(-1) for _, y in names])
    return images / 255.0, grades.astype(np.float64)


def as_ordinal(frame: pd.DataFrame) -> Array:
    """Return a table as numbers: categories by their place in the alphabet.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [30, 40], "job": pd.Categorical(["smith", None])})
    >>> as_ordinal(frame).tolist()
    [[30.0, 1.0], [40.0, 0.0]]
    """
    from pandas.api.types import is_numeric_dtype

    columns = []
    for name in frame.columns:
        column = frame[name]
        values: Array = column.to_numpy()
        if not is_numeric_dtype(column):
            text = column.astype(object).where(column.notna(), "?").astype(str).to_numpy(dtype=str)
            values = np.unique(text, return_inverse=True)[1]
        columns.append(values.astype(np.float64))
    return np.column_stack(columns)


def frame_of(name: str, folder: Path | None) -> tuple[pd.DataFrame, Array]:
    """Return features and labels, from the folder if it has the table."""
    import pandas as pd

    if folder is not None and (folder / f"{name}.parquet").is_file():
        frame = pd.read_parquet(folder / f"{name}.parquet")
        return frame.iloc[:, :-1], frame.iloc[:, -1].astype(str).to_numpy(dtype=str)
    frame, target = _downloaded(name, folder)
    return frame, target.astype(str).to_numpy(dtype=str)


def _downloaded(name: str, folder: Path | None) -> tuple[Any, Any]:
    from sklearn.datasets import fetch_openml

    openml, version, target = _OPENML[name]
    try:
        with warnings.catch_warnings():
            # A download that fails twice is reported below.
            warnings.filterwarnings("ignore", "A network error occurred", UserWarning)
            bunch = fetch_openml(openml, version=version, target_column=target, as_frame=True, n_retries=1)
    except (OSError, ValueError) as error:
        where = "no folder was given" if folder is None else f"{folder} has no {name}.parquet"
        raise InvalidInput(
            f"The table {name} must be in a folder or on OpenML. Here {where}, and the download failed ({error}). "
            "Give the folder with --data or TRUEFIT_DATA, or connect to the internet."
        ) from error
    return bunch.data, bunch.target
