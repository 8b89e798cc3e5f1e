from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, RadiusNeighborsClassifier
from tests.solvers.cases import assert_same_bits, flipped, label_case, numbers, sweep_fits

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows
from truefit._solvers.closed_form.knn import NeighboursSolver
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit.testing.solver_contract import SolverContract, assert_equal_answers

BOTH = ("predict", "predict_proba")
VOTES = ("uniform", "distance")


class OwnNeighbours(KNeighborsClassifier):
    pass


def targets(vectors=2):
    rng = np.random.default_rng(0)
    return [rng.normal(size=60) for _ in range(vectors)]


class TestNeighboursSolver(SolverContract):
    def make_solver(self):
        return NeighboursSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        X, y = numbers()
        weighted = KNeighborsClassifier(4, weights="distance")
        trees = [
            KNeighborsClassifier(algorithm=a, metric=m) for a in ("kd_tree", "ball_tree") for m in ("l1", "minkowski")
        ]
        regressors = [
            KNeighborsRegressor(),
            KNeighborsRegressor(9, weights="distance"),
            KNeighborsRegressor(metric="manhattan", algorithm="brute"),
        ]
        usual, (first, second) = {"task": "regression"}, targets()
        return [
            label_case("two classes", KNeighborsClassifier(), KNeighborsClassifier(1), weighted, responses=BOTH),
            label_case("four classes", KNeighborsClassifier(6), weighted, classes=4, responses=BOTH),
            label_case("many columns", KNeighborsClassifier(), weighted, X=numbers(p=20)[0], responses=BOTH),
            label_case("trees", *trees, responses=BOTH),
            label_case("rows that are the same", weighted, KNeighborsClassifier(), X=np.round(X), responses=BOTH),
            label_case("single precision", KNeighborsClassifier(), X=X.astype(np.float32), responses=BOTH),
            label_case("sparse", KNeighborsClassifier(), X=sparse.csr_array(np.round(X)), responses=BOTH),
            label_case("a frame", KNeighborsClassifier(), X=pd.DataFrame(X), responses=BOTH),
            label_case("whole numbers as labels", KNeighborsClassifier(), y=(y == "bee") * 5),
            label_case("regression", *regressors, y=first, others=[second], **usual),
            label_case(
                "along k",
                *(KNeighborsClassifier(k, weights=w) for k in (1, 4, 9, 20) for w in VOTES),
                others=[],
                responses=BOTH,
            ),
            label_case(
                "along k, equally near", *(KNeighborsClassifier(k) for k in (1, 4, 9)), X=np.round(X), others=[]
            ),
            label_case(
                "along k, with other labels",
                *(KNeighborsRegressor(k) for k in (1, 4)),
                y=first,
                others=[second],
                **usual,
            ),
            label_case("whole numbers as targets", *regressors, y=np.arange(60), others=[np.arange(60)[::-1]], **usual),
        ]

    def not_for_it(self):
        first, second = targets()
        distances = np.abs(np.subtract.outer(np.arange(60.0), np.arange(60.0)))
        return [
            label_case("other estimators", RadiusNeighborsClassifier(9), OwnNeighbours()),
            label_case("one label vector", KNeighborsClassifier(), others=[]),
            label_case("other votes", KNeighborsClassifier(weights=np.exp), KNeighborsClassifier(weights=None)),
            label_case("other metrics", KNeighborsClassifier(metric="cosine"), KNeighborsClassifier(metric="l1")),
            label_case("other powers", KNeighborsClassifier(p=3), KNeighborsClassifier(metric_params={"w": [1] * 4})),
            label_case("distances", KNeighborsClassifier(metric="precomputed"), X=distances),
            label_case("a regressor of classes", KNeighborsRegressor(), y=np.arange(60) % 2),
            label_case(
                "what regressors do not say", KNeighborsRegressor(), y=first, others=[second], task="regression",
                responses=("decision_function",),
            ),
        ]  # fmt: skip

    def failing(self):
        gap = numbers()[0]
        gap[0, 0] = np.nan
        return [
            label_case("more neighbours than rows", KNeighborsClassifier(50)),
            label_case("a number that is wrong", KNeighborsClassifier(0), KNeighborsClassifier("3")),
            label_case("missing values", KNeighborsClassifier(), X=gap),
        ]


