""""""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import f1_score, mean_squared_error, r2_score
from sklearn.model_selection import ShuffleSplit, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from truefit import Engine, HonestSearchCV, assess, bias_variance
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._methods.splitting.designs import draw_samples, make_design
from truefit._methods.splitting.splits import shared_partition
from truefit._metrics.metric import get_metric
from truefit._stats.triangle import nested_cv, triangle_tau

X, y = make_classification(120, 5, flip_y=0.2, random_state=3)
XD, yd = (part[:150] for part in load_diabetes(return_X_y=True))


def triangle_by_hand(model, X, y, k, loss):
    """Fit every fold and pair of folds left out, one by one."""
    task = "regression" if y.dtype.kind == "f" else "classification"
    folds = shared_partition(Data(X, y, task=task), k)
    singles, pairs = [], [[None] * k for _ in range(k)]
    for a in range(k):
        fold = folds == a
        singles.append(loss(y[fold], model.fit(X[~fold], y[~fold]).predict(X[fold])))
        for b in set(range(k)) - {a}:
            rest = ~fold & (folds != b)
            pairs[a][b] = loss(y[fold], model.fit(X[rest], y[rest]).predict(X[fold]))
    return singles, pairs


def wrong(y, predicted):
    return (y != predicted).astype(float)


def squared(y, predicted):
    return (y - predicted) ** 2


@pytest.mark.parametrize("k", [3, 5, 10])
def test_the_triangle_is_that_of_brute_force_at_the_fewest_fits(k):
    engine = Engine()
    result = assess(GaussianNB(), X, y, design="nested", cv=k, engine=engine)
    by_hand = triangle_tau([triangle_by_hand(GaussianNB(), X, y, k, wrong)], zero_one=True)
    assert np.allclose([result.estimate, *result.interval], [by_hand.estimate, by_hand.low, by_hand.high], rtol=1e-12)
    assert engine.stats.run == k + k * (k - 1) // 2
    assert result.interval_method == "triangle + τ"


def test_nested_cross_validation_is_that_of_brute_force():
    result = assess(LinearRegression(), XD, yd, cv=5, interval="nested_cv")
    by_hand = nested_cv([triangle_by_hand(LinearRegression(), XD, yd, 5, squared)])
    assert np.allclose([result.estimate, *result.interval], by_hand[:3], rtol=1e-9)
    assert "fewer than 10 repeats" in result.notes[0]


def test_from_ten_repeats_on_nesting_is_trusted_and_below_it_the_triangle_is():
    few, many = (assess(GaussianNB(), X, y, design="nested", cv=3, repeats=r) for r in (2, 10))
    assert (few.interval_method, many.interval_method) == ("triangle + τ", "nested cross-validation")
    assert not many.notes


def test_kfold_nesting_search_and_triangle_share_their_fits():
    engine = Engine()
    assess(DecisionTreeClassifier(max_depth=2), X, y, design="nested", cv=5, engine=engine)
    assess(DecisionTreeClassifier(max_depth=2), X, y, cv=5, engine=engine)
    assess(DecisionTreeClassifier(max_depth=2), X, y, cv=5, interval="nested_cv", engine=engine)
    assert engine.stats.run == 15
    HonestSearchCV(DecisionTreeClassifier(), {"max_depth": [2]}, cv=5, engine=engine).fit(X, y)
    assert engine.stats.run == 16  # and one on all rows


@pytest.mark.parametrize("seed", [None, 5])
def test_632_of_a_learner_that_remembers_is_632_of_the_bootstrap_error(seed):
    options = {"repeats": 30, "random_state": seed}
    left_out = assess(KNeighborsClassifier(1), X, y, design="bootstrap", **options)
    weighed = assess(KNeighborsClassifier(1), X, y, design=".632", **options)
    assert weighed.estimate == 0.632 * left_out.estimate
    assert weighed.interval[0] < weighed.estimate < weighed.interval[1]


def test_the_bootstrap_error_is_the_mean_over_rows_of_the_models_that_did_not_see_them():
    result = assess(GaussianNB(), X, y, design="bootstrap", repeats=40)
    frame = result.predictions
    by_row = (frame["y"] != frame["prediction"]).groupby(frame["row"]).mean()
    assert np.isclose(result.estimate, by_row.mean(), rtol=1e-12)


