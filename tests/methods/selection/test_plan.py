import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, Race
from truefit._core.data import Data
from truefit._core.errors import FitError, InvalidInput
from truefit._methods.selection.plan import inner_splits, search_plan
from truefit._methods.selection.race_run import NOT_FITTED
from truefit._methods.splitting.splits import make_splits
from truefit._metrics.metric import get_metric

X, y = load_digits(return_X_y=True)
X, y = X[:400], y[:400] % 2
fold_of = np.random.default_rng(0).permutation(400) % 5
PAIRS = [(np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in range(5)]
TREES = [DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2, 3, 4, 6, None)]
FIELD = [DummyClassifier(), *TREES, GaussianNB(), *(KNeighborsClassifier(k) for k in (1, 5, 40, 200))]


def searched(estimators, data, splits, *, race="folds", metric="error", nested=True, refit=False, engine=None):
    metric = get_metric(metric, data.task)
    sign = 1 if metric.greater_is_better else -1

    def choose(scores):
        means = sign * scores[metric.name].mean(axis=1)
        return int(np.argmax(np.where(np.isnan(means), -np.inf, means)))

    plan = search_plan(
        estimators,
        data,
        splits,
        responses=[metric.responses(estimator) for estimator in estimators],
        judge=lambda outcome, rows: {metric.name: metric.value(outcome, data, rows)},
        choose=choose,
        inner=inner_splits(data, splits, 5) if nested else None,
        refit=refit,
        race=Race.of(race),
        metric=metric,
    )
    return (engine or Engine(solvers="plain")).run(plan, data)


def table(X=X, y=y, **options):
    return Data(X, y, task="classification", **options)


def folds_of(data, pairs=PAIRS):
    return make_splits(data, pairs)


def test_who_is_dropped_after_the_first_fold_is_told_by_a_paired_t_of_its_rows():
    data = table()
    found = searched(FIELD, data, folds_of(data), nested=False)
    train, test = PAIRS[0]
    wrong = np.array([each.fit(X[train], y[train]).predict(X[test]) != y[test] for each in FIELD], dtype=float)
    leader = wrong.mean(axis=1).argmin()
    expected = []
    for candidate, losses in enumerate(wrong):
        apart = losses - wrong[leader]
        if apart.any():
            t = apart.mean() / (1.2 * np.sqrt(4 / 5) * apart.std(ddof=1) / np.sqrt(len(test)))
            if stats.t.sf(t, len(test) - 1) < 0.05:
                expected.append(candidate)
    assert [each.candidate for each in found.dropped if each.after == 1] == expected
    assert 3 <= len(expected) < len(FIELD)
    first = found.dropped[0]
    apart = 100 * (wrong[first.candidate] - wrong[leader]).mean()
    assert first.reason.startswith(f"worse than the leader by {apart:.1f} points (one-sided paired t-test")


def test_the_race_chooses_as_the_whole_search_does_from_fewer_fits():
    data = table()
    whole, raced = Engine(solvers="plain"), Engine(solvers="plain")
    expected = searched(FIELD, data, folds_of(data), race=None, engine=whole)
    found = searched(FIELD, data, folds_of(data), engine=raced)
    assert found.best == expected.best
    assert whole.stats.run == 15 * len(FIELD)
    assert raced.stats.run < 0.7 * whole.stats.run
    gone = {each.candidate: each.after for each in found.dropped}
    assert found.best not in gone
    for candidate in range(len(FIELD)):
        seen = gone.get(candidate, 5)
        scores = found.scores["error"][candidate]
        assert np.array_equal(scores[:seen], expected.scores["error"][candidate, :seen])
        assert np.isnan(scores[seen:]).all()
        assert np.isnan(found.fit_seconds[candidate, seen:]).all()
        assert [outcome is NOT_FITTED for outcome in found.outcomes[candidate][:5]] == [False] * seen + [True] * (
            5 - seen
        )
    assert expected.dropped == ()


