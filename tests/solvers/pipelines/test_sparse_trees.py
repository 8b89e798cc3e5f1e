import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from truefit import Engine, assess
from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows
from truefit._solvers.pipelines.sparse_trees import MOST, SparseTreesSolver
from truefit._solvers.plain import PlainSolver
from truefit.testing.solver_contract import SolverCase, SolverContract

BOTH = ("predict", "predict_proba")
TREE = DecisionTreeClassifier(random_state=0)
FOREST = RandomForestClassifier(4, random_state=0)


def encoded(n=90, levels=5, seed=0):
    """Numbers, some of them negative, beside columns of zeros and ones; and classes that go with both."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, levels, (n, 3))
    numbers = rng.normal(size=(n, 2)).round(1)
    X = np.hstack([numbers, *(np.eye(levels)[column] for column in words.T)])
    score = numbers[:, 0] + words[:, 0] + rng.normal(size=n)
    return sparse.csr_matrix(X), np.array(["high", "low", "middle"])[np.digitize(score, np.quantile(score, [0.3, 0.7]))]


X, y = encoded()


def trees(**params):
    return [DecisionTreeClassifier(random_state=0, min_samples_leaf=size, **params) for size in (1, 5)]


def duplicated(X):
    """The same table with its first value in two parts."""
    parts = X.tocoo()
    row, col, data = (np.append(part, part[0]) for part in (parts.row, parts.col, parts.data / 2))
    pointers = np.searchsorted(np.sort(row), np.arange(X.shape[0] + 1))
    order = np.argsort(row, kind="stable")
    return sparse.csr_matrix((data[order], col[order], pointers), shape=X.shape)


class TestSparseTreesSolver(SolverContract):
    def make_solver(self):
        return SparseTreesSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        of_classes = {"task": "classification", "responses": BOTH}
        labels = np.random.default_rng(0).permutation(y)
        codes = np.unique(y, return_inverse=True)[1]
        return [
            SolverCase("deep", trees(), X, y, **of_classes),
            SolverCase("shallow", trees(max_depth=3), X, y, **of_classes),
            SolverCase("both", [*trees(), *trees(max_depth=2)], X, y, **of_classes),
            SolverCase("single", [TREE], X, y, **of_classes),
            SolverCase("few leaves", trees(max_leaf_nodes=6), X, y, **of_classes),
            SolverCase("random splits", trees(splitter="random", max_features=3), X, y, **of_classes),
            SolverCase("pruned", trees(ccp_alpha=0.01, criterion="entropy"), X, y, **of_classes),
            SolverCase("other labels", trees(), X, y, labels=labels, **of_classes),
            SolverCase("numbers as classes", trees(), X, codes * 10, **of_classes),
            SolverCase("a forest", [FOREST], X, y, **of_classes),
            SolverCase("extra trees", [ExtraTreesClassifier(4, random_state=0)], X, y, **of_classes),
            SolverCase("whole numbers", trees(), (X * 10).astype(np.int64), y, **of_classes),
            SolverCase("an array", trees(), sparse.csr_array(X), y, **of_classes),
            SolverCase(
                "almost all zero", trees(), sparse.hstack([X, sparse.csr_matrix((90, 90))], "csr"), y, **of_classes
            ),
        ]

    def not_for_it(self):
        of_classes = {"task": "classification", "responses": BOTH}
        return [
            SolverCase("dense", trees(), X.toarray(), y, **of_classes),
            SolverCase("numbers", [DecisionTreeRegressor()], X, np.arange(90.0)),
            SolverCase("weights", trees(), X, y, weight=np.arange(90) % 3 + 0.5, **of_classes),
            SolverCase("weights of classes", trees(class_weight="balanced"), X, y, **of_classes),
            SolverCase("monotonic", trees(monotonic_cst=[1] + [0] * 16), X, y, **of_classes),
            SolverCase("goes on", [RandomForestClassifier(2, warm_start=True)], X, y, **of_classes),
            SolverCase("single and shallow", [DecisionTreeClassifier(max_depth=2)], X, y, **of_classes),
            SolverCase("values in parts", trees(), duplicated(X), y, **of_classes),
        ]

    def failing(self):
        of_classes = {"task": "classification", "responses": BOTH}
        missing, infinite = X.copy(), X.copy()
        missing.data[7], infinite.data[7] = np.nan, 1e300
        return [
            SolverCase("missing values", trees(), missing, y, **of_classes),
            SolverCase("too large", trees(), infinite, y, **of_classes),
            SolverCase("wrong parameter", trees(min_samples_split=0), X, y, **of_classes),
            SolverCase("no number", trees(max_depth="deep"), X, y, **of_classes),
        ]


def nodes(model):
    return [each.tree_.__getstate__() for each in getattr(model, "estimators_", [model])]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([DecisionTreeClassifier(), FOREST, ExtraTreesClassifier(3, bootstrap=True, oob_score=True)]),
    st.sampled_from(["gini", "entropy", "log_loss"]),
    st.sampled_from([None, 6, 2]),
    st.sampled_from([None, "sqrt", 2]),
    st.integers(2, 8),
)
@pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")
@pytest.mark.filterwarnings("ignore:invalid value encountered in divide")
def test_trees_equal_those_of_plain_fitting_node_by_node(seed, estimator, criterion, depth, features, levels):
    X, y = encoded(60, levels, seed)
    data, rows = Data(X, y, task="classification"), Rows.all(60)
    params = {"criterion": criterion, "max_depth": depth, "max_features": features, "random_state": seed}
    model = type(estimator)(**{**estimator.get_params(), **params})
    fit = Keys(data).fit(FitTask(model, rows, (Ask(rows),)))
    solver = SparseTreesSolver()
    for job in solver.claim([fit], data):
        [ours], [theirs] = job.run(data), PlainSolver().claim([fit], data)[0].run(data)
        assert ours.solver == solver.name
        for mine, other in zip(nodes(ours.model), nodes(theirs.model), strict=True):
            assert mine["max_depth"] == other["max_depth"]
            assert mine["nodes"].tobytes() == other["nodes"].tobytes()
            np.testing.assert_array_equal(mine["values"], other["values"])
        assert vars(ours.model).keys() == vars(theirs.model).keys()
        assert ours.model.classes_.dtype == theirs.model.classes_.dtype


def test_jobs_are_as_large_as_other_workers_bear():
    data = Data(X, y, task="classification")
    rows, keys = Rows.all(90), Keys(data)
    many = [DecisionTreeClassifier(min_samples_leaf=1 + i) for i in range(MOST + 3)]
    fits = [keys.fit(FitTask(each, rows, (Ask(rows),))) for each in (*many, FOREST, RandomForestClassifier(5))]
    sizes = sorted(len(job.fits) for job in SparseTreesSolver().claim(fits, data))
    assert sizes == [1, 1, 3, MOST]


def test_trees_behind_an_encoder_are_grown_on_its_dense_table():
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": rng.choice(list("abcde"), 200), "age": rng.normal(size=200)})
    target = np.where((frame["city"] < "c") ^ (rng.random(200) < 0.2), "yes", "no")
    columns = make_column_transformer((OneHotEncoder(), ["city"]), remainder=StandardScaler(), sparse_threshold=1)
    found = {}
    for solvers in ("auto", "plain"):
        candidates = {str(size): make_pipeline(columns, t) for size, t in zip((1, 5), trees(), strict=True)}
        engine = Engine(progress=False, solvers=solvers)
        found[solvers] = assess(candidates, frame, target, metric="log_loss", engine=engine).split_scores()
    for name, scores in found["auto"].items():
        np.testing.assert_array_equal(scores, found["plain"][name])