def test_by_hand():
    # The neighbours of 2.9 are 2, 4 and 1 at distances 0.9, 1.1 and 1.9.
    data = Data(np.array([[0.0], [1.0], [2.0], [4.0], [2.9]]), ["a", "a", "b", "b", "b"], task="classification")
    vectors = [None, np.array(["b", "a", "b", "a", "b"])]
    votes = {"uniform": [[1 / 3, 2 / 3], [2 / 3, 1 / 3]]}
    near = 1 / np.array([0.9, 1.1, 1.9])
    shares = [[near[2], near[0] + near[1]], [near[1] + near[2], near[0]]]
    votes["distance"] = np.array(shares) / near.sum()
    for weights, expected in votes.items():
        knn = KNeighborsClassifier(3, weights=weights)
        fits = sweep_fits(data, knn, vectors, ("predict_proba",), train=Rows.of(range(4)), asked=Rows.of([4]))
        [job] = NeighboursSolver().claim(fits, data)
        for outcome, shares in zip(job.run(data), expected, strict=True):
            np.testing.assert_allclose(outcome.answer(data, Rows.of([4]), "predict_proba"), [shares], rtol=1e-12)


@given(
    n=st.integers(12, 80),
    p=st.integers(1, 20),
    k=st.integers(1, 10),
    classes=st.integers(2, 4),
    weights=st.sampled_from(["uniform", "distance"]),
    algorithm=st.sampled_from(["auto", "brute", "kd_tree", "ball_tree"]),
    digits=st.sampled_from([0, 8]),
)
@settings(max_examples=60)
def test_votes_have_the_same_bits_as_plain_fitting(n, p, k, classes, weights, algorithm, digits):
    rng = np.random.default_rng(n)
    X = np.round(rng.normal(size=(n, p)), digits)  # to whole numbers: many neighbours are equally near
    y = np.r_[np.arange(classes), rng.integers(0, classes, n - classes)]
    data = Data(X, y, task="classification")
    knn = KNeighborsClassifier(k, weights=weights, algorithm=algorithm)
    fits = sweep_fits(data, knn, [None, y[::-1].copy()], BOTH, Rows.of(range(n - 1)), Rows.all(n))
    assert_same_bits(NeighboursSolver(), fits, data)
    data = Data(X, rng.normal(size=n), task="regression")
    knn = KNeighborsRegressor(k, weights=weights, algorithm=algorithm)
    assert_same_bits(NeighboursSolver(), sweep_fits(data, knn, [None, rng.normal(size=n)]), data)


def test_many_label_vectors_are_shared_out_among_jobs():
    X, y = numbers()
    data = Data(X, y, task="classification")
    fits = sweep_fits(data, KNeighborsClassifier(), [None, *flipped(y, 99)])
    jobs = NeighboursSolver().claim(fits, data)
    assert [len(job.fits) for job in jobs] == [64, 36]
    assert {job.work for job in jobs} == {1}


def test_targets_of_two_columns_are_left_to_plain_fitting():
    X, _ = numbers()
    Y = np.c_[targets()].T
    data = Data(X, Y, task="regression")
    [job] = NeighboursSolver().claim(sweep_fits(data, KNeighborsRegressor(), [None, Y[::-1].copy()]), data)
    assert [outcome.solver for outcome in job.run(data)] == ["plain", "plain"]


def along_k(data, make, sizes, train, asked, responses=("predict",), votes=VOTES):
    keys, asks = Keys(data), tuple(Ask(asked, response) for response in responses)
    return [keys.fit(FitTask(make(k, weights=w), train, asks)) for k in sizes for w in votes]


