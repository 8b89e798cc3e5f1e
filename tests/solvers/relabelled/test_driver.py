from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from tests.solvers.cases import flipped, numbers, sweep_fits

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, Fit, FitTask
from truefit._core.rows import Rows
from truefit._solvers.closed_form.gaussian_nb import NaiveBayesSolver
from truefit._solvers.registry import all_solvers
from truefit._solvers.relabelled.driver import all_coded, as_floats, classes_for, coded, full_precision, label_sweeps


def fits_with(*vectors):
    return [Fit(str(i), b"", b"", None, Rows.all(1), (), y=y) for i, y in enumerate(vectors)]


@given(st.integers(2, 6), st.integers(1, 50), st.integers(1, 4), st.integers(1, 9))
def test_sums_by_class(classes, n, columns, stretch):
    rng = np.random.default_rng(n)
    data = Data(np.zeros((max(n, classes), 1)), np.arange(max(n, classes)) % classes, task="classification")
    table = rng.integers(-5, 6, (data.n, columns)).astype(float)
    vectors = [rng.permutation(data.y) for _ in range(3)]
    [sweep] = label_sweeps(fits_with(*vectors), data, np.arange(data.n))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("truefit._solvers.relabelled.driver.STRETCH", stretch)
        sums, doubled = sweep.sums(table, 2 * table)
    np.testing.assert_array_equal(doubled, 2 * sums)
    assert sums.shape == (len(np.unique(data.y)), 3, columns)
    for v, labels in enumerate(vectors):
        for k, one in enumerate(sweep.classes):
            np.testing.assert_array_equal(sums[k, v], table[labels == one].sum(axis=0))
            assert sweep.counts[v, k] == (labels == one).sum()


def test_vectors_go_with_those_of_the_same_classes():
    y = np.array(["a", "b", "c", "a"])
    data = Data(np.zeros((4, 1)), y, task="classification")
    few, more = np.array(["c", "a", "c", "a"]), np.array(["c", "b", "a", "a"])
    sweeps = label_sweeps(fits_with(None, few, more, few[::-1], np.repeat("a", 4)), data, np.arange(4))
    assert [(sweep.places, sweep.classes.tolist()) for sweep in sweeps] == [([0, 2], list("abc")), ([1, 3], list("ac"))]
    assert sweeps[1].codes.tolist() == [[1, 0, 1, 0], [0, 1, 0, 1]]
    [whole, part] = sweeps[0].parts(1)
    assert (whole.places, part.places, part.codes.tolist(), part.counts.tolist()) == (
        [0],
        [2],
        [[2, 1, 0, 0]],
        [[2, 1, 1]],
    )


def test_labels_are_looked_at_where_they_are_trained_on():
    data = Data(np.zeros((4, 1)), [0, 1, 2, 2], task="classification")
    first, second = label_sweeps(fits_with(None, np.array([2, 0, 1, 1])), data, np.array([0, 0, 1]))
    assert (first.classes.tolist(), first.codes.tolist(), first.places) == ([0, 1], [[0, 0, 1]], [0])
    assert (second.classes.tolist(), second.codes.tolist(), second.places) == ([0, 2], [[1, 1, 0]], [1])
    # As many rows as there are, but not all of them.
    [twice] = label_sweeps(fits_with(None), data, np.array([0, 0, 2, 2]))
    assert twice.codes.tolist() == [[0, 0, 1, 1]]


def test_labels_of_another_kind_are_not_there():
    for labels, classes in (
        (np.array(["1", "2"]), np.array([1, 2])),
        (np.array([1, 2]), np.array(["1", "2"])),
        (np.array([1, 2], dtype=object), np.array([1, 2])),
        (np.array([[1], [2]]), np.array([1, 2])),
        (np.array([np.nan, 2.0]), np.array([1, 2])),
    ):
        assert coded(labels, classes)[1].sum() < 2
    codes, counts = all_coded([np.array([1.0, 2.0]), np.array([2, 2])], np.array([1, 2]))
    assert (codes.tolist(), counts.tolist()) == ([[0, 1], [1, 1]], [[1, 1], [0, 2]])


def test_regression_has_no_classes():
    data = Data(np.zeros((4, 1)), [0.5, 1.0, 2.0, 2.0], task="regression")
    assert label_sweeps(fits_with(None), data, np.arange(4)) == []


def test_classes_are_of_the_type_of_the_labels():
    first, second = fits_with(None, np.array([0.0, 1.0]))
    assert classes_for(first, np.array([0, 1])).dtype == np.int64
    assert classes_for(second, np.array([0, 1])).dtype == np.float64


