import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from truefit._core.data import Data
from truefit._methods.perturbation.config import gaps
from truefit._methods.perturbation.noise import FeatureNoise, FlippedLabels, PermutedTargets, uniform, with_noisy_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
TWO = Data(X, np.repeat([0, 1], [150, 50]), task="classification")
FOUR = Data(X, np.repeat(list("abcd"), [80, 60, 40, 20]), task="classification")
NUMBERS = Data(X, RNG.normal(size=200), task="regression")


@pytest.mark.parametrize("level", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("data", [TWO, FOUR])
def test_a_share_of_each_class_is_flipped_to_other_classes(data, level):
    noisy = FlippedLabels(data).at(0, level)
    for label in data.classes:
        of_class = data.y == label
        assert (noisy.truth[of_class] != label).sum() == round(level * of_class.sum())
    assert noisy.share == np.mean(noisy.truth != data.y) == level
    assert set(noisy.truth) <= set(data.y)
    assert noisy.y.dtype == data.y.dtype


def test_half_a_row_counts_as_one_and_the_share_says_so():
    data = Data(np.arange(20.0).reshape(-1, 1), np.arange(20) % 2, task="classification")
    assert [FlippedLabels(data).at(0, level).share for level in (0.05, 0.15, 0.35)] == [0.1, 0.2, 0.4]
    assert FlippedLabels(data).at(0, 0.04).y is None


def test_other_classes_are_equally_likely():
    counts = np.zeros(4)
    for repeat in range(200):
        truth = FlippedLabels(FOUR).at(repeat, 0.5).truth[:80]  # of class a
        counts += [np.sum(truth == label) for label in "abcd"]
    assert counts[0] == 200 * 40
    np.testing.assert_allclose(counts[1:] / (200 * 40), 1 / 3, atol=0.025)


def test_flips_are_independent_between_levels_and_repeats_and_follow_the_rows():
    flips = {cell: FlippedLabels(TWO).at(*cell).truth != TWO.y for cell in [(0, 0.25), (0, 0.5), (1, 0.5)]}
    both = [np.mean(flips[0, 0.25] & flips[0, 0.5]), np.mean(flips[0, 0.5] & flips[1, 0.5])]
    np.testing.assert_allclose(both, [0.125, 0.25], atol=0.06)
    order = np.random.default_rng(1).permutation(200)
    turned = Data(X[order], TWO.y[order], task="classification")
    assert np.array_equal(FlippedLabels(turned).at(0, 0.25).truth, FlippedLabels(TWO).at(0, 0.25).truth[order])
    other = FlippedLabels(TWO, random_state=1).at(0, 0.25).truth
    assert not np.array_equal(other, FlippedLabels(TWO).at(0, 0.25).truth)


def test_level_0_is_the_table_itself():
    for noise in (FlippedLabels(TWO), PermutedTargets(NUMBERS)):
        noisy = noise.at(3, 0.0)
        assert noisy.y is None
        assert noisy.share == 0
        assert noisy.truth is noise.data.y


def test_flips_at_random_take_a_share_of_the_table():
    noisy = FlippedLabels(TWO, within_classes=False).at(0, 0.3)
    assert (noisy.truth != TWO.y).sum() == 60
    by_class = [FlippedLabels(TWO, within_classes=False).at(b, 0.3).truth[150:].sum() for b in range(20)]
    assert len(set(by_class)) > 3  # not the same number of each class every time


def test_a_table_is_never_left_with_one_class():
    tiny = Data(np.arange(4.0).reshape(-1, 1), [0, 0, 1, 1], task="classification")
    noisy = FlippedLabels(tiny, within_classes=False)
    assert all(len(set(noisy.at(b, 0.5).truth.tolist())) == 2 for b in range(50))


def test_near_the_boundary_labels_are_flipped_more_often():
    gap = np.r_[np.arange(150) / 150, np.arange(50) / 50]
    often = np.mean([FlippedLabels(TWO, gaps=gap).at(b, 0.1).truth != TWO.y for b in range(100)], axis=0)
    assert np.isclose(often[:150].mean(), 0.1)
    assert often[gap < 0.1].mean() > 0.4
    assert often[gap >= 0.5].mean() < 0.02
    # Where all are equally near it is plain flipping.
    same = np.mean([FlippedLabels(TWO, gaps=np.ones(200)).at(b, 0.2).truth != TWO.y for b in range(200)], axis=0)
    np.testing.assert_allclose(same, 0.2, atol=0.12)


def test_gaps_of_probabilities_and_decisions():
    assert gaps([[0.5, 0.5], [1.0, 0.0]]).tolist() == [0.0, 1.0]
    assert gaps([-2.0, 0.5]).tolist() == [2.0, 0.5]
    assert gaps([[1.0, 3.0, -np.inf], [0.0, -np.inf, -np.inf]]).tolist() == [2.0, np.inf]


def test_targets_go_from_row_to_row():
    noisy = PermutedTargets(NUMBERS).at(0, 0.3)
    assert (noisy.truth != NUMBERS.y).sum() == 60
    assert sorted(noisy.truth) == sorted(NUMBERS.y)
    assert noisy.share == 0.3
    # One row alone has nowhere to go.
    assert PermutedTargets(NUMBERS).at(0, 0.005).share == 0


def test_agreement_and_dummy():
    noisy = FlippedLabels(TWO).at(0, 0.1)
    assert noisy.agreement(TWO.y) == 0.9
    assert noisy.baseline == (150 - 15 + 5) / 200
    weighted = Data(X, TWO.y, task="classification", weight=np.where(TWO.y == 1, 3.0, 1.0))
    assert FlippedLabels(weighted).at(0, 0.0).baseline == 0.5
    assert PermutedTargets(NUMBERS).at(0, 0.5).baseline == 0.0
    assert PermutedTargets(NUMBERS).at(0, 0.0).agreement(2 * NUMBERS.y + 1) == pytest.approx(1.0)


def test_hashes_are_uniform():
    drawn = uniform(TWO.tokens[:, 0])
    assert drawn.min() > 0
    assert drawn.max() < 1
    assert uniform(np.array([0, 2**64 - 1], dtype=np.uint64)).tolist() == [2.0**-53, 1 - 2.0**-53]


@pytest.mark.parametrize("kind", ["array", "pandas", "labelled", "polars", "sparse"])
def test_disturbed_rows_have_their_values_from_other_rows(kind):
    frame = pd.DataFrame({"a": np.arange(6.0), "b": np.arange(6), "c": list("uvwxyz")})
    table = {
        "array": frame[["a", "b"]].to_numpy(),
        "pandas": frame.astype({"c": "category"}),
        "labelled": frame.set_index(pd.Index([f"row {i}" for i in range(6)])),
        "polars": pl.from_pandas(frame),
        "sparse": sparse.csr_array(frame[["a", "b"]].to_numpy()),
    }[kind]
    data = Data(table, np.arange(6) % 2, task="classification", groups=np.arange(6), weight=np.arange(1.0, 7.0))
    stacked = with_noisy_rows(data, 2, None)
    assert stacked.n == 18
    assert np.array_equal(stacked.tokens[:6], data.tokens)
    assert type(stacked.X) is type(data.X)
    assert stacked.schema == data.schema
    for values in (stacked.y, stacked.groups, stacked.weight):
        assert np.array_equal(values[:6], values[6:12])
    plain = stacked.X.toarray() if kind == "sparse" else np.asarray(stacked.X)
    for column in plain.T:
        for copy in (column[6:12], column[12:]):
            assert sorted(copy.tolist()) == sorted(column[:6].tolist())
            assert (copy != column[:6]).all()
    assert (plain[6:12] != plain[12:]).any()


def test_rows_of_a_level_are_replaced_by_their_copies():
    data = Data(X, TWO.y, task="classification", weight=np.arange(1.0, 201.0))
    noise = FeatureNoise(with_noisy_rows(data, 3, None), 200)
    nothing, half = noise.at(2, 0.0), noise.at(2, 0.5)
    assert nothing.rows.index.tolist() == list(range(200))
    assert (nothing.share, half.share) == (0.0, 0.5)
    index = half.rows.index
    assert sorted(index % 200) == list(range(200))
    assert (index >= 600).sum() == 100
    assert not ((index >= 200) & (index < 600)).any()
    assert np.array_equal(half.truth, TWO.y[index % 200])
    assert np.array_equal(half.weight, data.weight[index % 200])
    assert noise.ideal(1.0) is None
    order = np.random.default_rng(1).permutation(200)
    turned = Data(X[order], TWO.y[order], task="classification", weight=data.weight[order])
    again = FeatureNoise(with_noisy_rows(turned, 3, None), 200)
    values = [one.data.X[one.at(2, 0.5).rows.index] for one in (noise, again)]
    assert np.array_equal(*(each[np.lexsort(each.T)] for each in values))
