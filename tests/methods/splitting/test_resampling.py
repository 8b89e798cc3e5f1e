import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from truefit import Engine, assess, bias_variance
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._methods.splitting.designs import bootstrap_samples, draw_samples

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 2))
y = rng.normal(size=80)
data = Data(X, y, task="regression")


def test_a_sample_has_as_many_rows_as_the_table_and_tests_on_those_it_lacks():
    for sample in bootstrap_samples(data, 5):
        drawn = sample.train.index
        assert len(drawn) == 80
        assert len(np.unique(drawn)) < 80
        assert sorted({*drawn.tolist(), *sample.test.index.tolist()}) == list(range(80))
        assert not set(drawn.tolist()) & set(sample.test.index.tolist())


def test_rows_are_drawn_alike_and_independently():
    drawn = np.concatenate([sample.train.index for sample in draw_samples(data, 2000)])
    counts = np.bincount(drawn, minlength=80)
    # Each count is binomial with mean 2000 and standard deviation 44.4.
    assert np.abs(counts - 2000).max() < 4 * 44.4
    assert 0.8 < counts.std() / 44.4 < 1.2
    left_out = np.mean([len(sample.test) / 80 for sample in draw_samples(data, 2000)])
    assert abs(left_out - (1 - 1 / 80) ** 80) < 0.002


def test_samples_follow_the_rows_and_not_their_order():
    order = rng.permutation(80)
    shuffled = Data(X[order], y[order], task="regression")
    for ours, theirs in zip(draw_samples(data, 4), draw_samples(shuffled, 4), strict=True):
        assert np.array_equal(np.sort(order[theirs.train.index]), ours.train.index)


def test_a_sample_does_not_depend_on_how_many_there_are_but_on_the_seed_and_on_the_rows():
    few, many = list(draw_samples(data, 3)), list(draw_samples(data, 6))
    assert [s.train for s in few] == [s.train for s in many[:3]]
    assert len({tuple(s.train.index) for s in many}) == 6
    other_seed = next(draw_samples(data, 1, 7))
    assert other_seed.train == next(draw_samples(data, 1, 7)).train != few[0].train
    other_rows = Data(X[:79], y[:79], task="regression")
    assert next(draw_samples(other_rows, 1)).train != few[0].train


def test_groups_are_drawn_whole():
    groups = np.repeat(np.arange(16), 5)
    grouped = Data(X, y, task="regression", groups=groups)
    for sample in draw_samples(grouped, 10):
        counts = np.bincount(sample.train.index, minlength=80)
        assert (counts.reshape(16, 5) == counts.reshape(16, 5)[:, :1]).all()
        assert counts.reshape(16, 5)[:, 0].sum() == 16
        assert set(groups[sample.test.index]) == set(np.flatnonzero(counts.reshape(16, 5)[:, 0] == 0))


def test_a_sample_always_holds_two_classes_and_leaves_rows_out():
    rare = Data(np.arange(6.0).reshape(-1, 1), [0, 0, 0, 0, 0, 1], task="classification")
    for sample in draw_samples(rare, 200):
        assert 5 in sample.train
        assert len(sample.test)
    two = Data([[0.0], [1.0]], [1.0, 2.0], task="regression")
    assert {tuple(sample.train.index) for sample in draw_samples(two, 30)} == {(0, 0), (1, 1)}


def test_what_cannot_be_drawn_is_refused():
    hopeless = Data([[0.0], [1.0]], [0, 1], task="classification")
    with pytest.raises(InvalidInput, match="hold two classes"):
        list(draw_samples(hopeless, 1))
    with pytest.raises(InvalidInput, match="at least 2 rows"):
        draw_samples(Data([[0.0]], [0.0], task="regression"), 1)
    for rounds in (0, 1.5, True):
        with pytest.raises(InvalidInput, match="rounds"):
            draw_samples(data, rounds)


def test_all_who_ask_for_bootstrap_samples_share_the_fits():
    X, y = load_iris(return_X_y=True)
    engine = Engine()
    assessed = assess(GaussianNB(), X, y, design="bootstrap", repeats=25, engine=engine)
    parts = bias_variance(GaussianNB(), X, y, repeats=25, engine=engine)
    assert (engine.stats.run, engine.stats.shared) == (25, 25)
    # The expected loss is the leave-one-out bootstrap.
    assert np.isclose(parts.expected_loss, assessed.estimate, rtol=1e-12)
