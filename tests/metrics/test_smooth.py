import numpy as np
import pytest

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome, Predictions
from truefit._core.rows import Rows
from truefit._metrics.metric import get_metric
from truefit._stats.delta import Estimated, delta_interval

RATES = ["recall", "tpr", "sensitivity", "specificity", "tnr", "fpr", "precision", "f1", "jaccard"]
AVERAGES = ["balanced_accuracy", "recall_macro", "precision_macro", "f1_macro", "jaccard_macro"]
NUMBERS = ["rmse", "rse", "r2", "rss", "neg_root_mean_squared_error"]


def delta(parts: object, *options: object, factor: float = 1.2, **more: object) -> Estimated:
    return delta_interval([parts], *options, factor=factor, **more)


def classified(classes, n=120, seed=0, labels=None):
    random = np.random.default_rng(seed)
    y = random.integers(classes, size=n)
    predicted = np.where(random.random(n) < 0.7, y, random.integers(classes, size=n))
    labels = np.arange(classes) if labels is None else np.asarray(labels)
    data = Data(np.arange(n)[:, None], labels[y], task="classification")
    answer = Predictions("predict", data.tokens, np.searchsorted(data.classes, labels[predicted]), coded=True)
    return data, Outcome("fit", [answer], classes=data.classes)


def regressed(n=120, outputs=None, seed=0, far=0.0):
    random = np.random.default_rng(seed)
    shape = n if outputs is None else (n, outputs)
    y = far + random.normal(size=shape)
    data = Data(np.arange(n)[:, None], y, task="regression")
    return data, Outcome("fit", [Predictions("predict", data.tokens, y + 0.5 * random.normal(size=shape))])


def cases():
    two, text = classified(2), classified(2, labels=["no", "yes"])
    several, one_output, outputs = classified(4), regressed(), regressed(outputs=3)
    for name in [*RATES, *AVERAGES]:
        yield pytest.param(name, None, *two, id=f"{name}-two")
    for name in RATES:
        yield pytest.param(name, "yes", *text, id=f"{name}-text")
    for name in AVERAGES:
        yield pytest.param(name, None, *several, id=f"{name}-several")
    for name in NUMBERS:
        yield pytest.param(name, None, *one_output, id=f"{name}-one")
        yield pytest.param(name, None, *outputs, id=f"{name}-outputs")


