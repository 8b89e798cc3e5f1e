import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from truefit import Engine, assess
from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.rows import Rows
from truefit._core.task import Ask, FitTask
from truefit._solvers.plain import PlainSolver
from truefit._solvers.prefixes import PrefixSolver
from truefit._solvers.svd_path import SvdPathSolver
from truefit.testing.solver_contract import SolverCase, SolverContract

rng = np.random.default_rng(0)
X = rng.normal(size=(50, 12)) * np.arange(1, 13)
y = X[:, -1] + rng.normal(size=50)


def pipelines(sizes=(1, 3, 7), last=None, **params):
    params = {"algorithm": "arpack", "random_state": 0} | params
    return [make_pipeline(TruncatedSVD(k, **params), last or Ridge()) for k in sizes]


class TestSvdPathSolver(SolverContract):
    def make_solver(self):
        return SvdPathSolver(PrefixSolver((PlainSolver(),)))

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        labels = np.where(y > 0, "more", "less")
        both = ("predict", "predict_proba")
        return [
            SolverCase("numbers", pipelines(), X, y),
            SolverCase("sparse", pipelines(), sparse.csr_array(np.where(np.abs(X) > 3, X, 0)), y),
            SolverCase("classes", pipelines(last=LogisticRegression()), X, labels, "classification", responses=both),
        ]

    def failing(self):
        return [SolverCase("missing values", pipelines(), np.where(X > 20, np.nan, X), y)]


@pytest.mark.parametrize("params", [{"algorithm": "randomized"}, {"tol": 0.1}])
def test_what_depends_on_the_size_is_left_alone(params):
    data = Data(X, y, task="regression")
    keys, rows = Keys(data), Rows.all(50)
    fits = [keys.fit(FitTask(each, rows, (Ask(rows),))) for each in pipelines(**params)]
    assert SvdPathSolver(PrefixSolver((PlainSolver(),))).claim(fits, data) == []


def test_behind_words_it_is_fitted_once_and_kept_apart(tmp_path, monkeypatch):
    words = np.array([f"word{i}" for i in range(80)])
    kinds = np.arange(60) % 2
    texts = np.array([" ".join(rng.choice(words[kind * 20 :], 30)) for kind in kinds], dtype=object)
    candidates = {
        str(k): make_pipeline(TfidfVectorizer(), TruncatedSVD(k, algorithm="arpack"), LogisticRegression())
        for k in (2, 5, 9)
    }
    calls = []
    plain = TruncatedSVD.fit_transform
    monkeypatch.setattr(TruncatedSVD, "fit_transform", lambda step, *data: calls.append(step) or plain(step, *data))
    scores, fitted = [], []
    for solvers in (("svd path", "auto"), "auto"):
        calls.clear()
        with Engine(tmp_path / "runs.db", solvers=solvers, progress=False) as engine:
            found = assess(candidates, texts, kinds, cv=3, metric="log_loss", engine=engine)
            scores.append(np.array(list(found.split_scores().values())))
            assert engine.stats.run == 9
        fitted.append(len(calls))
    assert fitted == [3, 9]
    np.testing.assert_allclose(*scores, rtol=1e-9)
