import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge
from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier

from truefit import Engine, HonestSearchCV
from truefit._core.data import Data
from truefit._core.rows import Rows
from truefit._methods.selection.plan import inner_splits, search_plan
from truefit._methods.splitting.splits import make_splits
from truefit._metrics.metric import get_metric
from truefit._stats.intervals import pooled

X, y = load_digits(return_X_y=True)
X, y = X[:300], y[:300]
GRID = {"n_neighbors": [1, 3, 9, 30]}


def nested_of(design, race=None):
    data = Data(X, y, task="classification")
    metric = get_metric("error", "classification")
    splits = make_splits(data, design)
    models = [KNeighborsClassifier(k) for k in GRID["n_neighbors"]]
    plan = search_plan(
        models,
        data,
        splits,
        responses=[metric.responses(each) for each in models],
        judge=lambda outcome, rows: {"error": metric.value(outcome, data, rows)},
        choose=lambda scores: int(np.argmin(scores["error"].mean(axis=1))),
        inner=inner_splits(data, splits, design),
        refit=False,
    )
    return splits, models, Engine().run(plan, data).nested


@pytest.mark.parametrize("repeats", [1, 2])
def test_the_choice_is_scored_on_each_test_set_by_models_without_one_fold_more(repeats):
    splits, models, nested = nested_of(RepeatedStratifiedKFold(n_splits=4, n_repeats=repeats, random_state=0))
    for a, split in enumerate(splits):
        others = [b for b in range(len(splits)) if b // 4 == a // 4 and b != a]
        errors = []
        for b in others:
            train = Rows.without(300, np.concatenate([split.test.index, splits[b].test.index])).index
            model = models[nested.chosen[a]].fit(X[train], y[train])
            errors.append(np.mean(model.predict(X[split.test.index]) != y[split.test.index]))
        assert nested.fewer["error"][a] == pytest.approx(np.mean(errors))


def test_without_the_triangle_nothing_is_known_of_fewer_rows():
    assert nested_of(ShuffleSplit(4, random_state=0))[2].fewer == {}


def test_the_better_end_reaches_to_the_model_of_all_rows():
    # Whatever the number of neighbours, more rows than these few bring much.
    few, labels = X[:100, ::2], y[:100]
    found = HonestSearchCV(KNeighborsClassifier(), GRID, cv=5, random_state=0).fit(few, labels).assessment_
    assert found.summary().count("extended for training on all rows") == 1
    assert found.reach > 0
    right = round(100 * found.estimate)
    low, high = pooled(np.repeat([0, 1], [right, 100 - right]), factor=1.3, zero_one=True)
    assert found.interval[0] == pytest.approx(1 - high, abs=1e-9)
    assert found.interval[1] == pytest.approx(1 - low + found.reach, abs=1e-9)
    losses = HonestSearchCV(KNeighborsClassifier(), GRID, cv=5, random_state=0, scoring="neg_log_loss")
    loss = losses.fit(X, y).assessment_
    assert loss.interval[0] < loss.estimate < loss.interval[1] <= 0


def test_an_end_reaches_no_further_than_the_rows_of_one_fold_can_bring():
    # Least squares with about as many columns as rows: its curve falls from a peak, as no law has it.
    rng = np.random.default_rng(0)
    peaked = rng.normal(size=(60, 35))
    target = peaked @ rng.normal(size=35) + rng.normal(size=60)
    for scoring, best in (("r2", 1.0), ("neg_mean_squared_error", 0.0)):
        search = HonestSearchCV(Ridge(), {"alpha": [1e-6, 1e-5]}, cv=5, scoring=scoring, random_state=0)
        found = search.fit(peaked, target).assessment_
        assert found.reach == pytest.approx((best - found.estimate) / 5)
        assert found.estimate + found.reach < found.interval[1] <= best


def test_no_end_reaches_further_where_more_rows_bring_nothing():
    rng = np.random.default_rng(0)
    noise, coin = rng.normal(size=(2_000, 1)), rng.integers(0, 2, 2_000)
    gains = []
    for seed in range(8):
        search = HonestSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 2]}, cv=5, random_state=seed)
        found = search.fit(noise, coin).assessment_
        wrong = np.repeat([0, 1], [round(2_000 * found.estimate), 2_000 - round(2_000 * found.estimate)])
        gains.append(found.interval[1] - (1 - pooled(wrong, factor=1.3, zero_one=True)[0]))
    # What is seen there is chance, small beside half of an interval's width, and no gain on one side or the other.
    assert np.median(gains) < 0.25 * 1.3 * stats.norm.ppf(0.975) * 0.5 / np.sqrt(2_000)
    assert min(gains) == pytest.approx(0, abs=1e-6)