@given(
    n=st.integers(12, 80),
    p=st.integers(1, 20),
    sizes=st.lists(st.integers(1, 11), min_size=2, max_size=5, unique=True),
    metric=st.sampled_from(["minkowski", "manhattan", "chebyshev"]),
    algorithm=st.sampled_from(["auto", "brute", "kd_tree", "ball_tree"]),
    trouble=st.sampled_from(["none", "whole numbers", "duplicates", "offset", "single precision", "sparse", "huge"]),
)
@settings(max_examples=80)
def test_all_numbers_of_neighbours_have_the_same_bits_as_plain_fitting(n, p, sizes, metric, algorithm, trouble):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, p))
    if trouble == "whole numbers":
        X = np.round(X)
    elif trouble == "duplicates":
        X = X[rng.integers(n // 2, size=n)]
    elif trouble == "offset":
        X = X + 1e7
    elif trouble == "huge":
        X = X * 1e160
    elif trouble == "single precision":
        X = X.astype(np.float32)
    elif trouble == "sparse":
        X, metric, algorithm = sparse.csr_array(np.round(X)), "minkowski", "auto"
    train, everything = Rows.of(range(n - 1)), Rows.all(n)
    data = Data(X, rng.normal(size=n), task="regression")
    with np.errstate(all="ignore"):
        make = partial(KNeighborsRegressor, metric=metric, algorithm=algorithm)
        assert_same_bits(NeighboursSolver(), along_k(data, make, sizes, train, everything), data)
        if metric == "minkowski":
            data = Data(X, np.r_[0, 1, 2, rng.integers(0, 3, n - 3)], task="classification")
            make = partial(KNeighborsClassifier, algorithm=algorithm)
            assert_same_bits(NeighboursSolver(), along_k(data, make, sizes, train, everything, BOTH), data)


def test_one_search_answers_all_numbers_of_neighbours(monkeypatch):
    X, y = numbers()
    data = Data(X, y, task="classification")
    fits = along_k(data, KNeighborsClassifier, range(1, 21), Rows.of(range(40)), Rows.of(range(40, 60)), BOTH)
    searches = []
    kneighbors = KNeighborsClassifier.kneighbors

    def counted(self, *args, **kwargs):
        searches.append(kwargs.get("n_neighbors"))
        return kneighbors(self, *args, **kwargs)

    monkeypatch.setattr(KNeighborsClassifier, "kneighbors", counted)
    [job] = NeighboursSolver().claim(fits, data)
    assert len(job.fits) == 40
    job.run(data)
    assert searches == [19, 20]  # from half of the rows on scikit-learn searches in another way


@pytest.mark.parametrize("rows", [3, 10, 1000])
def test_neighbours_are_found_in_blocks(rows, monkeypatch):
    X, y = numbers()
    data = Data(X, y, task="classification")
    monkeypatch.setattr("truefit._solvers.plain.BLOCK_BYTES", rows * data.row_bytes)
    assert_same_bits(NeighboursSolver(), sweep_fits(data, KNeighborsClassifier(), [None, *flipped(y)], BOTH), data)


@pytest.mark.parametrize("weights", VOTES)
@pytest.mark.parametrize("same_label", [True, False])
def test_only_rows_whose_vote_is_uncertain_are_searched_again(weights, same_label, monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(80, 3)), np.arange(80) % 3
    X[1], X[41] = X[0], X[40]  # pairs of rows that are equally near to all others
    if same_label:
        y[[1, 41]] = y[[0, 40]]
    data = Data(X, y, task="classification")
    candidates = [KNeighborsClassifier(k, weights=weights) for k in (1, 3, 7)]
    fits = [fit for each in candidates for fit in sweep_fits(data, each, [None], BOTH)]
    searches, search = [], KNeighborsClassifier.kneighbors

    def counted(self, X, n_neighbors, return_distance=True):
        searches.append((n_neighbors, len(X)))
        return search(self, X, n_neighbors, return_distance)

    [job] = NeighboursSolver().claim(fits, data)
    with monkeypatch.context() as patch:
        patch.setattr(KNeighborsClassifier, "kneighbors", counted)
        outcomes = job.run(data)
    assert searches[0] == (7, 80)
    assert all(rows < 40 for _, rows in searches[1:])
    assert bool(searches[1:]) != same_label
    for fit, outcome in zip(job.fits, outcomes, strict=True):
        assert_equal_answers(outcome, fit_plain(fit, data), fit, data)
