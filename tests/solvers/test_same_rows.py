from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from tests.solvers.label_case import flipped, numbers, sweep_fits

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.rows import Rows
from truefit._core.task import Ask, FitTask
from truefit._solvers import all_solvers
from truefit._solvers.naive_bayes import NaiveBayesSolver
from truefit._solvers.same_rows import as_floats, full_precision


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
    monkeypatch.setattr("truefit._solvers.same_rows.LABEL_BYTES", 2 * data.n)
    assert [len(job.fits) for job in NaiveBayesSolver().claim(fits, data)] == [2, 2]
    monkeypatch.setattr(NaiveBayesSolver, "most", 3)
    monkeypatch.setattr("truefit._solvers.same_rows.LABEL_BYTES", 100 * data.n)
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
