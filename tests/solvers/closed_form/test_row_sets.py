"""Learners on many sets of the same rows: what they have in common."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from tests.solvers.cases import bootstrap, curve, flipped, folds, numbers, sets_fits

from truefit._core.data import Data
from truefit._core.protocols import Fit
from truefit._core.rows import Rows
from truefit._solvers.closed_form.gaussian_nb import NaiveBayesSetsSolver
from truefit._solvers.closed_form.linear_row_sets import LinearSetsSolver
from truefit._solvers.closed_form.other_rows import SMALLEST_GROUP
from truefit._solvers.closed_form.row_sets import RowSets, equal_rows, used_rows
from truefit._solvers.registry import all_solvers


@pytest.fixture
def data():
    return Data(*numbers(60, 3), task="classification")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def makers(fits, data):
    made = {}
    for solver in all_solvers():
        for job in solver.claim([fit for fit in fits if fit.key not in made], data):
            made.update({fit.key: solver.name for fit in job.fits})
    return [made[fit.key] for fit in fits]


def test_candidates_along_a_path_are_one_job(data, rng):
    fits = sets_fits(data, [GaussianNB(), GaussianNB(var_smoothing=0.1)], folds(data.n, rng))
    [job] = NaiveBayesSetsSolver().claim(fits, data)
    assert (len(job.fits), job.work) == (10, 5)  # a model for each set
    assert {outcome.solver for outcome in job.run(data)} == {"naive bayes sets"}


def test_too_few_sets_are_left_to_plain_fitting(data, rng):
    fits = sets_fits(data, [GaussianNB(), GaussianNB(var_smoothing=0.1)], folds(data.n, rng, SMALLEST_GROUP - 1))
    assert NaiveBayesSetsSolver().claim(fits, data) == []


def test_other_labels_on_few_sets_are_left_to_who_shares_the_rows(data, rng):
    splits = folds(data.n, rng)
    vectors = [None, *flipped(data.y, 7)]
    fits = [fit for y in vectors for fit in sets_fits(data, [GaussianNB()], splits, ("predict",), y)]
    assert set(makers(fits, data)) == {"naive bayes"}
    fits = [fit for y in vectors[:3] for fit in sets_fits(data, [GaussianNB()], splits, ("predict",), y)]
    assert set(makers(fits, data)) == {"naive bayes sets"}


def test_fits_whose_model_is_wanted_or_there_are_left_alone(data, rng):
    fits = sets_fits(data, [GaussianNB()], folds(data.n, rng))
    for others in (
        [replace(fit, keep_model=True) for fit in fits],
        [replace(fit, model=GaussianNB()) for fit in fits],
        [replace(fit, asks=()) for fit in fits],
    ):
        assert NaiveBayesSetsSolver().claim(others, data) == []


def test_sets_that_have_next_to_no_rows_in_common_are_left_to_plain_fitting():
    X, y = numbers(2000, 2)
    data = Data(X, y, task="classification")
    splits = [(Rows.of(range(20 * i, 20 * i + 20)), Rows.of([0])) for i in range(100)]
    assert NaiveBayesSetsSolver().claim(sets_fits(data, [GaussianNB()], splits), data) == []
    assert len(NaiveBayesSetsSolver().claim(sets_fits(data, [GaussianNB()], splits[:10]), data)) == 1


def test_only_rows_that_are_used_are_held(data, rng):
    fits = sets_fits(data, [GaussianNB()], curve(20, rng))
    sets = RowSets(fits, data, data.codes)
    assert len(sets.X) == 20
    assert sets.counts([4]).sum() == 15


def test_a_set_without_one_of_the_classes_is_fitted_plainly(data, rng):
    one = np.flatnonzero(data.codes == 0)
    splits = [*folds(data.n, rng), (Rows.of(one), Rows.of([0, 1]))]
    [job] = NaiveBayesSetsSolver().claim(sets_fits(data, [GaussianNB()], splits), data)
    assert [outcome.solver for outcome in job.run(data)] == ["naive bayes sets"] * 5 + ["plain"]


def test_parts_of_the_sets_give_the_same_answers(data, rng, monkeypatch):
    fits = sets_fits(data, [GaussianNB(), GaussianNB(var_smoothing=0.1)], bootstrap(data.n, rng))
    [job] = NaiveBayesSetsSolver().claim(fits, data)
    whole = job.run(data)
    monkeypatch.setattr("truefit._solvers.closed_form.row_sets.WORK_BYTES", 8 * data.n * 2)
    monkeypatch.setattr("truefit._solvers.registry.BATCH_ROWS", 30)
    parts = job.run(data)
    for fit, one, other in zip(fits, whole, parts, strict=True):
        for ask in fit.asks:
            mine, theirs = (each.answer(data, ask.rows, ask.response) for each in (one, other))
            if ask.response == "predict":
                assert mine.tolist() == theirs.tolist()
            else:
                np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_too_large_a_table_is_fitted_plainly(data, rng, monkeypatch):
    [job] = NaiveBayesSetsSolver().claim(sets_fits(data, [GaussianNB()], folds(data.n, rng)), data)
    monkeypatch.setattr("truefit._solvers.closed_form.row_sets.TABLE_BYTES", 100)
    assert {outcome.solver for outcome in job.run(data)} == {"plain"}


def test_pages_of_a_mapped_table_are_let_go(rng):
    X, _ = numbers(60, 3)
    data = Data(X, X[:, 0] + 8, task="regression")
    [job] = LinearSetsSolver().claim(sets_fits(data, [Ridge()], folds(data.n, rng), ("predict",)), data)
    released = []
    data.release = lambda: released.append(1)
    job.run(data)
    assert released == [1]


def test_rows_of_the_same_sets_are_one_group():
    groups = equal_rows(np.array([[1.0, 0.0, 1.0, 0.0, 1.0, 0.0], [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]]))
    assert [rows.tolist() for rows in groups.rows] == [[0, 2, 4], [1, 3, 5]]
    assert groups.counts.tolist() == [[1.0, 0.0], [1.0, 2.0]]
    assert equal_rows(np.array([[1.0, 0.0, 2.0]])) is None


def test_rows_that_any_set_uses():
    assert used_rows([Rows.of([0, 2, 2]), Rows.of([3])], 5).tolist() == [True, False, True, True, False]
    assert used_rows([Rows.without(4, [1, 2]), Rows.without(4, [2, 3])], 4).tolist() == [True, True, False, True]


def test_rows_of_a_class_stand_together():
    data = Data([[0.0], [1.0], [2.0], [3.0]], ["b", "a", "b", "a"], task="classification")
    trains = Rows.without(4, [3]), Rows.of([1, 1, 2])
    sets = RowSets([Fit("", b"", b"", None, train, ()) for train in trains], data, data.codes)
    assert (sets.X.ravel().tolist(), sets.slices) == ([1.0, 0.0, 2.0], [slice(0, 1), slice(1, 3)])
    assert sets.counts([0, 1]).tolist() == [[1.0, 1.0, 1.0], [2.0, 0.0, 1.0]]