def test_the_first_round_of_all_races_takes_three_fits_per_candidate():
    data = table()
    splits = folds_of(data)
    engine = Engine(solvers="plain")
    found = searched([DummyClassifier(strategy="uniform"), KNeighborsClassifier(1)], data, splits, engine=engine)
    assert [each.after for each in found.dropped] == [1]
    # All 15 of the leader. Of the other one the first fold and the two pairs that meet in the first round; the fold
    # that rests in it has its first pair in the second.
    assert engine.stats.run == 15 + 4


def test_a_race_asks_its_fits_about_all_rows_that_any_race_may_come_to():
    data = table()
    engine = Engine(solvers="plain")
    searched(FIELD, data, folds_of(data), engine=engine)
    assert engine.stats.run < 15 * len(FIELD)
    searched(FIELD, data, folds_of(data), race=None, engine=engine)
    assert (engine.stats.run, engine.stats.refitted) == (15 * len(FIELD), 0)


def test_rows_of_an_outer_fold_have_no_say_in_the_choice_without_it():
    found = searched(FIELD, table(), folds_of(table()))
    for fold in range(5):
        spoilt_X, spoilt_y = X.copy(), y.copy()
        test = fold_of == fold
        spoilt_X[test] = np.random.default_rng(1).normal(size=(test.sum(), X.shape[1]))
        spoilt_y[test] = np.random.default_rng(2).integers(0, 2, test.sum())
        data = table(spoilt_X, spoilt_y)
        spoilt = searched(FIELD, data, folds_of(data))
        assert spoilt.nested.chosen[fold] == found.nested.chosen[fold]
        inner = slice(5 + 4 * fold, 9 + 4 * fold)
        for candidate in range(len(FIELD)):
            before, after = (each.outcomes[candidate][inner] for each in (found, spoilt))
            assert [one is NOT_FITTED for one in before] == [one is NOT_FITTED for one in after]


def test_the_race_without_a_fold_is_the_race_on_the_other_rows():
    data = table()
    found = searched(FIELD, data, folds_of(data))
    for fold in range(5):
        rest = np.flatnonzero(fold_of != fold)
        # In the first round a and b meet where a + b = 0 (mod 5), in the next where it is 1, and so on.
        order = [(turn - fold) % 5 for turn in range(5) if (turn - fold) % 5 != fold]
        pairs = [(np.flatnonzero(fold_of[rest] != other), np.flatnonzero(fold_of[rest] == other)) for other in order]
        part = table(X[rest], y[rest])
        alone = searched(FIELD, part, make_splits(part, pairs), nested=False)
        assert alone.best == found.nested.chosen[fold]
        places = [5 + 4 * fold + other - (other > fold) for other in order]
        for candidate in range(len(FIELD)):
            inside = [found.outcomes[candidate][place] is NOT_FITTED for place in places]
            assert inside == [outcome is NOT_FITTED for outcome in alone.outcomes[candidate]]


class KnowsFold(ClassifierMixin, BaseEstimator):
    """Right on all rows but a share of those that its fold number marks; what it predicts is written in X."""

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return X[:, self.column].astype(int)


def test_who_is_dropped_in_the_search_can_still_win_without_a_fold():
    """Column 0 is bad on fold 0 alone, so it goes after that fold; without fold 0 it is the best."""
    right = np.random.default_rng(0).integers(0, 2, 400)
    random = np.random.default_rng(1)
    flip = lambda share: random.random(400) < share  # noqa: E731
    bad = np.where(fold_of == 0, flip(0.9), flip(0.02))
    said = np.stack([np.where(bad, 1 - right, right), np.where(flip(0.3), 1 - right, right)], axis=1)
    data = Data(said.astype(float), right, task="classification")
    engine = Engine(solvers="plain")
    found = searched([KnowsFold(0), KnowsFold(1)], data, folds_of(data), engine=engine)
    assert found.best == 1
    assert [(each.candidate, each.after) for each in found.dropped] == [(0, 1)]
    assert found.nested.chosen[0] == 0
    assert found.nested.scores["error"][0] == bad[fold_of == 0].mean()
    assert found.outcomes[0][1] is NOT_FITTED


