import subprocess
import sys

import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, assess

RUN = """
import sys
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier
from truefit import Engine, assess
X, y = make_classification(200, 5, random_state=0)
trees = {str(d): DecisionTreeClassifier(max_depth=d) for d in (1, 2, 3)}
with Engine(sys.argv[1]) as engine:
    result = assess(trees, X, y, cv=5, repeats=20, engine=engine)
    for name, frame in result.predictions.items():
        frame.to_pickle(sys.argv[2] + name)
    print(engine.stats.run + engine.stats.stored)
"""


@pytest.mark.parametrize("names", ["ab", pytest.param("abcd", marks=pytest.mark.slow)])
def test_processes_on_one_store_are_all_right_and_lose_nothing(tmp_path, names):
    store = tmp_path / "runs.db"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RUN, str(store), str(tmp_path / who)], stdout=subprocess.PIPE, text=True
        )
        for who in names
    ]
    for process in processes:
        answered, _ = process.communicate(timeout=300)
        assert (process.returncode, int(answered)) == (0, 300)
    X, y = make_classification(200, 5, random_state=0)
    trees = {str(depth): DecisionTreeClassifier(max_depth=depth) for depth in (1, 2, 3)}
    alone = assess(trees, X, y, cv=5, repeats=20).predictions
    for depth in trees:
        for who in names:
            found = pd.read_pickle(tmp_path / f"{who}{depth}")
            pd.testing.assert_frame_equal(found, alone[depth], check_exact=True)
    with Engine(store) as engine:
        assess(trees, X, y, cv=5, repeats=20, engine=engine)
        assert (engine.stats.run, engine.stats.stored) == (0, 300)
