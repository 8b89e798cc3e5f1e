from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truefit import Engine, assess
from truefit._core.data import Data
from truefit._solvers.forest_sizes import ForestSizesSolver
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit.testing.solver_contract import SolverCase, SolverContract

XD, yd = (part[:90] for part in load_diabetes(return_X_y=True))
XW, yw = load_wine(return_X_y=True)
BOTH = ("predict", "predict_proba")


class OwnForest(RandomForestRegressor):
    pass


def sizes(make, counts=(4, 1, 9), **params):
    return [make(n_estimators=count, **params) for count in counts]


class TestForestSizesSolver(SolverContract):
    def make_solver(self):
        return ForestSizesSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        words = np.array(["low", "mid", "top"])[yw]
        of_classes = {"task": "classification", "responses": BOTH}
        labels = np.random.default_rng(0).permutation(yw)
        return [
            SolverCase("forest", sizes(RandomForestRegressor), XD, yd),
            SolverCase("extra trees", sizes(ExtraTreesRegressor, max_features=0.5), XD, yd),
            SolverCase("classes", sizes(RandomForestClassifier, class_weight="balanced"), XW, words, **of_classes),
            SolverCase("extra classes", sizes(ExtraTreesClassifier, bootstrap=True), XW, yw, **of_classes),
            SolverCase("other labels", sizes(RandomForestClassifier), XW, yw, labels=labels, **of_classes),
            SolverCase("seeded", sizes(RandomForestRegressor, random_state=3), XD, yd),
            SolverCase("bags", sizes(BaggingRegressor, max_features=0.5), XD, yd),
            SolverCase(
                "bags of others", sizes(BaggingRegressor, estimator=Ridge(), bootstrap=False, max_samples=9), XD, yd
            ),
            SolverCase("bags of classes", sizes(BaggingClassifier), XW, words, **of_classes),
            SolverCase("votes", sizes(BaggingClassifier, estimator=KNeighborsClassifier(2)), XW, yw, **of_classes),
            SolverCase("part of the rows", sizes(RandomForestRegressor, max_samples=0.6), XD, yd),
        ]

    def not_for_it(self):
        return [
            SolverCase("one size", sizes(RandomForestRegressor, (5,)), XD, yd),
            SolverCase("own class", sizes(OwnForest), XD, yd),
            SolverCase("rows left out are judged", sizes(RandomForestRegressor, (30, 40), oob_score=True), XD, yd),
            SolverCase("warm", sizes(RandomForestRegressor, warm_start=True), XD, yd),
            SolverCase("depths", [RandomForestRegressor(5, max_depth=depth) for depth in (1, 2)], XD, yd),
            SolverCase("a stream", sizes(RandomForestRegressor, random_state=np.random.RandomState(0)), XD, yd),
        ]


def test_answers_are_those_of_plain_fitting_bit_for_bit_and_so_are_models():
    data = Data(XW, yw, task="classification")
    case = SolverCase("classes", sizes(RandomForestClassifier), XW, yw, "classification", responses=BOTH)
    fits = [replace(fit, keep_model=True) for fit in case.fits(data)]
    for job in ForestSizesSolver().claim(fits, data):
        for fit, outcome in zip(job.fits, job.run(data), strict=True):
            plain = fit_plain(fit, data)
            assert outcome.solver == "forest sizes"
            for mine, theirs in zip(outcome.answers, plain.answers, strict=True):
                assert np.array_equal(mine.values, theirs.values)
            assert len(outcome.model.estimators_) == outcome.model.n_estimators == fit.estimator.n_estimators
            assert np.array_equal(outcome.model.feature_importances_, plain.model.feature_importances_)


@pytest.mark.parametrize("piped", [False, True])
def test_a_grid_of_sizes_takes_one_fit_per_fold(piped):
    forests = {str(m): RandomForestClassifier(m) for m in (2, 4, 8)}
    if piped:
        forests = {name: make_pipeline(StandardScaler(), forest) for name, forest in forests.items()}
    engine, plain = Engine(), Engine(solvers="plain")
    one = assess(forests, XW, yw, cv=3, engine=engine)
    other = assess(forests, XW, yw, cv=3, engine=plain)
    assert one.estimate == other.estimate
    assert plain.stats.run == 9
    assert engine.stats.run == (9 if piped else 3)  # behind shared steps each fit is counted
