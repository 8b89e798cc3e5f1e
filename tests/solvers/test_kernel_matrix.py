import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg.blas import ddot
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from truefit._solvers.kernel_matrix import Kernel, kernel_of, norms


def kernels(columns):
    return [
        Kernel("linear", columns),
        Kernel("rbf", columns, gamma=0.3),
        Kernel("poly", columns, gamma=0.2, coef0=1.0, degree=3),
        Kernel("poly", columns, gamma=-0.5, coef0=-1.0, degree=2),
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
    kernel = Kernel("rbf", 3, gamma=0.5)
    asked = []
    monkeypatch.setattr(Kernel, "error", lambda self, entries, a, b: 1e-9 * entries)
    monkeypatch.setattr(
        Kernel, "entry", lambda self, a, b: asked.append(1) or math.exp(-0.5 * float(ddot(a - b, a - b)))
    )
    kernel.matrix(X)
    # Some of every hundred lie so near to the middle between two numbers of single precision; and the diagonal.
    assert 30 + 10 < len(asked) < 30 + 60


def test_a_matrix_of_rounding_errors_is_refused():
    X = np.random.default_rng(0).normal(size=(60, 2)) + 1e6  # distances are what is left of 1e12
    with pytest.raises(ValueError, match="Too many entries"):
        Kernel("rbf", 2, gamma=1.0).matrix(X)


def test_gamma_is_scikit_learns():
    X = np.random.default_rng(0).normal(size=(20, 3))
    for gamma in ("scale", "auto", 0.7, 2):
        machine = SVC(gamma=gamma).fit(X, np.arange(20) % 2)
        assert kernel_of(machine, X).gamma == machine._gamma
    assert kernel_of(SVC(), np.ones((4, 2))).gamma == 1.0