def usual():
    X, y = numbers()
    data = Data(X, y, task="classification")
    return data, sweep_fits(data, GaussianNB(), [None, *flipped(y)])


def test_each_estimator_and_set_of_rows_is_a_job_of_its_own():
    data, fits = usual()
    vectors = [None, *flipped(data.y)]
    fits += sweep_fits(data, GaussianNB(), vectors, train=Rows.of(range(30)))
    fits += sweep_fits(data, GaussianNB(var_smoothing=0.1), vectors)
    fits += sweep_fits(data, GaussianNB(var_smoothing=0.2), [None])
    jobs = NaiveBayesSolver().claim(fits, data)
    assert [len(job.fits) for job in jobs] == [4, 4, 4]
    assert {job.work for job in jobs} == {1}


def test_rows_are_known_by_what_they_are():
    data, _ = usual()
    keys, y = Keys(data), data.y[::-1].copy()
    rows = [Rows.of(range(59)), Rows.without(60, 59)]
    fits = [keys.fit(FitTask(GaussianNB(), train, (), labels)) for train, labels in zip(rows, (None, y), strict=True)]
    assert len(NaiveBayesSolver().claim(fits, data)) == 1


def test_models_that_are_there_or_wanted_are_left_alone():
    data, fits = usual()
    assert NaiveBayesSolver().claim([replace(fit, model=GaussianNB()) for fit in fits], data) == []
    assert NaiveBayesSolver().claim([replace(fit, keep_model=True) for fit in fits], data) == []
    with config_context(enable_metadata_routing=True):
        assert NaiveBayesSolver().claim(fits, data) == []


def test_labels_of_a_job_take_a_bounded_amount_of_memory(monkeypatch):
    data, fits = usual()
    monkeypatch.setattr("truefit._solvers.relabelled.driver.LABEL_BYTES", 2 * data.n)
    assert [len(job.fits) for job in NaiveBayesSolver().claim(fits, data)] == [2, 2]
    monkeypatch.setattr(NaiveBayesSolver, "most", 3)
    monkeypatch.setattr("truefit._solvers.relabelled.driver.LABEL_BYTES", 100 * data.n)
    assert [len(job.fits) for job in NaiveBayesSolver().claim(fits, data)] == [3, 1]


def test_repeats_with_the_same_labels_are_all_answered():
    data, _ = usual()
    keys, rows = Keys(data), Rows.all(data.n)
    fits = [keys.fit(FitTask(GaussianNB(), rows, (Ask(rows),), repeat=r)) for r in range(2)]
    [job] = NaiveBayesSolver().claim(fits, data)
    first, second = job.run(data)
    assert first.key != second.key
    np.testing.assert_array_equal(first.answers[0].values, second.answers[0].values)


def test_time_is_shared_out(monkeypatch):
    data, fits = usual()
    [job] = NaiveBayesSolver().claim(fits, data)
    clock = iter([10.0, 12.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    assert [outcome.fit_seconds for outcome in job.run(data)] == [0.5] * 4


def test_tables_of_full_precision():
    X = np.arange(6.0).reshape(3, 2)
    y = [0, 1, 0]

    def full(table):
        return full_precision(Data(table, y, task="classification"))

    assert full(X)
    assert full(X.astype(np.int8))
    assert full(pd.DataFrame(X).assign(n=[1, 2, 3]).rename(columns=str))
    for other in (X.astype(np.float32), X > 2, X.astype(object), X[:, :0], X[:, 0], np.where(X > 2, np.inf, X)):
        assert not full(other)
    for other in (pd.DataFrame(X).astype("Float64"), pd.DataFrame(X > 2), pd.DataFrame({"a": [1, None, 2.0]})):
        assert not full(other)


def test_tables_as_estimators_see_them():
    assert as_floats(pd.DataFrame({"a": [1, 2], "b": [0.5, 0.25]})).tolist() == [[1, 0.5], [2, 0.25]]
    with pytest.raises(ValueError, match="must be finite"):
        as_floats(np.array([[np.nan]]))


@pytest.mark.parametrize("estimator", [GaussianNB(), LinearDiscriminantAnalysis(), RidgeClassifier(), SVC()])
def test_the_table_is_left_as_it_is(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    data = Data(X, np.arange(40) % 2, task="classification")
    before, rows = X.copy(), Rows.all(40)
    fits = [Keys(data).fit(FitTask(estimator, rows, (Ask(rows),), y=rng.permutation(data.y))) for _ in range(3)]
    jobs = [job for solver in all_solvers() for job in solver.claim(fits, data)]
    jobs[0].run(data)
    np.testing.assert_array_equal(X, before)
