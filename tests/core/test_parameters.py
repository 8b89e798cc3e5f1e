import gc

import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from truefit._core import parameters as params
from truefit._core.parameters import params_of

ESTIMATORS = {
    "plain": Ridge(alpha=3.0),
    "one inside": BaggingClassifier(DecisionTreeClassifier(max_depth=2)),
    "a pipeline": make_pipeline(make_column_transformer((OneHotEncoder(), [0])), StandardScaler(), SVC(C=2.0)),
    "a search": GridSearchCV(make_pipeline(LogisticRegression()), {"logisticregression__C": [1.0]}),
    "votes": VotingClassifier([("a", SVC()), ("b", LogisticRegression())]),
    "a class in a parameter": BaggingClassifier(DecisionTreeClassifier),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("deep", [False, True])
def test_they_are_those_of_get_params_in_the_same_order(name, deep):
    estimator = ESTIMATORS[name]
    for _ in range(2):  # found out, and remembered
        assert list(params_of(estimator, deep=deep).items()) == list(estimator.get_params(deep=deep).items())


class Own(BaseEstimator):
    def __init__(self, a=1):
        self.a = a


def test_another_init_is_read_anew():
    assert params_of(Own(2)) == {"a": 2}
    kept = Own.__init__

    def other(self, a=1, b=3):
        self.a, self.b = a, b

    Own.__init__ = other
    try:
        assert params_of(Own(5)) == {"a": 5, "b": 3}
    finally:
        Own.__init__ = kept


def test_who_has_words_of_its_own_is_asked():
    class Says(Own):
        def get_params(self, deep=True):
            return {"said": deep}

    class Names(Own):
        @classmethod
        def _get_param_names(cls):
            return ["a", "more"]

        more = 7

    assert params_of(Says()) == {"said": False}
    assert params_of(Names()) == {"a": 1, "more": 7}


def test_a_class_that_is_gone_is_forgotten():
    def use():
        class Passing(Own):
            pass

        class CallsSuper(Own):
            def __init__(self, a=1):
                super().__init__(a)

        params_of(Passing())
        params_of(CallsSuper())

    before = len(params._names)
    use()
    gc.collect()
    assert len(params._names) <= before
