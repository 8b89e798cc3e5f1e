import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import StratifiedKFold, validation_curve
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, assess, complexity_curve
from truefit._core.errors import InvalidInput

X, y = load_breast_cancer(return_X_y=True)
TREE = DecisionTreeClassifier(random_state=0)


def test_train_and_test_values_are_scikit_learns_on_the_same_splits():
    cv, depths = StratifiedKFold(4), [1, 2, 5]
    curve = complexity_curve(TREE, X, y, parameter="max_depth", values=depths, cv=cv, metric="accuracy")
    train, test = validation_curve(TREE, X, y, param_name="max_depth", param_range=depths, cv=cv)
    assert np.allclose(curve.table["train"], train.mean(axis=1), rtol=1e-12)
    assert np.allclose(curve.table["train_sd"], train.std(axis=1, ddof=1), rtol=1e-9)
    assert np.allclose(curve.table["estimate"], test.mean(axis=1), rtol=1e-12)
    assert curve.best == depths[int(test.mean(axis=1).argmax())]


def test_a_path_takes_one_fit_per_split_and_shares_it_with_an_assessment():
    engine = Engine()
    boosting = GradientBoostingClassifier(max_depth=1, random_state=0)
    complexity_curve(boosting, X, y, parameter="n_estimators", values=[5, 10, 20], cv=3, engine=engine)
    assert (engine.stats.asked, engine.stats.run) == (9, 3)
    assess(boosting.set_params(n_estimators=20), X, y, cv=3, metric="accuracy", engine=engine)
    assert engine.stats.run <= 6


def test_a_triangle_can_stand_behind_each_point():
    XD, yd = load_diabetes(return_X_y=True)
    curve = complexity_curve(
        Ridge(), XD, yd, parameter="alpha", values=[0.1, 1.0, 10.0], interval="triangle", metric="rmse"
    )
    assert (curve.table["low"] < curve.table["estimate"]).all()
    assert (curve.table["high"] > curve.table["estimate"]).all()


def test_it_is_drawn_told_and_written():
    curve = complexity_curve(TREE, X, y, parameter="max_depth", values=[1, 3, None], cv=3)
    assert "best at" in curve.summary()
    assert json.loads(json.dumps(curve.to_dict()))["points"][2]["at"] is None
    assert curve.plot().get_xlabel() == "max_depth"
    assert "<svg" in curve._repr_html_()


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (TREE, {"parameter": "depth", "values": [1]}, "must be a parameter of DecisionTreeClassifier"),
        (TREE, {"parameter": "max_depth", "values": []}, "must be a list of values"),
        ([TREE, GaussianNB()], {"parameter": "max_depth", "values": [1]}, "takes one estimator"),
    ],
)
def test_what_cannot_be_followed_is_refused(model, options, message):
    with pytest.raises(InvalidInput, match=message):
        complexity_curve(model, X, y, **options)
