import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import truefit
from truefit import bounds
from truefit._core.errors import InvalidEstimator, InvalidInput


def test_the_module_is_found_by_name_and_not_loaded_before():
    assert truefit.bounds is bounds
    assert "bounds" in dir(truefit)
    code = "import sys, truefit; print('truefit.bounds' in sys.modules); truefit.bounds.vc; print('ok')"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "ok"]


def test_a_bound_is_a_number_with_words():
    bound = bounds.vc(3, 1000, training_error=0.1)
    assert math.isclose(bound, 0.1 + 0.332865, rel_tol=1e-5)
    assert bound.value == float(bound)
    assert bound > 0.4
    assert "at most 0.433 (training error 0.1 plus 0.333)" in bound.reading
    assert "Eq. 6" in bound.equation
    again = pickle.loads(pickle.dumps(bound))
    assert (again, again.reading, again.equation) == (bound, bound.reading, bound.equation)


def test_a_bound_that_says_nothing_says_so():
    for vacuous in (bounds.vc(300, 1000), bounds.vc(300, 100), bounds.vc(math.inf, 100), bounds.srm_bound(0, 1, 50)):
        assert "vacuous" in vacuous.reading
    assert "vacuous" not in bounds.vc(10, 10_000, tau=10.0).reading


def test_equation_7_is_for_a_realizable_task():
    assert math.isclose(bounds.vc(3, 1000, realizable=True), 0.0390137, rel_tol=1e-5)
    with pytest.raises(InvalidInput, match="training error must be 0"):
        bounds.vc(3, 1000, realizable=True, training_error=0.1)


def test_pac_samples_of_a_finite_class_and_of_a_dimension():
    assert bounds.pac_samples(1000, 0.1, 0.05) == 100
    assert bounds.pac_samples(1000, epsilon=0.1, delta=0.05, realizable=False) == 530
    assert bounds.pac_samples(2**5000, 0.1) == math.ceil((5000 * math.log(2) + math.log(20)) / 0.1)
    h = bounds.vc_dimension(LogisticRegression(), 2)
    assert bounds.pac_samples(None, 0.1, vc_dimension=h) == 1686
    assert "on 100 rows a hypothesis that makes no error" in bounds.pac_samples(1000, 0.1).reading
    infinite = bounds.pac_samples(None, 0.1, vc_dimension=math.inf)
    assert infinite == math.inf
    assert "not PAC learnable" in infinite.reading


def test_srm_risk_is_the_papers_index_and_srm_bound_is_its_equation_2():
    slack = 3 * math.sqrt(math.log(40) / 2000)
    assert math.isclose(bounds.srm_risk(0.8, 1000, 0.05), 1 - 0.4 + slack)
    assert bounds.srm_risk(-0.8, 1000) == bounds.srm_risk(0.8, 1000)
    # A perfect learner: no training error, and no fit to random signs.
    assert math.isclose(bounds.srm_risk(1.0, 1000), 0.5 + slack)
    assert math.isclose(bounds.srm_bound(0.0, 0.0, 1000), slack)
    assert "not a bound of the error" in bounds.srm_risk(1.0, 1000).reading
    assert math.isclose(bounds.srm_bound(0.1, 0.2, 1000, 0.05), 0.3 + slack)


def test_the_burden_of_a_selection():
    burden = bounds.selection_burden(100, 1000, 0.2)
    assert math.isclose(burden, (1 + math.log(100)) / 200)
    assert round(burden / bounds.selection_burden(1, 1000, 0.2), 1) == 5.6
    assert "100 models on 200 held-out rows" in burden.reading


@pytest.mark.parametrize(
    ("model", "dimension"),
    [
        (LogisticRegression(), 11),
        (LogisticRegression(fit_intercept=False), 10),
        (LinearSVC(), 11),
        (Perceptron(), 11),
        (LinearDiscriminantAnalysis(), 11),
        (SVC(kernel="linear"), 11),
        (SVC(), math.inf),
        (DecisionTreeClassifier(max_depth=1), 6),
        (DecisionTreeClassifier(), math.inf),
        (KNeighborsClassifier(1), math.inf),
        (DummyClassifier(), 1),
    ],
)
def test_dimensions_that_are_known(model, dimension):
    found = bounds.vc_dimension(model, 10)
    assert found == dimension
    assert found.known
    assert type(model).__name__ in found.reading


class MyLogisticRegression(LogisticRegression):
    pass


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(),
        GaussianNB(),
        SVC(kernel="poly"),
        DecisionTreeClassifier(max_depth=3),
        DecisionTreeClassifier(min_samples_leaf=5),
        KNeighborsClassifier(5),
        DummyClassifier(strategy="uniform"),
        make_pipeline(LogisticRegression()),
        MyLogisticRegression(),
        Ridge(),
    ],
)
def test_dimensions_that_are_not_known_are_not_guessed(model):
    found = bounds.vc_dimension(model, 10)
    assert math.isnan(found)
    assert not found.known
    assert f"not known for {type(model).__name__}" in found.reading
    with pytest.raises(InvalidInput, match="not known"):
        bounds.vc(found, 1000)


@pytest.mark.parametrize(
    "call",
    [
        lambda: bounds.vc(0, 100),
        lambda: bounds.vc("ten", 100),
        lambda: bounds.vc(10, 0),
        lambda: bounds.vc(10, 99.5),
        lambda: bounds.vc(10, 100, eta=0),
        lambda: bounds.vc(10, 100, eta=1.0),
        lambda: bounds.vc(10, 100, tau=0),
        lambda: bounds.vc(10, 100, training_error=1.1),
        lambda: bounds.vc(10, math.inf),
        lambda: bounds.pac_samples(0, 0.1),
        lambda: bounds.pac_samples(True, 0.1),
        lambda: bounds.pac_samples(10, 0.0),
        lambda: bounds.pac_samples(10, 0.1, 2.0),
        lambda: bounds.pac_samples(None, 0.1),
        lambda: bounds.pac_samples(10, 0.1, vc_dimension=3),
        lambda: bounds.srm_risk(math.nan, 100),
        lambda: bounds.srm_risk(0.5, -1),
        lambda: bounds.srm_bound(-0.1, 0.5, 100),
        lambda: bounds.srm_bound(0.1, 1.5, 100),
        lambda: bounds.selection_burden(0, 100),
        lambda: bounds.selection_burden(10, 100, 1.0),
        lambda: bounds.vc_dimension(LogisticRegression(), 0),
        lambda: bounds.rademacher(GaussianNB(), np.eye(4), rounds=0),
        lambda: bounds.rademacher(GaussianNB(), np.eye(4), level=95),
    ],
)
def test_numbers_that_cannot_be_are_refused(call):
    with pytest.raises(InvalidInput, match="Got"):
        call()


def test_only_an_instance_has_a_dimension():
    with pytest.raises(InvalidEstimator, match="classifier instance"):
        bounds.vc_dimension(LogisticRegression, 3)


def test_the_bound_of_a_stump_holds_on_rows_that_it_did_not_see():
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:400], order[400:]
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    measured = bounds.rademacher(stump, X[train], y[train])
    bound = bounds.srm_bound(measured.training_error, measured, measured.rows)
    assert np.mean(stump.fit(X[train], y[train]).predict(X[test]) != y[test]) < bound < 1
