"""Files for the fuzzer: drawn tables in every format that is read, texts that are no tables, and damaged bytes."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from tests.faults.fuzz_tables import Drawn, Rng, draw_table

from truefit.sources.database import quoted_column

#: Texts that are no tables, or hardly are: ending, content.
TEXTS: dict[str, tuple[str, bytes]] = {
    "lines that are lists": (".jsonl", b"[1, 2]\n[3, 4]\n" * 10),
    "lines that are numbers": (".jsonl", b"1\n2\n3\n"),
    "lines that are words": (".jsonl", b'"a"\n"b"\n'),
    "lines that are null": (".jsonl", b"null\nnull\n"),
    "some lines that are no objects": (".jsonl", b'{"c0": 1, "target": "a"}\n[1]\n{"c0": 2, "target": "b"}\n' * 4),
    "objects in objects": (".jsonl", b'{"c0": {"x": [1]}, "target": "a"}\n{"c0": {}, "target": "b"}\n' * 8),
    "a list in the target": (".jsonl", b'{"c0": 1, "target": ["a"]}\n{"c0": 2, "target": ["b", "c"]}\n' * 8),
    "other keys in every line": (".jsonl", b'{"a": 1, "target": 1}\n{"b": 2, "target": 0}\n' * 8),
    "a JSON document": (".jsonl", b'[{"c0": 1, "target": "a"}, {"c0": 2, "target": "b"}]'),
    "deep nesting": (".jsonl", b"[" * 100_000),
    "huge numbers in JSON": (".jsonl", b'{"c0": 1e999, "target": 1}\n{"c0": ' + b"9" * 400 + b', "target": 0}\n'),
    "blank lines": (".csv", b"\n\n\n"),
    "spaces": (".csv", b"   \n  \n"),
    "one name": (".csv", b"target"),
    "names only": (".csv", b"c0,target\n"),
    "no names": (".csv", b",\n1,2\n3,4\n"),
    "the same name twice": (".csv", b"c0,target,target\n1,a,a\n2,b,b\n" * 1),
    "only the target": (".csv", b"target\na\nb\na\nb\n"),
    "quote without an end": (".csv", b'c0,target\n1,"a\n2,b\n' * 5),
    "ragged lines": (".csv", b"c0,target\n1,a\n2\n3,b,c\n" * 5),
    "fields of 140,000 characters": (".csv", b"c0,target\n" + (b"x" * 140_000 + b",0\n" + b"y,1\n") * 8),
    "five thousand names": (".csv", b",".join(b"c%d" % i for i in range(5000)) + b",target\n" + b"1," * 5000 + b"a\n"),
    "NUL bytes": (".csv", b"c0,target\n1,a\x00\n\x00,b\n" * 5),
    "mixed line ends": (".csv", b"c0,target\r\n1,a\n2,b\r3,a\r\n4,b\n" * 3),
    "UTF-16": (".csv", "c0,target\n1,a\n2,b\n".encode("utf-16")),
    "UTF-8 with a mark": (".csv", b"\xef\xbb\xbf" + b"target,c0\n" + b"a,1\nb,2\n" * 8),
    "a page": (".csv", b"<html><body>404, not found</body></html>\n"),
    "tabs": (".csv", b"c0\ttarget\n" + b"1\ta\n2\tb\n" * 8),
    "decimal commas": (".csv", b"c0;target\n" + b"1,5;a\n2,5;b\n" * 8),
    "comments": (".csv", b"# a comment\nc0,target\n" + b"1,a\n2,b\n" * 8),
    "not Parquet": (".parquet", b"PAR1 but nothing else PAR1"),
    "not Feather": (".feather", b"ARROW1\0\0 but nothing else"),
    "not gzip": (".csv.gz", b"c0,target\n1,a\n"),
    "not a database": (".sqlite", b"SQLite format 3\0" + b"\xff" * 200),
    "an ending of no table": (".xlsx", b"PK\x03\x04"),
}


def _separated(separator: str) -> Callable[[pd.DataFrame, Path], None]:
    def write(frame: pd.DataFrame, path: Path) -> None:
        text = frame.to_csv(index=False, sep=separator)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))

    return write


def _packed(frame: pd.DataFrame, path: Path) -> None:
    path.write_bytes(gzip.compress(frame.to_csv(index=False).encode("utf-8", "surrogatepass")))


def _json_lines(frame: pd.DataFrame, path: Path) -> None:
    path.write_text(frame.to_json(orient="records", lines=True))


def _database(frame: pd.DataFrame, path: Path) -> None:
    names = [quoted_column(str(name)) for name in frame.columns]
    rows = [tuple(map(_sql_value, row)) for row in frame.astype(object).itertuples(index=False)]
    connection = sqlite3.connect(path)
    try:
        connection.execute(f"CREATE TABLE t ({', '.join(names)})")
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows)
        connection.commit()
    finally:
        connection.close()


def _sql_value(value: Any) -> Any:
    if isinstance(value, int | float | str | bytes) or value is None:
        return value
    return None if np.ndim(value) == 0 and pd.isna(value) else str(value)


WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".csv.gz": _packed,
    ".jsonl": _json_lines,
    ".parquet": lambda frame, path: frame.to_parquet(path),
    ".feather": lambda frame, path: frame.to_feather(path),
    ".sqlite": _database,
}


def draw_file(rng: Rng, folder: Path) -> tuple[Path, list[str]]:
    """Write a file, whole or damaged, and return its path and the words for what is in it."""
    if rng.random() < 0.2:
        name = str(rng.choice(list(TEXTS)))
        ending, content = TEXTS[name]
        path = folder / f"table{ending}"
        path.write_bytes(content)
        return path, [f"{ending}: {name}"]
    drawn = draw_table(rng, for_file=True)
    ending = str(rng.choice(list(WRITERS), p=[0.4, 0.1, 0.1, 0.15, 0.15, 0.05, 0.05]))
    path, words = _written(drawn, ending, folder)
    if rng.random() < 0.35:
        words.append(damage(path, rng))
    return path, words


def _written(drawn: Drawn, ending: str, folder: Path) -> tuple[Path, list[str]]:
    y = drawn.y
    frame = drawn.X.reset_index(drop=True)
    column = pd.Series(y.iloc[:, 0] if getattr(y, "ndim", 1) == 2 else y).reset_index(drop=True)
    frame.insert(len(frame.columns), "target", column, allow_duplicates=True)
    path = folder / f"table{ending}"
    try:
        WRITERS[ending](frame, path)
        return path, [*drawn.words, ending]
    except Exception as error:  # what a format cannot hold goes into text
        path.unlink(missing_ok=True)
        path = folder / "table.csv"
        WRITERS[".csv"](frame, path)
        return path, [*drawn.words, f".csv, {ending} refused it ({type(error).__name__})"]


def damage(path: Path, rng: Rng) -> str:
    """Change the bytes of a file, and say how."""
    content = path.read_bytes()
    name = str(rng.choice(list(_DAMAGES)))
    path.write_bytes(_DAMAGES[name](content, rng))
    return f"damage: {name}"


def _cut(content: bytes, rng: Rng) -> bytes:
    return content[: int(rng.integers(0, len(content) + 1))]


def _flipped(content: bytes, rng: Rng) -> bytes:
    changed = bytearray(content)
    for place in rng.integers(0, max(len(changed), 1), int(rng.integers(1, 20))):
        if len(changed):
            changed[int(place)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _inserted(piece: bytes) -> Callable[[bytes, Rng], bytes]:
    def insert(content: bytes, rng: Rng) -> bytes:
        place = int(rng.integers(0, len(content) + 1))
        return content[:place] + piece + content[place:]

    return insert


def _in_lines(change: Callable[[list[bytes], Rng], list[bytes]]) -> Callable[[bytes, Rng], bytes]:
    return lambda content, rng: b"\n".join(change(content.split(b"\n"), rng))


def _without_a_line(lines: list[bytes], rng: Rng) -> list[bytes]:
    place = int(rng.integers(len(lines)))
    return lines[:place] + lines[place + 1 :]


def _longer_line(lines: list[bytes], rng: Rng) -> list[bytes]:
    place = int(rng.integers(len(lines)))
    return [*lines[:place], lines[place] + b",1,2,3", *lines[place + 1 :]]


_DAMAGES: dict[str, Callable[[bytes, Rng], bytes]] = {
    "cut off": _cut,
    "bits flipped": _flipped,
    "a NUL": _inserted(b"\0"),
    "invalid UTF-8": _inserted(b"\xff\xfe\x80"),
    "a quote": _inserted(b'"'),
    "a line end": _inserted(b"\r"),
    "a long field": _inserted(b"x" * 140_000),
    "a mark at the start": lambda content, rng: b"\xef\xbb\xbf" + content,
    "a line less": _in_lines(_without_a_line),
    "a longer line": _in_lines(_longer_line),
    "the first line only": _in_lines(lambda lines, rng: lines[:1]),
    "lines shuffled": _in_lines(lambda lines, rng: [lines[i] for i in rng.permutation(len(lines))]),
    "twice after itself": lambda content, rng: content + content,
    "other line ends": lambda content, rng: content.replace(b"\n", b"\r\n"),
    "JSON constants": lambda content, rng: content.replace(b"null", b"NaN"),
}