def test_a_race_is_decided_alike_again_and_by_more_workers(tmp_path):
    data = table()
    with Engine(str(tmp_path / "runs.db"), solvers="plain") as engine:
        first = searched(FIELD, data, folds_of(data), engine=engine)
    with Engine(str(tmp_path / "runs.db"), solvers="plain", workers=2) as engine:
        again = searched(FIELD, data, folds_of(data), engine=engine)
        assert engine.stats.run == 0
    assert again.dropped == first.dropped
    assert again.nested.chosen == first.nested.chosen


def test_equal_candidates_go_on_together():
    data = table()
    trees = [DecisionTreeClassifier(random_state=0), DecisionTreeClassifier(random_state=0, max_depth=100)]
    found = searched([*trees, DummyClassifier()], data, folds_of(data))
    assert [each.candidate for each in found.dropped] == [2]
    assert found.best == 0


def test_a_metric_without_rows_is_raced_by_scores_of_three_folds():
    data = table()
    found = searched(FIELD, data, folds_of(data), metric="auc", nested=False)
    assert {each.after for each in found.dropped} <= {3, 4}
    assert 0 in {each.candidate for each in found.dropped}
    scores = found.scores["auc"]
    leader = np.nanargmax(scores[:, :3].mean(axis=1))
    for each in found.dropped:
        if each.after == 3:
            apart = scores[leader, :3] - scores[each.candidate, :3]
            t = apart.mean() / np.sqrt(2 / 5 * (1 / 3 + 1 / 4) * apart.var(ddof=1))
            assert stats.t.sf(t, 2) < 0.05


