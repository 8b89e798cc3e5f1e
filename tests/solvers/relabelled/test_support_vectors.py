import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg.blas import ddot
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC, NuSVC
from tests.solvers.cases import (
    assert_sweep_equals_plain,
    flipped,
    label_case,
    numbers,
    sweep_fits,
    sweeps,
    troubled_tables,
)

from truefit._core.data import Data
from truefit._core.rows import Rows
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit._solvers.relabelled.support_vectors import SupportVectorsSolver, SVMKernel, kernel_of, norms
from truefit.testing.solver_contract import SolverContract


def kernels(columns):
    return [
        SVMKernel("linear", columns),
        SVMKernel("rbf", columns, gamma=0.3),
        SVMKernel("poly", columns, gamma=0.2, coef0=1.0, degree=3),
        SVMKernel("poly", columns, gamma=-0.5, coef0=-1.0, degree=2),
    ]


@pytest.mark.parametrize("kernel", kernels(4))
def test_between_is_what_it_says(kernel):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(5, 4)), rng.normal(size=(7, 4))
    if kernel.kind == "rbf":
        expected = rbf_kernel(A, B, gamma=kernel.gamma)
    elif kernel.kind == "linear":
        expected = A @ B.T
    else:
        expected = (kernel.gamma * (A @ B.T) + kernel.coef0) ** kernel.degree
    np.testing.assert_allclose(kernel.between(A, B), expected, rtol=1e-12)


@given(st.integers(2, 40), st.integers(1, 30), st.integers(0, 1000), st.sampled_from([0.0, 3.0, 30.0]))
@settings(max_examples=40)
def test_all_entries_round_as_those_of_libsvm(n, p, seed, offset):
    X = np.random.default_rng(seed).normal(size=(n, p)) + offset
    for kernel in kernels(p):
        matrix = kernel.matrix(X)
        exact = np.array([[kernel.entry(a, b) for b in X] for a in X])
        assert matrix.astype(np.float32).tobytes() == exact.astype(np.float32).tobytes()
        assert np.diagonal(matrix).tobytes() == np.diagonal(exact).tobytes()
        sizes = norms(X)
        assert (np.abs(kernel.between(X, X) - exact) <= kernel.error(exact, sizes[:, None], sizes)).all()


def test_entries_that_rounding_leaves_open_are_worked_out(monkeypatch):
    X = np.random.default_rng(0).normal(size=(30, 3))
    kernel = SVMKernel("rbf", 3, gamma=0.5)
    asked = []
    monkeypatch.setattr(SVMKernel, "error", lambda self, entries, a, b: 1e-9 * entries)
    monkeypatch.setattr(
        SVMKernel, "entry", lambda self, a, b: asked.append(1) or math.exp(-0.5 * float(ddot(a - b, a - b)))
    )
    kernel.matrix(X)
    # Some of every hundred lie so near to the middle between two numbers of single precision; and the diagonal.
    assert 30 + 10 < len(asked) < 30 + 60


def test_a_matrix_of_rounding_errors_is_refused():
    X = np.random.default_rng(0).normal(size=(60, 2)) + 1e6  # distances are what is left of 1e12
    with pytest.raises(ValueError, match="Too many entries"):
        SVMKernel("rbf", 2, gamma=1.0).matrix(X)


def test_gamma_is_scikit_learns():
    X = np.random.default_rng(0).normal(size=(20, 3))
    for gamma in ("scale", "auto", 0.7, 2):
        machine = SVC(gamma=gamma).fit(X, np.arange(20) % 2)
        assert kernel_of(machine, X).gamma == machine._gamma
    assert kernel_of(SVC(), np.ones((4, 2))).gamma == 1.0


BOTH = ("predict", "decision_function")


class OwnMachine(SVC):
    pass


