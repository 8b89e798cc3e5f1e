"""A store that was damaged gives right answers or a clear error, never a wrong answer."""

import shutil
from collections import Counter

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, assess
from truefit._core.errors import StoreError

X, y = make_classification(120, 5, random_state=0)
MODELS = {"tree": DecisionTreeClassifier(max_depth=3), "bayes": GaussianNB()}


def damaged(content, rng):
    """Return the bytes of a file after one of several mishaps."""
    changed = bytearray(content)
    place = int(rng.integers(len(content)))
    kind = ("bits", "block", "zeros", "cut", "moved")[int(rng.integers(5))]
    if kind == "bits":
        for each in rng.integers(len(content), size=int(rng.integers(1, 50))):
            changed[each] ^= 1 << int(rng.integers(8))
    elif kind == "block":
        changed[place : place + 512] = rng.bytes(len(changed[place : place + 512]))
    elif kind == "zeros":
        changed[place : place + 4096] = bytes(len(changed[place : place + 4096]))
    elif kind == "cut":
        del changed[place:]
    else:
        other = int(rng.integers(len(content)))
        changed[place : place + 256] = changed[other : other + len(changed[place : place + 256])]
    return kind, bytes(changed)


def test_a_damaged_store_gives_no_wrong_answer(tmp_path):
    whole = tmp_path / "whole.db"
    with Engine(whole, solvers="plain") as engine:
        expected = assess(MODELS, X, y, cv=5, repeats=3, engine=engine).predictions
    rng, found = np.random.default_rng(0), Counter()
    for case in range(20):
        kind, content = damaged(whole.read_bytes(), rng)
        folder = tmp_path / str(case)
        folder.mkdir()
        (folder / "runs.db").write_bytes(content)
        try:
            with Engine(folder / "runs.db", solvers="plain") as engine:
                predictions = assess(MODELS, X, y, cv=5, repeats=3, engine=engine).predictions
        except StoreError:
            found[f"{kind}: refused"] += 1
        else:
            for name, frame in expected.items():
                pd.testing.assert_frame_equal(predictions[name], frame, check_exact=True)
            found[f"{kind}: right"] += 1
        shutil.rmtree(folder)
    assert found.total() == 20, found
