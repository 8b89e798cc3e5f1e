"""Names of version 0.2 work for one release, and say what to write."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB

import truefit
from truefit import Engine, assess, compare, complexity_curve, learning_curve, study
from truefit._api.validation import Renamed, renamed_keywords

X, y = load_iris(return_X_y=True)
PAIR = {"a": GaussianNB(), "b": GaussianNB(var_smoothing=0.1)}

#: Function, arguments, the deprecated keyword, the new one, a value.
CALLS = {
    "assess": (assess, (GaussianNB(), X, y), "k", "cv", 3),
    "compare": (compare, (PAIR, X, y), "k", "cv", 3),
    "complexity_curve": (complexity_curve, (GaussianNB(), X, y), "k", "cv", 3),
    "learning_curve": (learning_curve, (GaussianNB(), X, y), "k", "cv", 3),
    "study": (study, (X, y, PAIR), "k", "cv", 3),
    "assess, a splitter": (assess, (GaussianNB(), X, y), "design", "cv", StratifiedKFold(3)),
    "compare, a splitter": (compare, (PAIR, X, y), "design", "cv", StratifiedKFold(3)),
    "complexity_curve, a splitter": (complexity_curve, (GaussianNB(), X, y), "design", "cv", StratifiedKFold(3)),
}
OTHERS = {complexity_curve: {"parameter": "var_smoothing", "values": [1e-9, 1.0]}}


@pytest.mark.parametrize("name", CALLS)
def test_old_names_give_the_same_result_with_a_warning(name):
    function, arguments, old, new, value = CALLS[name]
    options = {"random_state": 0, "engine": Engine(progress=False)} | OTHERS.get(function, {})
    now = function(*arguments, **{new: value}, **options)
    with pytest.warns(FutureWarning, match=f"`{old}` .*`{new}` in 0.3 and will be .* in 0.4: write {new}=") as caught:
        before = function(*arguments, **{old: value}, **options)
    assert [each.filename for each in caught] == [__file__]
    if function is study:
        assert before.best == now.best
    else:
        assert before.to_dict() == now.to_dict()


def test_the_message_is_what_to_write():
    with pytest.warns(FutureWarning) as caught:
        assess(GaussianNB(), X, y, k=10)
    assert str(caught[0].message) == "`k` was renamed to `cv` in 0.3 and will be removed in 0.4: write cv=10."


def test_both_names_at_once_are_refused():
    with pytest.raises(TypeError, match=r"assess\(\) takes either `cv` or `k`"):
        assess(GaussianNB(), X, y, k=3, cv=3)


@pytest.mark.parametrize("name", [*truefit._HOMES])
def test_signatures_have_the_new_names_only(name):
    function = getattr(truefit, name)
    assert "k" not in inspect.signature(function).parameters


def test_functions_keep_their_name_and_documentation():
    assert assess.__name__ == "assess"
    assert "cv : int, splitter" in assess.__doc__
    assert list(inspect.signature(assess).parameters)[3:5] == ["cv", "design"]


def test_values_that_stay_are_left_alone():
    @renamed_keywords(Renamed("design", "cv", when=lambda value: not isinstance(value, str)))
    def both(*, cv=5, design=None):
        return cv, design

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert both(design="loo", cv=3) == (3, "loo")
    with pytest.warns(FutureWarning, match="with such a value was moved to `cv`"):
        assert both(design=7) == (7, None)


FOLDS = [(np.arange(10, 60), np.arange(10)), (np.r_[:10, 20:60], np.arange(10, 20))]


@pytest.mark.parametrize("cv", [FOLDS, iter(FOLDS)], ids=["list", "iterator"])
def test_cv_takes_what_scikit_learn_takes(cv):
    rows = np.random.default_rng(0).normal(size=(60, 2))
    found = assess(LinearRegression(), rows, rows[:, 0] + rows[:, 1] ** 2, cv=cv)
    assert len(found.split_scores()) == 1
    assert len(next(iter(found.split_scores().values()))) == 2


def test_design_by_name_needs_a_number_of_folds():
    with pytest.raises(ValueError, match="With design='holdout' 'cv' must be a number of folds"):
        assess(GaussianNB(), X, y, cv=KFold(3), design="holdout")
    assert assess(GaussianNB(), X, y, cv=3, design="kfold").to_dict() == assess(GaussianNB(), X, y, cv=3).to_dict()
    assert assess(GaussianNB(), X, y, cv=None).to_dict() == assess(GaussianNB(), X, y, cv=5).to_dict()


@pytest.mark.parametrize("cv", ["five", 2.5, True])
def test_cv_of_another_kind_is_refused(cv):
    with pytest.raises(ValueError, match="The 'cv' parameter must be a number of folds, a scikit-learn splitter"):
        assess(GaussianNB(), X, y, cv=cv)


@pytest.mark.parametrize("function", [learning_curve, study])
def test_a_splitter_is_refused_where_folds_must_be_a_number(function):
    arguments = (X, y, PAIR) if function is study else (GaussianNB(), X, y)
    with pytest.raises(ValueError, match="'cv' parameter must be a whole number of at least 2 folds"):
        function(*arguments, cv=KFold(3))