@pytest.mark.parametrize(
    "options", [{"groups": np.arange(400) // 2}, {"weight": np.random.default_rng(0).uniform(1, 2, 400)}]
)
def test_rows_that_do_not_count_alike_are_not_compared_one_by_one(options):
    data = table(**options)
    splits = make_splits(data, "kfold", k=5)
    found = searched([DummyClassifier(), GaussianNB(), TREES[-1]], data, splits, nested=False)
    assert found.dropped
    assert {each.after for each in found.dropped} <= {3, 4}


def test_metrics_of_several_means_are_raced_by_rows():
    random = np.random.default_rng(0)
    table_of_numbers = random.normal(size=(300, 3))
    target = table_of_numbers @ [1.0, 2.0, 0.5] + random.normal(size=300)
    data = Data(table_of_numbers, target, task="regression")
    splits = make_splits(data, "kfold", k=5)
    for metric in ("r2", "rmse", "mse"):
        found = searched([Ridge(1e6), Ridge(1.0)], data, splits, metric=metric)
        assert [(each.candidate, each.after) for each in found.dropped] == [(0, 1)]


def test_repeats_and_splits_that_overlap():
    data = table()
    repeated = make_splits(data, RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0))
    found = searched(FIELD[:-1], data, repeated)
    assert len(found.nested.chosen) == 6
    assert min(each.after for each in found.dropped) == 1
    shuffled = make_splits(data, ShuffleSplit(4, random_state=0))
    overlapping = searched([DummyClassifier(), GaussianNB(), TREES[-1]], data, shuffled)
    assert {each.after for each in overlapping.dropped} == {3}


def test_the_first_folds_are_for_all():
    data = table()
    found = searched(FIELD, data, folds_of(data), race=Race(first=3))
    assert min(each.after for each in found.dropped) == 3


class FailsAt(DummyClassifier):
    """Cannot be fitted on training sets of some sizes."""

    def __init__(self, sizes=()):
        super().__init__()
        self.sizes = sizes

    def fit(self, X, y):
        if len(X) in self.sizes:
            raise ValueError("no such size")
        return super().fit(X, y)


def test_a_fit_that_fails_ends_the_race_for_its_candidate():
    data = table()
    engine = Engine(solvers="plain", on_error="record")
    found = searched([FailsAt((320,)), GaussianNB()], data, folds_of(data), engine=engine)
    assert [(each.candidate, each.after, each.reason) for each in found.dropped] == [
        (0, 1, "a fit failed, or has no score")
    ]
    assert found.best == 1
    assert len(found.failures) == 1
    with pytest.raises(FitError, match="All the 10 fits failed"):
        searched([FailsAt((320, 240)), FailsAt((240, 320))], data, folds_of(data), engine=engine)


def test_where_only_the_assessment_fails_the_race_goes_on():
    data = table()
    found = searched([FailsAt((240,)), GaussianNB()], data, folds_of(data))
    assert found.nested is None
    assert "no such size" in found.without_nesting
    assert found.best == 1
    assert [each.candidate for each in found.dropped] == [0]


def test_a_race_needs_a_metric():
    data = table()
    plan = search_plan(FIELD, data, folds_of(data), responses=[("predict",)] * 12, judge=None, choose=None, race=Race())
    with pytest.raises(InvalidInput, match="needs a metric"):
        Engine().run(plan, data)


def test_over_sizes_the_hopeless_go_before_the_first_fold():
    data = table()
    field = FIELD[:-1]  # of 160 rows 200 neighbours cannot be asked
    found = searched(field, data, folds_of(data), race="sizes")
    early = [each for each in found.dropped if each.after == 0]
    assert 0 in [each.candidate for each in early]  # the dummy does not learn
    assert "learning curve" in early[0].reason
    assert np.isnan(found.scores["error"][0]).all()
    assert found.best == searched(field, data, folds_of(data)).best
    assert found.nested is not None


class Steps(ClassifierMixin, BaseEstimator):
    """Wrong on as many of its test rows as is said for the size that it was trained on."""

    def __init__(self, errors=()):
        self.errors = errors

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.share_ = dict(self.errors)[len(X)]
        return self

    def predict(self, X):
        right, order = X[:, 0].astype(int), X[:, 1]
        return np.where(order < self.share_, 1 - right, right)


@pytest.mark.parametrize(("half", "gone"), [(0.5, True), (0.41, False), (0.45, True), (0.43, False)])
def test_the_optimistic_end_of_a_curve_is_its_last_slope_drawn_on(half, gone):
    """From a quarter to a half it falls by 0.5 - half; drawn on to the whole by twice that; the leader has 0.3."""
    random = np.random.default_rng(0)
    target = random.integers(0, 2, 4000)
    data = Data(np.stack([target, random.random(4000)], axis=1), target, task="classification")
    splits = make_splits(data, "kfold", k=5)
    flat = dict.fromkeys((400, 800, 1600, 3200), 0.3)
    steep = {400: 0.6, 800: 0.5, 1600: half, 3200: half}
    found = searched(
        [Steps(tuple(flat.items())), Steps(tuple(steep.items()))], data, splits, race="sizes", nested=False
    )
    assert [each.candidate for each in found.dropped if each.after == 0] == [1] * gone


def test_what_fails_on_few_rows_is_given_all_of_them():
    data = table()
    field = [KNeighborsClassifier(100), FailsAt((40, 80, 160, 30, 60, 120)), GaussianNB()]
    found = searched(field, data, folds_of(data), race="sizes")
    assert found.nested is not None
    assert min(each.after for each in found.dropped) == 1
    assert found.failures == ()
    # Where only the smallest fails the next two can still tell.
    smallest = [FailsAt((40, 30)), KNeighborsClassifier(5)]
    assert [each.after for each in searched(smallest, data, folds_of(data), race="sizes").dropped] == [0]
    engine = Engine(solvers="plain", on_error="record")
    recorded = searched([*field, DummyClassifier()], data, folds_of(data), race="sizes", engine=engine)
    assert {each.candidate: each.after for each in recorded.dropped}[3] == 0
    assert {each.candidate: each.after for each in recorded.dropped}[1] == 1
    assert recorded.best == 0
    assert recorded.failures == ()
