"""Real tables for benchmarks, from the folder that TRUEFIT_DATA or ``--data`` names."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from truefit._core.errors import InvalidInput


def table_file(folder, name):
    """Return the Parquet file of a table in the folder that ``--data`` names."""
    file = folder / f"{name}.parquet"
    if not file.is_file():
        raise InvalidInput(f"The folder of tables must hold {file.name}. There is none in {folder}. Check --data.")
    return file


def real_table(name, rows=None):
    """Return X as a frame and y as texts: all rows of a table, or so many drawn at random, always the same."""
    folder = os.environ.get("TRUEFIT_DATA")
    path = None if folder is None else Path(folder) / f"{name}.parquet"
    if path is None or not path.is_file():
        where = "it names no folder" if folder is None else "there is none"
        raise InvalidInput(f"{name}.parquet must be in the folder that TRUEFIT_DATA names. Here {where}.")
    frame = pd.read_parquet(path)
    if rows is not None:
        frame = frame.sample(rows, random_state=0).reset_index(drop=True)
    return frame.iloc[:, :-1], frame.iloc[:, -1].astype(str).to_numpy()
