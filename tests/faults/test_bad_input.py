"""Bad input gets a clear sentence, and a store that is there is not touched."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification
from sklearn.model_selection import GroupKFold
from sklearn.naive_bayes import GaussianNB

from truefit import Engine, assess
from truefit._core.errors import InvalidInput

X, y = make_classification(60, 4, random_state=0)
NB = GaussianNB()


class Mute(BaseEstimator):
    def fit(self, X, y):
        return self


class Stubborn(GaussianNB):
    def __init__(self, priors=None):
        self.priors = [0.5, 0.5]


CASES = {
    "lengths that differ": lambda e: assess(NB, X, y[:50], engine=e),
    "NaN in y": lambda e: assess(NB, X, np.where(y == 0, np.nan, 1.0), engine=e),
    "one class only": lambda e: assess(NB, X, np.ones(60), engine=e),
    "k larger than n": lambda e: assess(NB, X, y, cv=61, engine=e),
    "unknown metric": lambda e: assess(NB, X, y, metric="magic", engine=e),
    "unknown design": lambda e: assess(NB, X, y, design="magic", engine=e),
    "groups missing": lambda e: assess(NB, X, y, cv=GroupKFold(3), engine=e),
    "no predict": lambda e: assess(Mute(), X, y, engine=e),
    "not cloneable": lambda e: assess(Stubborn(), X, y, engine=e),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_leaves_the_store_untouched(case, tmp_path):
    path = tmp_path / "runs.db"
    with Engine(path) as engine:
        assess(NB, X, y, engine=engine)
    before = path.read_bytes()
    with Engine(path) as engine, pytest.raises(InvalidInput) as caught:
        CASES[case](engine)
    assert path.read_bytes() == before
    assert len(str(caught.value).splitlines()) == 1


def test_bad_input_makes_no_store(tmp_path):
    path = tmp_path / "runs.db"
    with Engine(path) as engine, pytest.raises(InvalidInput):
        assess(NB, X, y[:50], engine=engine)
    assert list(tmp_path.iterdir()) == []
