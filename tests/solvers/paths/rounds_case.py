"""What is asked of boosted trees of any library whose rounds are counted by n_estimators."""

import warnings

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truefit import AgghooClassifier, AgghooRegressor, Engine, assess
from truefit._solvers.paths.boosting import BoostingStagesSolver
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit.testing.solver_contract import SolverCase, SolverContract

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
SCORE = X[:, 0] + X[:, 1] * X[:, -1] + 0.3 * RNG.normal(size=90)
TWO, THREE = (np.searchsorted(np.quantile(SCORE, np.arange(1, k) / k), SCORE) for k in (2, 3))
BOTH = ("predict", "predict_proba")


def rounds(make, counts=(3, 1, 12), **params):
    return [make(n_estimators=count, **params) for count in counts]


class RoundsContract(SolverContract):
    """Subclass it, and say which estimators are meant, one of somebody's own, and how they sample rows and columns."""

    classifier = regressor = own = None
    sampling = ()

    def make_solver(self):
        return BoostingStagesSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        of_classes = {"task": "classification", "responses": BOTH}
        classifiers, regressors = rounds(self.classifier), rounds(self.regressor)
        frame = pd.DataFrame(X, columns=list("abcd"))
        return [
            SolverCase("regression", regressors, X, SCORE),
            SolverCase("two classes", classifiers, X, TWO, **of_classes),
            SolverCase("three classes", classifiers, X, THREE, **of_classes),
            SolverCase("samples", rounds(self.regressor, **dict(self.sampling)), X, SCORE),
            SolverCase("samples of classes", rounds(self.classifier, **dict(self.sampling)), X, THREE, **of_classes),
            SolverCase("pipelines", [make_pipeline(StandardScaler(), one) for one in regressors], X, SCORE),
            SolverCase("a frame", regressors, frame, SCORE),
            SolverCase("missing values", regressors, np.where(X > 1, np.nan, X), SCORE),
            SolverCase("weights", regressors, X, SCORE, weight=np.arange(1.0, 91.0)),
            SolverCase("other labels", classifiers, X, TWO, labels=TWO[::-1].copy(), **of_classes),
            SolverCase("numpy's integers", rounds(self.regressor, np.array([2, 5])), X, SCORE),
        ]

    def not_for_it(self):
        return [
            SolverCase("one number", rounds(self.regressor, (3,)), X, SCORE),
            SolverCase("own class", rounds(self.own), X, SCORE),
            SolverCase("numbers that are wrong", rounds(self.regressor, (0, -1, True, "9")), X, SCORE),
            SolverCase("an objective of one's own", rounds(self.regressor, objective=half_squares), X, SCORE),
            SolverCase("rates", [self.regressor(n_estimators=m, learning_rate=m / 9) for m in (2, 3)], X, SCORE),
            SolverCase("decisions", rounds(self.classifier), X, TWO, "classification", 3, ("decision_function",)),
        ]

    def failing(self):
        return [SolverCase("no numbers", rounds(self.regressor), np.full((90, 1), "a", dtype=object), SCORE)]


def half_squares(y_true, y_pred):
    return y_pred - y_true, np.ones_like(y_true)


def assert_bits_equal(estimators, y, **options):
    """Compare with plain fitting; return who answered."""
    case = SolverCase("", estimators, X, y, **options)
    data = case.data()
    fits = case.fits(data)[:: case.folds]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        [job] = BoostingStagesSolver().claim(fits, data)
        outcomes = job.run(data)
        for fit, outcome in zip(job.fits, outcomes, strict=True):
            for mine, theirs in zip(outcome.answers, fit_plain(fit, data).answers, strict=True):
                assert mine.values.tobytes() == theirs.values.tobytes()
    return {outcome.solver for outcome in outcomes}


def check_one_fit_answers_all_through_the_engine(make):
    candidates = {str(m): make(n_estimators=m) for m in range(1, 9)}
    engine, plain = Engine(progress=False), Engine(solvers="plain", progress=False)
    ours = assess(candidates, X, SCORE, cv=3, metric="mse", engine=engine).split_scores()
    theirs = assess(candidates, X, SCORE, cv=3, metric="mse", engine=plain).split_scores()
    assert (engine.stats.run, plain.stats.run) == (3, 24)
    for name in candidates:
        np.testing.assert_array_equal(ours[name], theirs[name])


def check_rounds_are_candidates_of_agghoo(classifier, regressor):
    for make, agghoo, y in ((classifier, AgghooClassifier, THREE), (regressor, AgghooRegressor, SCORE)):
        model = make_pipeline(StandardScaler(), make(n_estimators=15))
        engine = Engine(progress=False)
        ours = agghoo(model, cv=3, engine=engine).fit(X, y)
        assert (engine.stats.run, engine.stats.refitted) == (3, 0)
        assert ours.validation_scores_.shape == (3, 15)
        plain = agghoo(model, cv=3, engine=Engine(solvers="plain", progress=False)).fit(X, y)
        assert ours.selection_.equals(plain.selection_)
        np.testing.assert_array_equal(ours.predict(X), plain.predict(X))
        stages = [member[-1].n_estimators for member in ours.members_]
        assert stages == ours.selection_["stage"].tolist()