class TestSupportVectorsSolver(SolverContract):
    def make_solver(self):
        return SupportVectorsSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        X, y = numbers()
        many = [SVC(kernel="linear", decision_function_shape="ovo"), SVC(break_ties=True), SVC(kernel="poly")]
        return [
            label_case("kernels", SVC(), SVC(kernel="linear"), SVC(kernel="poly", coef0=1.0), responses=BOTH),
            label_case("four classes", SVC(), *many, classes=4, responses=BOTH),
            label_case("gammas", SVC(gamma="auto"), SVC(gamma=2), SVC(gamma=0.1), responses=BOTH),
            label_case("penalties", SVC(C=100.0), SVC(C=0.01), SVC(class_weight="balanced"), responses=BOTH),
            label_case("weights by name", SVC(class_weight={"ant": 3.0}), responses=BOTH),
            label_case("ways to get there", SVC(shrinking=False), SVC(tol=0.1), SVC(cache_size=1), responses=BOTH),
            label_case("whole numbers", SVC(), X=np.round(3 * X).astype(np.int16), responses=BOTH),
            label_case("one column", SVC(), X=X[:, :1], responses=BOTH),
            label_case("columns first", SVC(), X=np.asfortranarray(X), responses=BOTH),
            label_case("a frame", SVC(), X=pd.DataFrame(X), responses=BOTH),
            label_case("rows that are the same", SVC(), X=np.round(X), y=(y == "bee") * 2, responses=BOTH),
        ]

    def not_for_it(self):
        X, _ = numbers()
        gap = X.copy()
        gap[0, 0] = np.nan
        return [
            label_case("other estimators", LinearSVC(), NuSVC(nu=0.1), OwnMachine()),
            label_case("other kernels", SVC(kernel="sigmoid"), SVC(kernel=np.dot)),
            label_case("probabilities", SVC(probability=True), SVC(probability=False)),
            label_case("one label vector", SVC(), others=[]),
            label_case("weights", SVC(), weight=np.arange(1.0, 61.0)),
            label_case("single precision", SVC(), X=X.astype(np.float32)),
            label_case("sparse", SVC(), X=sparse.csr_array(X)),
            label_case("missing values", SVC(), X=gap),
            label_case("what it does not say", SVC(), responses=("predict_proba",)),
        ]

    def failing(self):
        wrong = [SVC(C=-1), SVC(gamma="none"), SVC(gamma=-1.0), SVC(degree=-2), SVC(tol=0.0), SVC(max_iter=-2)]
        return [
            label_case("parameters that are wrong", *wrong),
            label_case("one class", SVC(), others=[np.full(60, "ant"), np.full(60, "bee")]),
        ]


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_built_in_tables_need_no_refit(load, kernel):
    X, y = load(return_X_y=True)
    data = Data(X, y, task="classification")
    fits = sweep_fits(data, SVC(kernel=kernel), [None, *flipped(y)], BOTH)
    assert set(assert_sweep_equals_plain(SupportVectorsSolver(), fits, data)) == {"support vectors"}


@pytest.mark.parametrize("estimator", [SVC(), SVC(kernel="linear"), SVC(kernel="poly", degree=2, C=30.0)])
@pytest.mark.parametrize("classes", [2, 3])
def test_machines_are_those_of_plain_fitting_bit_for_bit(estimator, classes, monkeypatch):
    X, y = numbers(n=200, classes=classes)
    data = Data(X, y, task="classification")
    machines = []
    made = SupportVectorsSolver.results.__globals__["TrainedSVC"]
    target = "truefit._solvers.relabelled.support_vectors.TrainedSVC"
    monkeypatch.setattr(target, lambda *args: machines.append(made(*args)) or machines[-1])
    fits = sweep_fits(data, estimator, [None, *flipped(y)], BOTH)
    [job] = SupportVectorsSolver().claim(fits, data)
    job.run(data)
    for fit, machine in zip(fits, machines, strict=True):
        expected, model = fit_plain(fit, data).model, machine.model()
        for name in ("support_", "support_vectors_", "dual_coef_", "intercept_", "n_support_", "n_iter_"):
            assert np.asarray(getattr(model, name)).tobytes() == np.asarray(getattr(expected, name)).tobytes(), name
        assert model.decision_function(X).tobytes() == expected.decision_function(X).tobytes()


