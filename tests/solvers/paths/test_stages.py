from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestClassifier
from sklearn.linear_model import Ridge, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truefit._core.data import Data
from truefit._core.errors import InvalidEstimator
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask, Keep
from truefit._core.rows import Rows
from truefit._core.stages import AtStage, offers_stages, run_stages, snapshot
from truefit._solvers.paths.stages import StagesSolver
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit.testing.solver_contract import SolverCase, SolverContract

rng = np.random.default_rng(0)
X = rng.normal(size=(45, 3))
y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=45)
LABELS = np.array(["low", "middle", "high"])[np.digitize(y, [-1, 1])]


class Descent(RegressorMixin, BaseEstimator):
    """Gradient descent on squares, which shows its steps and how many copies of it there are."""

    copies = 0

    def __init__(self, n_stages=50, rate=0.1):
        self.n_stages = n_stages
        self.rate = rate

    def fit_stages(self, X, y, sample_weight=None):
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        self.coef_ = np.zeros(X.shape[1])
        for _ in range(self.n_stages):
            self.coef_ = self.coef_ - self.rate * X.T @ (weight * (X @ self.coef_ - y)) / weight.sum()
            yield self

    def fit(self, X, y):
        for _ in self.fit_stages(X, y):
            pass
        return self

    def predict(self, X):
        return X @ self.coef_

    def __deepcopy__(self, memo):
        Descent.copies += 1
        copy = Descent(self.n_stages, self.rate)
        copy.coef_ = self.coef_.copy()
        return copy


def stages(estimator, counts=(4, 1, 9)):
    return [AtStage(estimator, count) for count in counts]


class TestStagesSolver(SolverContract):
    def make_solver(self):
        return StagesSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        network = {"hidden_layer_sizes": (5,)}
        both = ("predict", "predict_proba")
        return [
            SolverCase("own", stages(Descent()), X, y),
            SolverCase("weights", stages(Descent()), X, y, weight=np.linspace(0.5, 2, 45)),
            SolverCase("network", stages(MLPRegressor(**network)), X, y),
            SolverCase("scaled", stages(make_pipeline(StandardScaler(), MLPRegressor(**network))), X, y),
            SolverCase("classes", stages(MLPClassifier(**network)), X, LABELS, "classification", responses=both),
            SolverCase("descent", stages(SGDRegressor()), X, y),
            SolverCase("labels", stages(SGDClassifier()), X, LABELS, "classification"),
            SolverCase("weighed", stages(SGDRegressor()), X, y, weight=np.linspace(0.5, 2, 45)),
            SolverCase("trees", stages(ExtraTreesRegressor(max_depth=3)), X, y),
            SolverCase("forest", stages(RandomForestClassifier()), X, LABELS, "classification", responses=both),
            SolverCase("other labels", stages(Descent()), X, y, labels=y[::-1].copy()),
        ]

    def not_for_it(self):
        return [SolverCase("no stages", [Ridge(), Ridge(2.0)], X, y), SolverCase("one", stages(Descent(), (3,)), X, y)]

    def failing(self):
        return [SolverCase("too far", stages(Descent(n_stages=5), (2, 5, 6)), X, y)]


def test_a_stage_is_the_estimator_trained_so_far():
    forest = AtStage(ExtraTreesRegressor(random_state=0), 7).fit(X, y)
    assert np.array_equal(forest.predict(X), ExtraTreesRegressor(7, random_state=0).fit(X, y).predict(X))
    network = MLPRegressor(hidden_layer_sizes=(5,), random_state=0)
    for _ in range(6):
        network.partial_fit(X, y)
    assert np.array_equal(
        AtStage(MLPRegressor(hidden_layer_sizes=(5,), random_state=0), 6).fit(X, y).predict(X), network.predict(X)
    )
    with pytest.raises(InvalidEstimator, match="ended after 50"):
        AtStage(Descent(), 51).fit(X, y)


def test_what_offers_stages():
    assert offers_stages(Descent())
    assert offers_stages(make_pipeline(StandardScaler(), SGDClassifier()))
    assert not offers_stages(GaussianNB())
    assert not offers_stages(Ridge())
    assert not offers_stages(MLPRegressor(early_stopping=True))
    assert not offers_stages(MLPRegressor(solver="lbfgs"))
    with pytest.raises(InvalidEstimator, match="Ridge has none of them"):
        next(run_stages(Ridge(), X, y))


@pytest.mark.parametrize(
    "make",
    [
        Descent,
        lambda: make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(4,), random_state=0)),
        lambda: ExtraTreesRegressor(random_state=0),
        lambda: BaggingRegressor(random_state=0, max_features=2),
    ],
)
def test_a_snapshot_is_not_touched_by_further_training(make):
    run = run_stages(make(), X, y)
    for _ in range(3):
        model = next(run)
    taken, before = snapshot(model), model.predict(X)
    for _ in range(5):
        model = next(run)
    assert np.array_equal(taken.predict(X), before)
    assert not np.array_equal(model.predict(X), before)


def test_the_best_stage_is_the_model_that_is_kept_and_two_are_held():
    data = Data(X, y, task="regression")
    keys, train, test = Keys(data), Rows.of(range(30)), Rows.of(range(30, 45))

    def loss(outcome):  # best at stage 12, and never better again
        error = np.mean((outcome.answer(data, test) - y[30:]) ** 2)
        return abs(error - target)

    candidates = [AtStage(Descent(), stage) for stage in range(1, 51)]
    twelfth = fit_plain(keys.fit(FitTask(candidates[11], train, (Ask(test),))), data)
    target = np.mean((twelfth.answer(data, test) - y[30:]) ** 2)
    fits = [keys.fit(FitTask(each, train, (Ask(test),), keep=Keep("split", loss))) for each in candidates]
    [job] = StagesSolver().claim(fits, data)
    assert job.work == 1
    Descent.copies = 0
    outcomes = StagesSolver().solve(job, data)
    kept = [outcome.model for outcome in outcomes if outcome.model is not None]
    assert [outcome.model is not None for outcome in outcomes].index(True) == 11
    assert len(kept) == 1
    assert Descent.copies == 12  # each better than the one before, which was let go of
    assert np.array_equal(kept[0].predict(X), twelfth.model.predict(X))
    assert isinstance(kept[0], AtStage)
    assert sum(outcome.fit_seconds for outcome in outcomes) > 0


def test_without_a_loss_no_copy_is_made():
    data = Data(X, y, task="regression")
    keys = Keys(data)
    fits = [keys.fit(FitTask(each, Rows.of(range(30)), (Ask(Rows.of(range(30, 45))),))) for each in stages(Descent())]
    assert all(fit.keep is None for fit in fits)
    Descent.copies = 0
    StagesSolver().solve(StagesSolver().claim(fits, data)[0], data)
    assert Descent.copies == 0
    assert StagesSolver().claim([replace(fits[0], model=object()), fits[1]], data) == []