def test_632_plus_of_a_learner_that_learns_nothing_is_the_bootstrap_error():
    rng = np.random.default_rng(0)
    noise, labels = rng.normal(size=(80, 3)), np.repeat([0, 1], 40)
    gamma = 0.5  # classes and predictions of 1-NN are balanced, so that is the no-information error
    left_out = assess(KNeighborsClassifier(1), noise, labels, design="bootstrap", repeats=50).estimate
    plus = assess(KNeighborsClassifier(1), noise, labels, design=".632+", repeats=50).estimate
    assert plus == pytest.approx(min(left_out, gamma) * 0.632 / (1 - 0.368 * min(1, left_out / gamma)), rel=1e-12)
    assert plus > 0.9 * min(left_out, gamma)


def test_632_plus_without_overfitting_is_632():
    stump = DummyClassifier(strategy="most_frequent")
    labels = np.repeat([0, 1], [85, 35])  # so unequal that each sample has the same class in front
    plain, plus = (assess(stump, X, labels, design=d, repeats=30).estimate for d in (".632", ".632+"))
    apparent = np.mean(labels)
    # The dummy's error on left-out rows is no more than chance away from that on its own rows.
    assert plus == pytest.approx(plain, abs=0.02)
    assert plain == pytest.approx(apparent, abs=0.05)


def test_632_plus_takes_squared_losses_and_refuses_what_is_no_mean_over_rows():
    result = assess(DecisionTreeRegressor(max_depth=3), XD, yd, design=".632+", repeats=20)
    low, high = result.interval
    assert low < result.estimate < high
    with pytest.raises(InvalidInput, match=r"632\+ bootstrap needs a per-sample metric"):
        assess(DecisionTreeRegressor(), XD, yd, design=".632+", metric="r2", repeats=5).estimate


def test_three_ways_choose_on_rows_of_their_own():
    engine = Engine()
    models = {f"depth {d}": DecisionTreeClassifier(max_depth=d, random_state=0) for d in (1, 3, 9)}
    result = assess(models, X, y, design="threeway", cv=5, engine=engine)
    assert engine.stats.run == 6
    data = Data(X, y, task="classification")
    folds = shared_partition(data, 5)
    errors = {
        name: np.mean(model.fit(X[folds > 1], y[folds > 1]).predict(X[folds == 1]) != y[folds == 1])
        for name, model in models.items()
    }
    assert errors[result.best] == min(errors.values())
    assert result.winner == result.estimates[result.best]
    assert len(result.predictions[result.best]) == 24


def test_the_conservative_z_takes_hold_outs_of_halves():
    engine = Engine()
    result = assess(GaussianNB(), X, y, design="holdout", cv=10, repeats=15, interval="conservative_z", engine=engine)
    assert engine.stats.run == 225
    low, high = result.interval
    assert (low + high) / 2 == pytest.approx(result.estimate)


SMOOTH = {"f1": f1_score, "r2": r2_score, "rmse": lambda a, b: mean_squared_error(a, b) ** 0.5}


@pytest.mark.parametrize("metric", SMOOTH)
@pytest.mark.parametrize("options", [{}, {"interval": "triangle"}, {"repeats": 3}, {"design": "holdout"}])
def test_metrics_made_of_several_means_have_intervals_too(metric, options):
    model, table, target = (GaussianNB(), X, y) if metric == "f1" else (Ridge(), XD, yd)
    result = assess(model, table, target, metric=metric, **options)
    low, high = result.interval
    assert low < result.estimate < high
    if not options:
        frame = result.predictions
        parts = [frame] if metric == "f1" else [part for _, part in frame.groupby("split")]
        expected = np.mean([SMOOTH[metric](part["y"], part["prediction"]) for part in parts])
        assert result.estimate == pytest.approx(expected, rel=1e-12)


def test_the_winners_estimate_is_worse_than_its_own():
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(100, 40))
    labels = rng.permutation(np.repeat([0, 1], 50))
    models = {f"column {i}": DecisionTreeClassifier(max_depth=1, max_features=1, random_state=i) for i in range(20)}
    result = assess(models, noise, labels)
    own = result.estimates[result.best].value
    assert own < result.winner.value
    assert result.winner.interval[0] < 0.5 < result.winner.interval[1]


