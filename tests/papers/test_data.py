import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from papers.data import adult, as_ordinal, connect4, mnist01
from truefit._core.errors import InvalidInput

FOLDER = Path(os.environ.get("TRUEFIT_DATA", "/nowhere"))
needs_data = pytest.mark.skipif(not FOLDER.is_dir(), reason="TRUEFIT_DATA names no folder")


def write(folder, name, frame):
    frame.to_parquet(folder / f"{name}.parquet")
    return folder


def test_categories_are_numbered_by_the_alphabet_and_missing_is_one_of_them():
    frame = pd.DataFrame({"b": ["y", "x", None, "y"], "n": [3, 1, 2, 0]})
    assert as_ordinal(frame).tolist() == [[2, 3], [1, 1], [0, 2], [2, 0]]


def test_draws_are_the_fewest_and_are_dropped(tmp_path):
    outcome = ["win"] * 3 + ["draw"] + ["loss"] * 2
    folder = write(tmp_path, "connect4", pd.DataFrame({"a1": list("bxobxo"), "outcome": outcome}))
    X, y = connect4(folder)
    assert X.ravel().tolist() == [0, 2, 1, 2, 1]
    assert y.tolist() == ["win"] * 3 + ["loss"] * 2


def test_an_adult_table_without_its_training_file_is_refused(tmp_path):
    folder = write(tmp_path, "adult", pd.DataFrame({"age": [39], "fnlwgt": [77516], "income": ["<=50K"]}))
    with pytest.raises(InvalidInput, match="32,561 rows of its training file"):
        adult(folder)


def test_images_are_flat_and_from_0_to_1(tmp_path):
    np.savez(tmp_path / "mnist01.npz", x=np.full((2, 28, 28), 255, np.uint8), y=np.array([0, 1], np.uint8))
    X, y = mnist01(tmp_path)
    assert X.shape == (2, 784)
    assert X.min() == X.max() == 1.0
    assert y.tolist() == [0, 1]


@needs_data
@pytest.mark.slow
def test_the_tables_have_the_rows_that_the_paper_names():
    for load, rows, features in ((adult, 32_561, 14), (connect4, 61_108, 42), (mnist01, 14_780, 784)):
        X, y = load(FOLDER)
        assert X.shape == (rows, features)
        assert len(np.unique(y)) == 2


def test_a_download_that_fails_is_said_with_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    with pytest.raises(InvalidInput, match=r"download failed \(.*refused.*Give the folder"):
        adult(None)
