import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import Lasso
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from truefit import Engine, assess
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome, Predictions
from truefit._solvers.opt_in import ApartStore
from truefit._stores.memory import MemoryStore
from truefit.testing import StoreContract

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
y = X[:, 0] + RNG.normal(size=60)
TREES = {str(depth): DecisionTreeRegressor(max_depth=depth) for depth in range(1, 6)}


class TestApartStore(StoreContract):
    persistent = False

    def make_store(self, tmp_path):
        return ApartStore(MemoryStore(), ["tree depths"])


def outcome(value, solver, rows):
    tokens = np.array([[row, 0] for row in rows], dtype=np.uint64)
    return Outcome("a" * 32, (Predictions("predict", tokens, np.full(len(rows), value)),), solver=solver)


def test_what_is_nearly_exact_is_not_found_by_others():
    inner = MemoryStore()
    store = ApartStore(inner, ["tree depths"])
    store.put([outcome(1.0, "tree depths", [0, 1])])
    assert inner.get(["a" * 32]) == {}
    found = store.get(["a" * 32])["a" * 32]
    assert (found.key, found.solver, found.answers[0].values.tolist()) == ("a" * 32, "tree depths", [1.0, 1.0])
    assert ApartStore(inner, ["another"]).get(["a" * 32]) == {}


def test_exact_answers_come_first_and_others_fill_in():
    store = ApartStore(MemoryStore(), ["tree depths"])
    store.put([outcome(1.0, "tree depths", [0, 1]), outcome(2.0, "plain", [0, 1, 2])])
    found = store.get(["a" * 32])["a" * 32]
    assert [answer.values[0] for answer in found.answers] == [2.0, 1.0]
    assert found.solver == "tree depths"


def test_an_engine_that_has_not_asked_fits_again(tmp_path):
    path = tmp_path / "runs.db"
    with Engine(path, solvers=("tree depths", "auto"), progress=False) as engine:
        assess(TREES, X, y, engine=engine)
        assert engine.stats.run == 5  # one tree in each fold
    with Engine(path, solvers=("tree depths", "auto"), progress=False) as engine:
        assess(TREES, X, y, engine=engine)
        assert (engine.stats.run, engine.stats.stored) == (0, 25)
    with Engine(path, progress=False) as engine:
        assess(TREES, X, y, engine=engine)
        assert (engine.stats.run, engine.stats.stored) == (25, 0)
    with Engine(path, solvers=("tree depths", "auto"), progress=False) as engine:
        assess(TREES, X, y, engine=engine)
        assert engine.stats.run == 0


def scaled(*last):
    return {str(place): make_pipeline(StandardScaler(), one) for place, one in enumerate(last)}


@pytest.mark.parametrize(
    ("name", "candidates"),
    [
        ("lasso path", scaled(*(Lasso(alpha) for alpha in np.logspace(-3, -1, 20)))),
        (
            "tree depths",
            scaled(*(DecisionTreeRegressor(max_depth=depth, min_samples_leaf=9) for depth in range(1, 21))),
        ),
        ("lasso path", {f"{k} {a}": make_pipeline(PCA(k), Lasso(a)) for k in (1, 2) for a in (0.01, 0.1)}),
    ],
)
def test_behind_the_steps_that_pipelines_share_answers_are_kept_apart_too(name, candidates, tmp_path):
    path = tmp_path / "runs.db"
    scores = []
    with Engine(path, solvers=(name, "auto"), progress=False) as engine:
        scores.append(assess(candidates, X, y, cv=3, metric="mse", engine=engine).split_scores())
    with Engine(path, solvers=(name, "auto"), progress=False) as engine:
        scores.append(assess(candidates, X, y, cv=3, metric="mse", engine=engine).split_scores())
        assert (engine.stats.run, engine.stats.stored) == (0, 3 * len(candidates))
    with Engine(path, progress=False) as engine:
        scores.append(assess(candidates, X, y, cv=3, metric="mse", engine=engine).split_scores())
        assert (engine.stats.run, engine.stats.stored) == (3 * len(candidates), 0)
    near, again, exact = (np.array(list(each.values())) for each in scores)
    assert np.array_equal(near, again)
    assert np.allclose(near, exact, rtol=0.02)


@pytest.mark.parametrize(
    "solvers", ["fast", (), ("tree depths",), ("auto", "tree depths"), ("lasso", "auto"), ("plain",)]
)
def test_names_that_are_not_known_are_refused(solvers):
    with pytest.raises(InvalidInput, match="solvers"):
        Engine(solvers=solvers)