def test_under_another_metric_the_interval_is_made_anew_and_nothing_is_fitted():
    engine = Engine()
    result = assess(GaussianNB(), X, y, design="nested", engine=engine)
    other = result.under("auc")
    assert other.interval_method == "corrected t"
    assert other.interval[0] < other.estimate < other.interval[1]
    assert result.under("accuracy").interval_method == "triangle + τ"
    assert result.metric == "error"
    assert engine.stats.run == 15


REFUSED = {
    "unknown design": ({"design": "boot"}, "'design' parameter must be None or one of"),
    "triangle without folds": ({"cv": ShuffleSplit(5), "interval": "triangle"}, "needs 3 or more folds"),
    "triangle of time": ({"cv": TimeSeriesSplit(4), "interval": "nested_cv"}, "needs 3 or more folds"),
    "triangle of auc": ({"metric": "auc", "interval": "triangle"}, "per-sample metric on independent rows"),
    "triangle of groups": ({"groups": np.arange(120) // 4, "interval": "triangle"}, "with groups"),
    "conservative z of folds": ({"interval": "conservative_z"}, "needs repeated hold-outs"),
    "two folds, three ways": ({"design": "threeway", "cv": 2}, "cv must be 3 or more"),
    "three ways, twice": ({"design": "threeway", "repeats": 2}, "has no repeats"),
    "one bootstrap sample": ({"design": "bootstrap", "repeats": 1}, "at least 2 samples"),
    "bootstrap, pooled": ({"design": ".632", "interval": "pooled"}, "interval of its own"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_together_is_refused_before_anything_is_fitted(case):
    options, message = REFUSED[case]
    engine = Engine()
    with pytest.raises(InvalidInput, match=message):
        assess(GaussianNB(), X, y, engine=engine, **options)
    assert engine.stats.asked == 0


def test_halves_are_disjoint_and_tests_are_as_large_as_those_of_the_whole():
    data = Data(X, y, task="classification")
    metric = get_metric(None, "classification")
    design = make_design(data, metric, cv=10, design="holdout", repeats=3, interval="conservative_z")
    assert len(design.extra) == 7 * 2 * 3
    for place in range(0, len(design.extra), 6):
        halves = [
            set(np.concatenate([np.r_[s.train.index, s.test.index] for s in design.extra[at : at + 3]]))
            for at in (place, place + 3)
        ]
        assert not halves[0] & halves[1]
        assert halves[0] | halves[1] == set(range(120))
    assert {len(split.test) for split in design.extra} == {len(split.test) for split in design.splits}


rng = np.random.default_rng(0)
NUMBERS = rng.normal(size=(80, 2))
TARGET = rng.normal(size=80)
data = Data(NUMBERS, TARGET, task="regression")


def test_a_sample_has_as_many_rows_as_the_table_and_tests_on_those_it_lacks():
    for sample in draw_samples(data, 5):
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
    shuffled = Data(NUMBERS[order], TARGET[order], task="regression")
    for ours, theirs in zip(draw_samples(data, 4), draw_samples(shuffled, 4), strict=True):
        assert np.array_equal(np.sort(order[theirs.train.index]), ours.train.index)


def test_a_sample_does_not_depend_on_how_many_there_are_but_on_the_seed_and_on_the_rows():
    few, many = list(draw_samples(data, 3)), list(draw_samples(data, 6))
    assert [s.train for s in few] == [s.train for s in many[:3]]
    assert len({tuple(s.train.index) for s in many}) == 6
    other_seed = next(draw_samples(data, 1, 7))
    assert other_seed.train == next(draw_samples(data, 1, 7)).train != few[0].train
    other_rows = Data(NUMBERS[:79], TARGET[:79], task="regression")
    assert next(draw_samples(other_rows, 1)).train != few[0].train


def test_groups_are_drawn_whole():
    groups = np.repeat(np.arange(16), 5)
    grouped = Data(NUMBERS, TARGET, task="regression", groups=groups)
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
    with pytest.raises(InvalidInput, match="two classes"):
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
    parts = bias_variance(GaussianNB(), X, y, rounds=25, engine=engine)
    assert (engine.stats.run, engine.stats.shared) == (25, 25)
    # The expected loss is the leave-one-out bootstrap.
    assert np.isclose(parts.expected_loss, assessed.estimate, rtol=1e-12)
