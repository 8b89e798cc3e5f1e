"""Tables for the fuzzer: ordinary columns, the odd ones that real files hold, and every container they come in."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

Rng = np.random.Generator
Maker = Callable[[Rng, int], Any]

_WORDS = np.array(["red", "green", "blue", "dark red", "", "NA", "None", "ä", "1", "x" * 40], dtype=object)


def _gaps(values: Any, rng: Rng, gap: Any = None, share: float = 0.2) -> list[Any]:
    return [gap if lost else value for value, lost in zip(values, rng.random(len(values)) < share, strict=True)]


def _objects(values: list[Any]) -> pd.Series[Any]:
    series = pd.Series([None] * len(values), dtype=object)
    for i, value in enumerate(values):
        series.iat[i] = value
    return series


def _dates(rng: Rng, n: int) -> pd.Series[Any]:
    return pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 2000, n), unit="h"))


def _cycle(values: list[Any], rng: Rng, n: int) -> pd.Series[Any]:
    return _objects([values[i] for i in rng.integers(0, len(values), n)])


#: Columns that any table may have.
PLAIN: dict[str, Maker] = {
    "numbers": lambda rng, n: rng.normal(size=n),
    "whole numbers": lambda rng, n: rng.integers(-50, 50, n),
    "truth values": lambda rng, n: rng.random(n) < 0.5,
    "words": lambda rng, n: rng.choice(_WORDS[:4], n),
    "category": lambda rng, n: pd.Categorical(rng.choice(_WORDS[:4], n)),
    "dates": _dates,
    "numbers with gaps": lambda rng, n: np.array(_gaps(rng.normal(size=n), rng, np.nan)),
    "words with gaps": lambda rng, n: _gaps(rng.choice(_WORDS, n), rng),
}

#: Columns that real files have too, and that something falls over.
ODD: dict[str, Maker] = {
    "constant": lambda rng, n: np.full(n, 3.0),
    "all None": lambda rng, n: [None] * n,
    "all NaN": lambda rng, n: np.full(n, np.nan),
    "all NaT": lambda rng, n: pd.Series([pd.NaT] * n),
    "infinities": lambda rng, n: np.array(_gaps(rng.normal(size=n), rng, np.inf)),
    "negative infinities": lambda rng, n: np.array(_gaps(rng.normal(size=n), rng, -np.inf)),
    "beyond float32": lambda rng, n: rng.normal(size=n) * 1e300,
    "subnormal": lambda rng, n: rng.normal(size=n) * 1e-310,
    "huge integers": lambda rng, n: _objects([10 ** int(d) for d in rng.integers(15, 40, n)]),
    "beyond int64": lambda rng, n: rng.integers(2**63, 2**64 - 1, n, dtype=np.uint64),
    "float16": lambda rng, n: rng.normal(size=n).astype(np.float16),
    "float32": lambda rng, n: rng.normal(size=n).astype(np.float32),
    "long double": lambda rng, n: rng.normal(size=n).astype(np.longdouble),
    "complex": lambda rng, n: rng.normal(size=n) + 1j,
    "int8": lambda rng, n: rng.integers(-100, 100, n).astype(np.int8),
    "decimals": lambda rng, n: _objects([Decimal(int(v)) / 100 for v in rng.integers(0, 999, n)]),
    "mixed types": lambda rng, n: _cycle([1, "a", None, 2.5, True, b"b"], rng, n),
    "numbers and words": lambda rng, n: _cycle([1, 2.5, "a", "b"], rng, n),
    "lists": lambda rng, n: _cycle([[1, 2], [], [3.0], ["a"]], rng, n),
    "dicts": lambda rng, n: _cycle([{"a": 1}, {}, {"b": [1]}], rng, n),
    "tuples": lambda rng, n: _cycle([(1, 2), (3,), ()], rng, n),
    "arrays": lambda rng, n: _cycle([np.zeros(2), np.ones(3)], rng, n),
    "bytes": lambda rng, n: _cycle([b"a", b"\xff\xfe", b""], rng, n),
    "long texts": lambda rng, n: _cycle(["lorem ipsum " * 20, "dolor sit amet", "x" * 3000], rng, n),
    "texts with NUL": lambda rng, n: _cycle(["a", "a\0", "\0"], rng, n),
    "lone surrogates": lambda rng, n: _cycle(["\ud800", "a", "\U0001f600"], rng, n),
    "markup": lambda rng, n: _cycle(["<b>", "=1+1", "[red]x[/red]", "{{x}}", "a\nb", 'a"b', "%s"], rng, n),
    "numbers as words": lambda rng, n: [f"{v:.3f}" for v in rng.normal(size=n)],
    "dates as words": lambda rng, n: _cycle(["2020-01-01", "2020-13-45", "9999-12-31", "yesterday"], rng, n),
    "dates out of range": lambda rng, n: _cycle([datetime.date(9999, 12, 31), datetime.date(1, 1, 1), None], rng, n),
    "dates with gaps": lambda rng, n: pd.Series(_gaps(_dates(rng, n), rng, pd.NaT)),
    "dates in a time zone": lambda rng, n: _dates(rng, n).dt.tz_localize("UTC").dt.tz_convert("Europe/Vienna"),
    "durations": lambda rng, n: pd.to_timedelta(rng.integers(0, 1000, n), unit="h"),
    "periods": lambda rng, n: _dates(rng, n).dt.to_period("M"),
    "intervals": lambda rng, n: pd.Series(pd.cut(rng.normal(size=n), [-9, 0, 9])),
    "categories of numbers": lambda rng, n: pd.Categorical(rng.integers(0, 3, n)),
    "ordered categories": lambda rng, n: pd.Categorical(_gaps(rng.choice(["a", "b"], n), rng), ["b", "a", "c"], True),
    "truth values with gaps": lambda rng, n: _gaps((rng.random(n) < 0.5).tolist(), rng),
    "Int64": lambda rng, n: pd.array(_gaps(rng.integers(0, 9, n).tolist(), rng, pd.NA), dtype="Int64"),
    "UInt8": lambda rng, n: pd.array(_gaps(rng.integers(0, 9, n).tolist(), rng, pd.NA), dtype="UInt8"),
    "Float64": lambda rng, n: pd.array(_gaps(rng.normal(size=n).tolist(), rng, pd.NA), dtype="Float64"),
    "boolean": lambda rng, n: pd.array(_gaps((rng.random(n) < 0.5).tolist(), rng, pd.NA), dtype="boolean"),
    "string": lambda rng, n: pd.array(_gaps(rng.choice(_WORDS, n).tolist(), rng, pd.NA), dtype="string"),
    "Arrow integers": lambda rng, n: pd.array(_gaps(rng.integers(0, 9, n).tolist(), rng), dtype="int64[pyarrow]"),
    "Arrow strings": lambda rng, n: pd.array(_gaps(rng.choice(_WORDS, n).tolist(), rng), dtype="string[pyarrow]"),
    "Arrow dates": lambda rng, n: pd.array(_gaps(_dates(rng, n).tolist(), rng), dtype="timestamp[ns][pyarrow]"),
    "categories of strings": lambda rng, n: pd.Series(
        pd.array(_gaps(rng.choice(["a", "b"], n).tolist(), rng, pd.NA), dtype="string")
    ).astype("category"),
    "objects with NA": lambda rng, n: _objects(_gaps(rng.integers(0, 5, n).tolist(), rng, pd.NA)),
    "sparse": lambda rng, n: pd.arrays.SparseArray(rng.integers(0, 2, n)),
}

#: Targets that can be learned.
TARGETS: dict[str, Maker] = {
    "two words": lambda rng, n: rng.choice(np.array(["no", "yes"], dtype=object), n),
    "three words": lambda rng, n: rng.choice(np.array(["a", "b", "c"], dtype=object), n),
    "truth values": PLAIN["truth values"],
    "0 and 1": lambda rng, n: rng.integers(0, 2, n),
    "numbers": PLAIN["numbers"],
    "counts": lambda rng, n: rng.poisson(30, n),
    "category": lambda rng, n: pd.Categorical(rng.choice(["a", "b"], n), ["a", "b", "unused"]),
    "Int64": lambda rng, n: pd.array(rng.integers(0, 2, n), dtype="Int64"),
    "string": lambda rng, n: pd.array(rng.choice(["a", "b"], n), dtype="string"),
    "Arrow strings": lambda rng, n: pd.array(rng.choice(["a", "b"], n), dtype="string[pyarrow]"),
    "Arrow numbers": lambda rng, n: pd.array(rng.normal(size=n), dtype="double[pyarrow]"),
    "Float64": lambda rng, n: pd.array(rng.normal(size=n), dtype="Float64"),
}

#: Targets that are odd or cannot be learned, besides every odd column.
ODD_TARGETS: dict[str, Maker] = {
    "all different words": lambda rng, n: [f"row {i}" for i in range(n)],
    "one row of a class": lambda rng, n: ["a"] * (n - 1) + ["b"] if n else [],
    "nearly constant": lambda rng, n: np.where(np.arange(n) == 0, 1e-300, 0.0),
    "labels with NUL": lambda rng, n: _cycle(["a", "a\0"], rng, n),
    "empty labels": lambda rng, n: _cycle(["", " "], rng, n),
    "ragged lists": lambda rng, n: _cycle([[1], [1, 2]], rng, n),
    "0.0 and -0.0": lambda rng, n: rng.choice([0.0, -0.0, 1.0], n),
    "float labels": lambda rng, n: rng.choice([0.0, 1.0], n),
    "large numbers": lambda rng, n: rng.normal(size=n) * 1e200,
    "two columns": lambda rng, n: pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)}),
    "numbers as words": lambda rng, n: [f"{v:.3f}" for v in rng.normal(size=n)],
    "words with gaps": PLAIN["words with gaps"],
    "numbers with gaps": PLAIN["numbers with gaps"],
    "dates": _dates,
    **ODD,
}

_QUANTITIES = frozenset(
    {
        "numbers", "counts", "Arrow numbers", "Float64", "nearly constant", "large numbers", "two columns", "decimals",
        "numbers with gaps", "infinities", "negative infinities", "beyond float32", "subnormal", "huge integers",
        "beyond int64", "float16", "float32", "long double", "int8", "numbers as words",
    }
)  # fmt: skip

_NAMES: list[Any] = [
    "",
    " ",
    "target",
    "target ",
    "Unnamed: 0",
    "é\u0301",
    "<script>",
    "a,b",
    "x" * 300,
    "rowid",
    0,
    "\0",
    "\ud800",
]


@dataclass
class Drawn:
    """A table of the fuzzer: columns, a target, and the words for what was done to them."""

    X: Any
    y: Any
    words: list[str] = field(default_factory=list)
    #: Whether the target is numbers to begin with, so that most learners drawn for it suit it.
    is_quantity: bool = False


def draw_table(rng: Rng, *, for_file: bool = False) -> Drawn:
    """Draw a table of 8 to 60 rows with up to three oddities."""
    n = int(rng.integers(8, 61))
    oddities = rng.choice([0, 1, 1, 1, 2, 3])
    drawn = Drawn(pd.DataFrame(index=range(n)), None)
    for i in range(int(rng.integers(1, 5))):
        _add_column(drawn, f"c{i}", _pick(rng, PLAIN, drawn.words), rng)
    name = _pick(rng, TARGETS, drawn.words, "target: ")
    drawn.y, drawn.is_quantity = TARGETS[name](rng, n), name in _QUANTITIES
    changes = [*[_odd_column] * 6, *[_odd_target] * 2, *[_odd_name] * 2, _odd_rows, _copied_target]
    changes += [] if for_file else [_odd_index, _odd_index, _odd_length]
    for _ in range(int(oddities)):
        changes[int(rng.integers(len(changes)))](drawn, rng)
    return drawn


def _pick(rng: Rng, among: dict[str, Maker], words: list[str], prefix: str = "") -> str:
    name = str(rng.choice(list(among)))
    words.append(prefix + name)
    return name


def _add_column(drawn: Drawn, name: str, kind: str, rng: Rng) -> None:
    values = (PLAIN | ODD)[kind](rng, len(drawn.X))
    column = values if isinstance(values, pd.Series) else pd.Series(values)
    drawn.X[name] = column.set_axis(drawn.X.index)


def _odd_column(drawn: Drawn, rng: Rng) -> None:
    _add_column(drawn, f"odd{drawn.X.shape[1]}", _pick(rng, ODD, drawn.words), rng)


def _odd_target(drawn: Drawn, rng: Rng) -> None:
    name = _pick(rng, ODD_TARGETS, drawn.words, "target: ")
    drawn.y, drawn.is_quantity = ODD_TARGETS[name](rng, len(drawn.X)), name in _QUANTITIES


def _odd_name(drawn: Drawn, rng: Rng) -> None:
    names = list(drawn.X.columns)
    place = int(rng.integers(len(names)))
    names[place] = _NAMES[int(rng.integers(len(_NAMES)))] if rng.random() < 0.7 else names[0]
    drawn.X.columns = pd.Index(names, dtype=object)
    drawn.words.append(f"a column called {names[place]!r:.40}")


def _odd_index(drawn: Drawn, rng: Rng) -> None:
    n = len(drawn.X)
    kinds = {
        "words": [f"row {i}" for i in range(n)],
        "the same label everywhere": [0] * n,
        "dates": pd.date_range("2020-01-01", periods=n),
        "two levels": pd.MultiIndex.from_arrays([range(n), range(n)]),
        "missing labels": [None] * n,
        "numbers with fractions": np.arange(n) / 2,
    }
    name = str(rng.choice(list(kinds)))
    drawn.X.index = pd.Index(kinds[name])
    drawn.words.append(f"index: {name}")


def _odd_rows(drawn: Drawn, rng: Rng) -> None:
    n = len(drawn.X)
    choices = [[], [0], [0, n - 1], list(range(min(n, 4))), [0] * n, list(range(n)) * 2]
    keep = choices[int(rng.choice(6, p=[0.05, 0.05, 0.1, 0.3, 0.1, 0.4]))]
    drawn.X = drawn.X.iloc[keep]
    values = drawn.y if hasattr(drawn.y, "iloc") else pd.Series(drawn.y)
    drawn.y = values.iloc[[i for i in keep if i < len(values)]]
    drawn.words.append(f"{len(keep)} rows, {len(set(keep))} distinct")


def _odd_length(drawn: Drawn, rng: Rng) -> None:
    drawn.y = drawn.y[: len(drawn.X) // 2]
    drawn.words.append("half of the target")


def _copied_target(drawn: Drawn, rng: Rng) -> None:
    if getattr(drawn.y, "ndim", 1) == 1 and len(drawn.y) == len(drawn.X):
        drawn.X["copy"] = pd.Series(np.asarray(drawn.y, dtype=object)).set_axis(drawn.X.index)
        drawn.words.append("a copy of the target")


def _numpy(X: pd.DataFrame) -> Any:
    return X.to_numpy()


def _numbers_only(X: pd.DataFrame) -> Any:
    numbers = X.loc[:, [kind.kind in "biuf" if isinstance(kind, np.dtype) else False for kind in X.dtypes]]
    return numbers.to_numpy(dtype=float)


def _sparse(X: pd.DataFrame) -> Any:
    from scipy import sparse

    return sparse.csr_matrix(np.nan_to_num(_numbers_only(X), nan=0.0, posinf=np.inf, neginf=-np.inf))


def _polars(X: pd.DataFrame) -> Any:
    import polars

    return polars.from_pandas(X)


def _arrow(X: pd.DataFrame) -> Any:
    import pyarrow as pa

    return pa.Table.from_pandas(X)


CONTAINERS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda X: X,
    "pandas, nullable types": lambda X: X.convert_dtypes(),
    "pandas, Arrow types": lambda X: X.convert_dtypes(dtype_backend="pyarrow"),
    "polars": _polars,
    "Arrow table": _arrow,
    "array of objects": lambda X: X.to_numpy(dtype=object),
    "array": _numpy,
    "array of numbers": _numbers_only,
    "long doubles": lambda X: _numbers_only(X).astype(np.longdouble),
    "array in Fortran order": lambda X: np.asfortranarray(_numbers_only(X)),
    "sparse matrix": _sparse,
    "list of lists": lambda X: X.to_numpy(dtype=object).tolist(),
    "a column by itself": lambda X: X.iloc[:, 0],
    "columns in two levels": lambda X: X.set_axis(pd.MultiIndex.from_product([["a"], map(str, X.columns)]), axis=1),
}

TARGET_CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda y: y,
    "array": np.asarray,
    "list": list,
    "Series": lambda y: y if getattr(y, "ndim", 1) == 2 else pd.Series(y),
    "column": lambda y: np.asarray(y).reshape(len(y), -1),
    "polars": lambda y: __import__("polars").Series("y", list(y)),
}


def in_container(drawn: Drawn, rng: Rng) -> Drawn:
    """Return the same table as another library holds it; as it is, where that library cannot."""
    name = str(rng.choice(list(CONTAINERS), p=_weights(len(CONTAINERS))))
    kept = str(rng.choice(list(TARGET_CONTAINERS), p=_weights(len(TARGET_CONTAINERS))))
    X, y, words = drawn.X, drawn.y, list(drawn.words)
    try:
        X = CONTAINERS[name](X)
        words.append(f"X: {name}")
    except Exception as error:  # whatever another library refuses is not our case
        words.append(f"X: pandas, {name} refused it ({type(error).__name__})")
    try:
        y = TARGET_CONTAINERS[kept](y)
        words.append(f"y: {kept}")
    except Exception as error:
        words.append(f"y: as it is, {kept} refused it ({type(error).__name__})")
    return Drawn(X, y, words, drawn.is_quantity)


def _weights(n: int) -> Any:
    # Half of the cases stay as they were drawn.
    return np.array([0.5] + [0.5 / (n - 1)] * (n - 1))
