"""The fewest columns within one standard error of all, judged by nested cross-validation."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold, ShuffleSplit

from truefit import importance
from truefit._core.errors import InvalidInput
from truefit._methods.importance.fewest import sizes_of


def table(n=240, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 9))
    return X, 3 * X[:, 4] + 2 * X[:, 1] + random.normal(size=n)


def test_the_columns_that_matter_are_found_and_judged_on_rows_that_did_not_choose_them():
    X, y = table()
    folds = list(KFold(4).split(X))
    found = importance(LinearRegression(), X, y, cv=folds, repeats=2, correlated=None, fewest=True).fewest
    assert found.columns == ["column 4", "column 1"]
    assert list(found.scores) == sizes_of(9)
    assert found.chosen == [2, 2, 2, 2]
    errors = [
        mean_squared_error(y[test], LinearRegression().fit(X[train][:, [4, 1]], y[train]).predict(X[test][:, [4, 1]]))
        for train, test in folds
    ]
    assert found.estimate == pytest.approx(np.mean(errors))
    full = [mean_squared_error(y[b], LinearRegression().fit(X[a], y[a]).predict(X[b])) for a, b in folds]
    assert found.full == pytest.approx(np.mean(full))
    assert found.interval[0] < found.difference < found.interval[1]


@pytest.mark.slow
def test_the_judgement_is_honest_where_nothing_is_to_be_found():
    X, _ = table(60)
    gaps = []
    for seed in range(8):
        y = np.random.default_rng(100 + seed).normal(size=60)
        found = importance(LinearRegression(), X, y, repeats=2, correlated=None, fewest=True).fewest
        gaps.append(found.estimate - found.scores[len(found.columns)])
    assert np.mean(gaps) > 0  # the score that chose the columns is optimistically biased


def test_the_summary_and_the_plain_data_say_it():
    X, y = table(120)
    result = importance(Ridge(), X, y, repeats=1, fewest=True)
    assert "columns of 9 suffice, within one standard error: column 4, column 1" in result.summary()
    assert result.to_dict()["fewest"]["columns"][:2] == ["column 4", "column 1"]
    with pytest.raises(InvalidInput, match="fewest=True needs at least 3 folds that hold out each row once"):
        importance(Ridge(), X, y, cv=ShuffleSplit(4), fewest=True)