def test_by_hand():
    # Between -1 and 1 the widest street has w = 1 and no intercept.
    data = Data(np.array([[-1.0], [1.0], [-3.0], [5.0]]), [0, 1, 0, 1], task="classification")
    fits = sweep_fits(data, SVC(kernel="linear", C=10.0), [None, np.array([1, 0, 1, 0])], ("decision_function",))
    [job] = SupportVectorsSolver().claim(fits, data)
    first, second = (outcome.answer(data, Rows.all(4), "decision_function") for outcome in job.run(data))
    np.testing.assert_allclose(first, [-1.0, 1.0, -3.0, 5.0], rtol=1e-6)
    np.testing.assert_allclose(second, -first, rtol=1e-6)


def test_decisions_near_zero_are_the_models_own(monkeypatch):
    X, y = numbers(n=100)
    data = Data(X, y, task="classification")
    fits = sweep_fits(data, SVC(), [None, *flipped(y)], BOTH)
    monkeypatch.setattr("truefit._solvers.relabelled.support_vectors.MARGIN", 1e9)  # as if nearly all were in doubt
    assert set(assert_sweep_equals_plain(SupportVectorsSolver(), fits, data)) == {"support vectors"}
    monkeypatch.setattr("truefit._solvers.relabelled.support_vectors.TrainedSVC.model", lambda self: 1 / 0)
    [job] = SupportVectorsSolver().claim(fits, data)
    assert {outcome.solver for outcome in job.run(data)} == {"plain"}


def test_a_matrix_that_takes_too_much_memory_is_not_made(monkeypatch):
    X, y = numbers()
    data = Data(X, y, task="classification")
    fits = sweep_fits(data, SVC(), [None, *flipped(y)])
    monkeypatch.setattr("truefit._solvers.relabelled.support_vectors.MATRIX_BYTES", 8 * 60 * 60 - 1)
    assert SupportVectorsSolver().claim(fits, data) == []


def test_rows_are_decided_on_in_blocks(monkeypatch):
    X, y = numbers(n=90, classes=3)
    data = Data(X, y, task="classification")
    monkeypatch.setattr("truefit._solvers.relabelled.support_vectors.WORK_BYTES", 8 * 60 * 7)
    fits = sweep_fits(data, SVC(), [None, *flipped(y)], BOTH, Rows.of(range(60)), Rows.of(range(30, 90)))
    assert set(assert_sweep_equals_plain(SupportVectorsSolver(), fits, data)) == {"support vectors"}


def test_each_label_vector_is_a_model_and_few_make_a_job():
    X, y = numbers()
    data = Data(X, y, task="classification")
    jobs = SupportVectorsSolver().claim(sweep_fits(data, SVC(), [None, *flipped(y, 19)]), data)
    assert [(len(job.fits), job.work) for job in jobs] == [(16, 16), (4, 4)]


def machines():
    return st.builds(
        SVC,
        kernel=st.sampled_from(["rbf", "linear", "poly"]),
        C=st.sampled_from([0.1, 1.0, 30.0]),
        gamma=st.sampled_from(["scale", "auto", 0.5]),
        coef0=st.sampled_from([0.0, 1.0]),
        degree=st.integers(0, 4),
        class_weight=st.sampled_from([None, "balanced"]),
        # Where columns are of other scales it may take forever; stopped early it has still taken the same steps.
        max_iter=st.just(2000),
    )


def check(table, sweep, estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sweep.check(SupportVectorsSolver(), table, estimator, BOTH)


@given(troubled_tables(), sweeps(), machines())
@settings(max_examples=40)
def test_machines_equal_plain_fitting(table, sweep, estimator):
    check(table, sweep, estimator)


@pytest.mark.slow
@given(troubled_tables(), sweeps(), machines())
@settings(max_examples=2000)
def test_machines_equal_plain_fitting_at_depth(table, sweep, estimator):
    check(table, sweep, estimator)
