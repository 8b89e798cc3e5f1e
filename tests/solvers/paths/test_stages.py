import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truefit import Engine, assess
from truefit._core.data import Data
from truefit._core.errors import InvalidEstimator
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask, Keep
from truefit._core.rows import Rows
from truefit._core.stages import AtStage, offers_stages, run_stages, snapshot
from truefit._solvers.paths.stages import ForestSizesSolver, NetworkEpochsSolver, StagesSolver
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


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

XD, yd = (part[:60] for part in load_diabetes(return_X_y=True))
yd = yd / yd.std()
XW, yw = load_wine(return_X_y=True)
XW = StandardScaler().fit_transform(XW)[::2]
yw = yw[::2]


class OwnNetwork(MLPRegressor):
    pass


def epochs(make, counts=(4, 1, 9), **params):
    return [make(**({"hidden_layer_sizes": 5, "max_iter": count} | params)) for count in counts]


class TestNetworkEpochsSolver(SolverContract):
    def make_solver(self):
        return NetworkEpochsSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        of_classes = {"task": "classification", "responses": BOTH}
        words = np.array(["low", "mid", "top"])[yw]
        weight = np.random.default_rng(0).random(len(yd))
        return [
            SolverCase("adam", epochs(MLPRegressor), XD, yd),
            SolverCase("sgd", epochs(MLPRegressor, solver="sgd", learning_rate="adaptive", momentum=0.5), XD, yd),
            SolverCase("unshuffled", epochs(MLPRegressor, shuffle=False, batch_size=7), XD, yd),
            SolverCase("two layers", epochs(MLPRegressor, hidden_layer_sizes=(4, 3), activation="tanh"), XD, yd),
            SolverCase("classes", epochs(MLPClassifier), XW, words, **of_classes),
            SolverCase("early stopping", epochs(MLPClassifier, (2, 9, 30), early_stopping=True), XW, yw, **of_classes),
            SolverCase("stops by itself", epochs(MLPRegressor, (2, 30, 60), tol=1e3, n_iter_no_change=4), XD, yd),
            SolverCase("seeded", epochs(MLPRegressor, random_state=3), XD, yd),
            SolverCase("weights", epochs(MLPRegressor), XD, yd, weight=weight),
            SolverCase("sparse", epochs(MLPRegressor), sparse.csr_array(np.round(XD, 1)), yd),
            SolverCase("other labels", epochs(MLPClassifier), XW, yw, labels=yw[::-1].copy(), **of_classes),
        ]

    def not_for_it(self):
        return [
            SolverCase("one number", epochs(MLPRegressor, (5,)), XD, yd),
            SolverCase("own class", epochs(OwnNetwork), XD, yd),
            SolverCase("no epochs", epochs(MLPRegressor, solver="lbfgs"), XD, yd),
            SolverCase("warm", epochs(MLPRegressor, warm_start=True), XD, yd),
            SolverCase("numbers that are wrong", epochs(MLPRegressor, (0, -1, True, "9")), XD, yd),
            SolverCase("widths", [MLPRegressor(width, max_iter=5) for width in (2, 3)], XD, yd),
            SolverCase("a stream", epochs(MLPRegressor, random_state=np.random.RandomState(0)), XD, yd),
        ]

    def failing(self):
        return [SolverCase("missing values", epochs(MLPRegressor), np.where(XD > 0.1, np.nan, XD), yd)]


def job_of(case):
    data = case.data()
    [job] = NetworkEpochsSolver().claim(case.fits(data)[:: case.folds], data)
    return job, data


@given(
    counts=st.lists(st.integers(1, 40), min_size=2, max_size=4, unique=True),
    solver=st.sampled_from(["adam", "sgd"]),
    rate=st.sampled_from(["constant", "invscaling", "adaptive"]),
    stopping=st.booleans(),
    tol=st.sampled_from([1e-4, 0.1, 10.0]),
    batch=st.sampled_from(["auto", 5, 64]),
    classifier=st.booleans(),
)
@settings(max_examples=25)
def test_weights_are_those_of_plain_fitting(counts, solver, rate, stopping, tol, batch, classifier):
    params = {"solver": solver, "learning_rate": rate, "early_stopping": stopping, "tol": tol, "batch_size": batch}
    params |= {"n_iter_no_change": 3, "learning_rate_init": 0.05}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if classifier:
            case = SolverCase(
                "", epochs(MLPClassifier, counts, **params), XW, yw, task="classification", responses=BOTH
            )
        else:
            case = SolverCase("", epochs(MLPRegressor, counts, **params), XD, yd)
        job, data = job_of(case)
        for fit, outcome in zip(job.fits, job.run(data), strict=True):
            assert outcome.solver == "network epochs"
            for mine, theirs in zip(outcome.answers, fit_plain(fit, data).answers, strict=True):
                assert mine.values.tobytes() == theirs.values.tobytes()


def test_each_warns_as_it_would_by_itself():
    job, data = job_of(SolverCase("", epochs(MLPRegressor, (3, 7)), XD, yd))
    with pytest.warns(ConvergenceWarning) as caught:
        job.run(data)
    assert sorted(str(one.message)[41:44] for one in caught) == ["(3)", "(7)"]


def test_where_warnings_are_errors_each_fails_by_itself():
    job, data = job_of(SolverCase("", epochs(MLPRegressor, (3, 7)), XD, yd))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [outcome.error is None for outcome in job.run(data)] == [False, False]


def test_only_the_longest_is_a_model_to_keep():
    case = SolverCase("", epochs(MLPRegressor, (3, 7, 9)), XD, yd)
    data = case.data()
    fits = [replace(fit, keep_model=True) for fit in case.fits(data)[:: case.folds]]
    assert NetworkEpochsSolver().claim(fits, data) == []
    fits[0] = replace(fits[0], keep_model=False)
    [job] = NetworkEpochsSolver().claim(fits, data)
    assert [fit.estimator.max_iter for fit in job.fits] == [3, 9]
    first, last = job.run(data)
    assert first.model is None
    assert "_update_no_improvement_count" not in vars(last.model)
    assert last.model.n_iter_ == 9


def test_behind_a_scaler_through_the_engine():
    candidates = {
        str(m): make_pipeline(StandardScaler(), MLPClassifier(5, max_iter=m)) for m in range(1, 9)
    }  # fmt: skip
    both = []
    for solvers in ("auto", "plain"):
        engine = Engine(solvers=solvers, progress=False)
        both.append((assess(candidates, XW, yw, cv=3, engine=engine).split_scores("log_loss"), engine.stats.run))
    (ours, few), (theirs, many) = both
    assert (few, many) == (24, 24)  # a shared prefix counts the models behind it
    for name in candidates:
        np.testing.assert_array_equal(ours[name], theirs[name])