@pytest.mark.parametrize(("name", "pos_label", "data", "outcome"), list(cases()))
def test_the_function_of_means_is_the_metric_and_its_slopes_are_its_slopes(name, pos_label, data, outcome):
    metric, rows = get_metric(name, data.task, pos_label=pos_label), Rows.all(data.n)
    parts = metric.smooth.rows(outcome, data, rows)
    assert parts.shape[0] == data.n
    means = parts.mean(axis=0)
    assert metric.smooth.value(means) == pytest.approx(metric.value(outcome, data, rows), rel=1e-12)
    slopes = metric.smooth.slopes(means)
    assert slopes.shape == means.shape
    scale = np.maximum(np.abs(means), 0.1)
    for place in range(len(means)):
        step = np.zeros_like(means)
        step[place] = 1e-6 * scale[place]
        difference = metric.smooth.value(means + step) - metric.smooth.value(means - step)
        assert slopes[place] == pytest.approx(difference / (2 * step[place]), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", [*RATES, *AVERAGES])
def test_the_shares_make_up_the_value(name):
    data, outcome = classified(2, seed=1)
    smooth = get_metric(name, "classification").smooth
    means = smooth.rows(outcome, data, Rows.all(data.n)).mean(axis=0)
    shares, among = smooth.shares(means)
    assert shares.mean() == pytest.approx(smooth.value(means))
    assert ((among > 0) & (among <= 1)).all()


@pytest.mark.parametrize("name", [*RATES, *AVERAGES])
def test_a_perfect_fit_has_an_interval_and_its_end_is_the_best(name):
    data, _ = classified(2, seed=2)
    outcome = Outcome("fit", [Predictions("predict", data.tokens, data.codes, coded=True)], classes=data.classes)
    metric = get_metric(name, "classification")
    smooth = metric.smooth
    found = delta(
        smooth.rows(outcome, data, Rows.all(data.n)), smooth.value, smooth.slopes, smooth.scale, shares=smooth.shares
    )
    low, high = found.interval
    best = 1.0 if metric.greater_is_better else 0.0
    assert found.estimate == best
    assert (high if metric.greater_is_better else low) == best
    assert 0.01 < high - low < 0.15


def test_a_perfect_f1_has_wilsons_end_of_the_share_it_is_a_function_of():
    y = np.repeat([1, 0], [20, 60])
    data = Data(np.arange(80)[:, None], y, task="classification")
    outcome = Outcome("fit", [Predictions("predict", data.tokens, y, coded=True)], classes=data.classes)
    smooth = get_metric("f1", "classification").smooth
    parts = smooth.rows(outcome, data, Rows.all(80))
    low, _ = delta(parts, smooth.value, smooth.slopes, smooth.scale, factor=1, shares=smooth.shares).interval
    z2 = 1.959963984540054**2
    jaccard = 20 / (20 + z2)  # Wilson's low end for 20 of 20
    assert low == pytest.approx(2 * jaccard / (1 + jaccard))


def test_a_model_that_never_says_yes_has_no_interval_for_its_precision():
    data, _ = classified(2)
    answer = Predictions("predict", data.tokens, np.zeros(data.n, dtype=int), coded=True)
    never = Outcome("fit", [answer], classes=data.classes)

    def found(name):
        smooth = get_metric(name, "classification").smooth
        parts = smooth.rows(never, data, Rows.all(data.n))
        return delta(parts, smooth.value, smooth.slopes, smooth.scale, shares=smooth.shares)

    assert found("precision") == (0.0, None, "none of the rows counts towards it")
    low, high = found("recall").interval
    assert (low, found("recall").estimate) == (0, 0)
    assert 0 < high < 0.1
    assert found("f1").interval[0] == 0


def test_a_class_that_the_test_rows_lack_is_left_out_of_the_mean():
    data, outcome = classified(3, labels=["a", "b", "c"])
    without = Rows.of(np.flatnonzero(data.y != "c"))
    for name in AVERAGES:
        metric = get_metric(name, "classification")
        means = metric.smooth.rows(outcome, data, without).mean(axis=0)
        assert metric.smooth.value(means) == pytest.approx(metric.value(outcome, data, without), rel=1e-12)
        assert np.isfinite(metric.smooth.slopes(means)).all()


@pytest.mark.parametrize("name", [*AVERAGES, "rmse", "r2", "rse"])
def test_the_means_of_rows_are_those_of_their_parts(name):
    data, outcome = classified(4, labels=["a", "b", "c", "d"]) if name in AVERAGES else regressed(outputs=2)
    smooth, rows = get_metric(name, data.task).smooth, Rows.of(range(7, 90))
    parts, predicted = smooth.rows(outcome, data, rows), outcome.answer(data, rows)
    assert np.allclose(smooth.means(data, rows.index, predicted), parts.mean(axis=0), rtol=1e-12)
    data.weight = np.random.default_rng(0).uniform(size=data.n)
    weighted = np.average(parts, axis=0, weights=data.weight[rows.index])
    assert np.allclose(smooth.means(data, rows.index, predicted), weighted, rtol=1e-12)


def test_r2_keeps_its_digits_far_from_zero():
    near, far = regressed(), regressed(far=1e7)
    smooth = get_metric("r2", "regression").smooth
    values = [smooth.value(smooth.rows(outcome, data, Rows.all(120)).mean(axis=0)) for data, outcome in (near, far)]
    assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_r2_and_rse_have_mirrored_intervals():
    data, outcome = regressed()
    found = []
    for name in ("r2", "rse"):
        smooth = get_metric(name, "regression").smooth
        found.append(delta(smooth.rows(outcome, data, Rows.all(120)), smooth.value, smooth.slopes, smooth.scale))
    (r2, (low, high), _), (rse, (least, most), _) = found
    assert np.allclose([1 - r2, 1 - high, 1 - low], [rse, least, most])
    assert high < 1


def test_a_constant_target_has_no_r2_interval():
    data = Data(np.arange(10)[:, None], np.full(10, 0.1), task="regression")
    outcome = Outcome("fit", [Predictions("predict", data.tokens, np.linspace(0, 1, 10))])
    metric = get_metric("r2", "regression")
    parts = metric.smooth.rows(outcome, data, Rows.all(10))
    found = delta(parts, metric.smooth.value, metric.smooth.slopes, metric.smooth.scale)
    assert found.estimate == metric.value(outcome, data, Rows.all(10)) == 0
    assert found.interval is None


@pytest.mark.parametrize("name", ["rmse", "r2"])
def test_intervals_of_numbers_cover(name):
    # y = f + e with variances 4 and 1: RMSE 1, R² 0.8.
    random, hits = np.random.default_rng(3), 0
    smooth, truth = get_metric(name, "regression").smooth, {"rmse": 1.0, "r2": 0.8}[name]
    table = Data(np.zeros((2, 1)), [0.0, 1.0], task="regression")
    for _ in range(500):
        signal = 2 * random.normal(size=100)
        parts = smooth.parts(signal + random.normal(size=100), signal, table)
        low, high = delta(parts, smooth.value, smooth.slopes, smooth.scale, factor=1).interval
        hits += low <= truth <= high
    assert 0.93 <= hits / 500 <= 0.99


def test_rates_of_a_positive_class_are_for_two_classes():
    data, outcome = classified(3)
    with pytest.raises(InvalidInput, match="f1_macro"):
        get_metric("f1", "classification").smooth.rows(outcome, data, Rows.all(data.n))
