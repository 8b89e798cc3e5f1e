import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truefit._core.data import Data
from truefit._core.rows import Rows
from truefit._core.task import Fit
from truefit._solvers.label_sweep import all_coded, classes_for, coded, label_sweeps


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
        patch.setattr("truefit._solvers.label_sweep.STRETCH", stretch)
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
