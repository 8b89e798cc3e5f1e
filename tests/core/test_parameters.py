import gc
import threading

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from truefit._core import parameters
from truefit._core.data import Data
from truefit._core.fingerprint import Fingerprint
from truefit._core.identity import Keys
from truefit._core.parameters import (
    WithFitParams,
    bare,
    cloned,
    fit_metadata,
    params_of,
    plain_params,
    wants_groups,
    weight_parameter,
)
from truefit._core.protocols import FitTask
from truefit._core.rows import Rows

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


CLONED = ESTIMATORS | {
    "values of numpy": Ridge(alpha=np.float64(3.0)),
    "a random state": SVC(random_state=np.random.RandomState(0)),
    "fitted": Ridge().fit([[0.0], [1.0]], [0.0, 1.0]),
    "output as a frame": StandardScaler().set_output(transform="pandas"),
    "a kernel": RBF(2.0),
    "clones itself": FrozenEstimator(Ridge()),
}


@pytest.mark.parametrize("name", CLONED)
def test_clones_are_those_of_scikit_learn(name):
    estimator = CLONED[name]
    ours, theirs = cloned(estimator), clone(estimator)
    assert type(ours) is type(theirs)
    assert (ours is estimator) == (theirs is estimator)
    assert vars(ours).keys() == vars(theirs).keys()
    assert Fingerprint(ours).digest == Fingerprint(theirs).digest


def test_clones_keep_requests_for_metadata():
    with sklearn.config_context(enable_metadata_routing=True):
        asked = Ridge().set_fit_request(sample_weight=True)
        assert weight_parameter(cloned(asked)) == "sample_weight"
        assert weight_parameter(cloned(Ridge())) is None


def test_plain_parameters_are_all_that_an_estimator_has():
    assert plain_params(Ridge(alpha=[1.0]), but=("alpha",))["solver"] == "auto"
    assert plain_params(Ridge(alpha=[1.0])) is None
    assert plain_params(Ridge().fit([[0.0], [1.0]], [0.0, 1.0])) is None


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

    before = len(parameters._names)
    use()
    gc.collect()
    assert len(parameters._names) <= before


rng = np.random.default_rng(0)
X, y, VALUES = rng.normal(size=(20, 2)), np.arange(20) % 2, rng.uniform(size=20)
DATA = Data(X, y, task="classification")


def task(params, rows=range(10)):
    return FitTask(WithFitParams(LogisticRegression(), params, 20), Rows.of(np.array(rows)))


def test_values_by_row_are_taken_for_the_rows_and_others_passed_on():
    pairs = [(X, y)]
    made = WithFitParams(LogisticRegression(), {"offset": VALUES, "eval_set": pairs, "flag": "x"}, 20)
    found = fit_metadata(made, DATA, np.array([3, 5]))
    assert found["offset"].tolist() == VALUES[[3, 5]].tolist()
    assert found["eval_set"][0][0].tolist() == X.tolist()
    assert found["eval_set"] is not pairs
    assert found["flag"] == "x"
    assert made.by_row
    assert not WithFitParams(LogisticRegression(), {"flag": "x"}, 20).by_row


def test_weights_of_the_table_come_along():
    weighted = Data(X, y, task="classification", weight=VALUES)
    made = WithFitParams(LogisticRegression(), {"flag": 1}, 20)
    assert fit_metadata(made, weighted, np.array([2]))["sample_weight"].tolist() == [VALUES[2]]
    assert weight_parameter(bare(made)) == "sample_weight"
    assert not wants_groups(made)


def test_a_clone_shares_the_parameters_and_not_the_estimator():
    made = WithFitParams(LogisticRegression(), {"callbacks": [print]}, 20)
    again = clone(made)
    assert again.params is made.params
    assert again.estimator is not made.estimator
    assert Fingerprint(again).digest == Fingerprint(made).digest
    assert Fingerprint(WithFitParams(LogisticRegression(), {}, 20)).digest != Fingerprint(made).digest


def test_the_identity_of_a_fit_has_its_parameters():
    keys = Keys(DATA)
    assert keys.fit(task({"flag": 1})).key == keys.fit(task({"flag": 1})).key
    different = [{"flag": 1}, {"flag": 2}, {"other": 1}, {"offset": VALUES}, {"offset": VALUES[::-1]}]
    found = {keys.fit(task(params)).key for params in different}
    assert len(found) == len(different)


def test_values_by_row_bind_a_fit_to_the_places_of_its_rows():
    order = rng.permutation(20)
    moved = Keys(Data(X[order], y[order], task="classification"))
    places = np.sort(np.argsort(order)[:10])  # where the first ten rows stand now
    for params, same in (({"flag": 1}, True), ({"offset": VALUES}, False)):
        assert (moved.fit(task(params, places)).key == Keys(DATA).fit(task(params)).key) == same


def test_parameters_without_content_give_a_key_of_their_own():
    keys = Keys(DATA)
    with pytest.warns(UserWarning, match="LogisticRegression cannot be identified by its content"):
        first = keys.fit(task({"callback": threading.local()}))
    with pytest.warns(UserWarning, match="cannot be identified"):
        second = keys.fit(task({"callback": threading.local()}))
    assert first.key != second.key
