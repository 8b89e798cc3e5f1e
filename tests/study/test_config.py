import numpy as np

from truefit._core.data import Data
from truefit._core.rows import Rows
from truefit._study.budget import sample_rows


def table(n=1000):
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c"], size=n, p=[0.7, 0.28, 0.02])
    return Data(rng.normal(size=(n, 2)), y, task="classification")


def test_a_sample_has_each_class_in_its_share_and_leaves_out_the_hopeless():
    data = table()
    rows = sample_rows(data, 300, least=2, random_state=None)
    assert len(np.unique(rows)) == len(rows) == 300
    for label in "abc":
        assert abs((data.y[rows] == label).mean() - (data.y == label).mean()) < 0.01
    few = sample_rows(data, 100, least=5, random_state=None)
    assert "c" not in data.y[few]


def test_a_sample_follows_from_the_rows_and_the_seed_not_from_their_order():
    data = table()
    turned = Data(data.X[::-1], data.y[::-1], task="classification")
    here = data.X[sample_rows(data, 200, least=2, random_state=3)]
    there = turned.X[sample_rows(turned, 200, least=2, random_state=3)]
    assert {tuple(row) for row in here} == {tuple(row) for row in there}
    assert not np.array_equal(
        sample_rows(data, 200, least=2, random_state=3), sample_rows(data, 200, least=2, random_state=4)
    )


def test_a_part_knows_its_rows_by_the_tokens_of_the_whole():
    X = np.zeros((6, 1))  # rows alike: only their tokens tell them apart
    data = Data(X, list("aabbab"), task="classification")
    part = data.subset(np.array([1, 3, 4, 5]))
    assert (part.tokens == data.tokens[[1, 3, 4, 5]]).all()
    assert part.digest(Rows.all(4)) == data.digest(Rows.of([1, 3, 4, 5]))
    assert part.classes.tolist() == ["a", "b"]
    assert data.n == 6
