import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from truefit._core.data import Data
from truefit._core.errors import BudgetSpent, FitError, Interrupted
from truefit._core.protocols import Ask, FitTask, Keep
from truefit._core.rows import Rows
from truefit._engine.engine import BaseEngine
from truefit._executors.serial import SerialExecutor
from truefit._solvers.plain import PlainSolver
from truefit._stores.memory import MemoryStore
from truefit._stores.sqlite import SqliteStore

rng = np.random.default_rng(2)
X = rng.normal(size=(60, 3))
y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
data = Data(X, y, task="classification")
NB, TEST = GaussianNB(), Rows.of(range(20))
TRAIN = Rows.without(60, range(20))


class Fails(ClassifierMixin, BaseEstimator):
    def __init__(self, how="raise"):
        self.how = how

    def fit(self, X, y):
        if self.how == "raise":
            raise RuntimeError("no luck")
        if self.how == "interrupt":
            raise KeyboardInterrupt
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        if self.how == "short":
            return np.zeros(len(X) - 1, dtype=int)
        if self.how == "nan":
            return np.full(len(X), np.nan)
        return np.zeros(len(X), dtype=int)


def loop(store=None, **options):
    return BaseEngine(
        store=store or MemoryStore(),
        executor=SerialExecutor(),
        solvers=[PlainSolver()],
        scratch=MemoryStore,
        **options,
    )


def plan_of(*rounds):
    answers = []
    for tasks in rounds:
        outcomes = yield list(tasks)
        answers += [outcomes]
    return answers


def ask(estimator=NB, train=TRAIN, rows=TEST, response="predict", **options):
    return FitTask(estimator, train, (Ask(rows, response),), **options)


def counts(engine):
    stats = engine.stats
    return stats.asked, stats.run, stats.shared, stats.stored


def test_a_fit_asked_for_twice_is_run_once_and_answers_both():
    engine = loop()
    ((first, second),) = engine.run(plan_of([ask(), ask(GaussianNB(), rows=Rows.of([50]))]), data)
    expected = GaussianNB().fit(X[20:], y[20:])
    assert np.array_equal(first.answer(data, TEST), expected.predict(X[:20]))
    assert second.answer(data, Rows.of([50])) == expected.predict(X[50:51])
    assert counts(engine) == (2, 1, 1, 0)


def test_several_plans_share_and_each_gets_its_own_answers():
    engine = loop()
    results = engine.run_all([(plan_of([ask()]), data), (plan_of([ask(response="predict_proba")], [ask()]), data)])
    assert engine.stats.run == 1
    proba = results[1][0][0].answer(data, TEST, "predict_proba")
    assert np.allclose(proba, GaussianNB().fit(X[20:], y[20:]).predict_proba(X[:20]))


def test_calls_on_one_engine_share(tmp_path):
    engine = loop()
    engine.run(plan_of([ask()]), data)
    engine.run(plan_of([ask()]), Data(X, y, task="classification"))
    assert counts(engine) == (2, 1, 1, 0)


def test_another_engine_finds_what_is_stored_and_replays_it_bit_for_bit(tmp_path):
    path = tmp_path / "runs.db"
    first, second = loop(SqliteStore(path)), loop(SqliteStore(path))
    ((fresh,),) = first.run(plan_of([ask(response="predict_proba")]), data)
    ((stored,),) = second.run(plan_of([ask(response="predict_proba")]), data)
    assert counts(second) == (1, 0, 0, 1)
    fresh_values, stored_values = (o.answer(data, TEST, "predict_proba") for o in (fresh, stored))
    assert fresh_values.tobytes() == stored_values.tobytes()
    first._store.close()
    second._store.close()


def test_rows_appended_to_the_table_leave_earlier_fits_found_again():
    engine = loop()
    engine.run(plan_of([ask()]), data)
    grown = Data(np.vstack([X, X[:5] + 1]), np.r_[y, y[:5]], task="classification")
    ((outcome,),) = engine.run(plan_of([ask(train=Rows.of(range(20, 60)))]), grown)
    assert counts(engine) == (2, 1, 1, 0)
    assert np.array_equal(outcome.answer(grown, TEST), GaussianNB().fit(X[20:], y[20:]).predict(X[:20]))


def test_a_stored_fit_that_lacks_an_answer_is_answered_by_a_model_at_hand_or_refitted(tmp_path):
    path = tmp_path / "runs.db"
    first = loop(SqliteStore(path))
    first.run(plan_of([ask()]), data)
    first.run(plan_of([ask(response="predict_proba")]), data)
    assert (first.stats.run, first.stats.shared, first.stats.refitted) == (1, 1, 0)
    second = loop(SqliteStore(path))
    ((outcome,),) = second.run(plan_of([ask(rows=Rows.of([30, 31]))]), data)
    assert (second.stats.run, second.stats.stored, second.stats.refitted) == (0, 0, 1)
    third = loop(SqliteStore(path))
    third.run(plan_of([ask(rows=Rows.of([3, 30]))]), data)  # spread over two stored answers
    assert (third.stats.run, third.stats.stored, third.stats.refitted) == (0, 1, 0)
    for engine in (first, second, third):
        engine._store.close()
    assert len(outcome.key) == 32


def accuracy(outcome):
    return float(np.mean(outcome.answer(data, TEST) != y[:20]))


def candidates(group="best", metric=accuracy):
    return [ask(KNeighborsClassifier(k), keep=Keep(group, metric)) for k in (39, 1, 3, 5)]


def test_only_the_leader_of_a_group_keeps_its_model():
    (outcomes,) = loop().run(plan_of(candidates()), data)
    losses = [accuracy(outcome) for outcome in outcomes]
    best = int(np.argmin(losses))
    assert [outcome.model is not None for outcome in outcomes] == [i == best for i in range(4)]
    assert np.array_equal(outcomes[best].model.predict(X[:20]), outcomes[best].answer(data, TEST))


def test_of_equal_models_the_first_asked_for_leads():
    (outcomes,) = loop().run(plan_of(candidates(metric=lambda outcome: 1.0)), data)
    assert [outcome.model is not None for outcome in outcomes] == [True, False, False, False]


def test_a_leader_found_in_the_store_is_refitted_once(tmp_path):
    path = tmp_path / "runs.db"
    first, second = loop(SqliteStore(path)), loop(SqliteStore(path))
    first.run(plan_of(candidates()), data)
    (outcomes,) = second.run(plan_of(candidates()), data)
    assert sum(outcome.model is not None for outcome in outcomes) == 1
    assert (second.stats.run, second.stats.stored, second.stats.refitted) == (0, 4, 1)
    first._store.close()
    second._store.close()


@pytest.mark.parametrize(("how", "kind"), [("raise", "raised"), ("short", "wrong answer"), ("nan", "wrong answer")])
def test_a_failed_fit_is_recorded_or_raised(how, kind):
    recording = loop(on_error="record")
    ((good, bad),) = recording.run(plan_of([ask(), ask(Fails(how))]), data)
    assert good.error is None
    assert bad.error is not None
    assert bad.error.kind == kind
    assert recording.stats.failed == 1
    with pytest.raises(FitError, match="A fit failed"):
        loop().run(plan_of([ask(), ask(Fails(how))]), data)


def test_failures_are_not_stored_so_they_are_tried_again():
    engine = loop(on_error="record")
    for _ in range(2):
        engine.run(plan_of([ask(Fails())]), data)
    assert (engine.stats.run, engine.stats.failed, engine.stats.shared) == (2, 2, 0)


def test_one_plan_that_fails_leaves_the_others_alone():
    good, bad = loop().run_all([(plan_of([ask()], [ask(LogisticRegression())]), data), (plan_of([ask(Fails())]), data)])
    assert len(good) == 2
    assert isinstance(bad, FitError)


def test_a_plan_may_catch_the_failure_and_go_on():
    def forgiving():
        try:
            yield [ask(Fails())]
        except FitError:
            outcomes = yield [ask()]
        return outcomes[0]

    assert loop().run(forgiving(), data).error is None


def test_a_mistake_in_a_plan_is_raised_as_it_is():
    def broken():
        yield [ask()]
        raise ZeroDivisionError("in the plan")

    with pytest.raises(ZeroDivisionError):
        loop().run(broken(), data)


def test_a_spent_budget_gives_the_plan_what_is_ready():
    def careful():
        try:
            yield [ask(), ask(LogisticRegression())]
        except BudgetSpent as spent:
            return spent.outcomes
        return None

    assert loop().run(careful(), data, seconds=-1) == (None, None)
    with pytest.raises(BudgetSpent):
        loop().run(plan_of([ask()]), data, seconds=-1)
    assert loop().run(careful(), data, seconds=3600) is None


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path):
    store = SqliteStore(tmp_path / "runs.db")
    engine = loop(store)
    closed = []

    def watched():
        try:
            yield [ask(), ask(Fails("interrupt"))]
        finally:
            closed.append(True)

    with pytest.raises(Interrupted, match=r"runs\.db \(1\)\. Rerun to resume\."):
        engine.run(watched(), data)
    assert closed
    again = loop(store)
    again.run(plan_of([ask()]), data)
    assert again.stats.stored == 1
    store.close()


class Odd:
    """Has no content to be known by, but can be cloned."""

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        raise TypeError("not to be taken apart")


def test_what_cannot_be_keyed_is_fitted_each_time_and_still_answered():
    estimator = make_pipeline(FunctionTransformer(lambda X, odd: X, kw_args={"odd": Odd()}), GaussianNB())
    store = MemoryStore()
    engine = loop(store)
    with pytest.warns(UserWarning, match="never shared or stored"):
        ((one, other),) = engine.run(plan_of([ask(estimator), ask(estimator)]), data)
    assert engine.stats.run == 2
    assert np.array_equal(one.answer(data, TEST), GaussianNB().fit(X[20:], y[20:]).predict(X[:20]))
    assert store.get([one.key, other.key]) == {}


def test_progress_is_told_and_ends_complete():
    events = []
    loop(listener=events.append).run(plan_of([ask(), ask()], [ask(LogisticRegression())]), data)
    assert (events[-1].done, events[-1].total, events[-1].run, events[-1].shared) == (3, 3, 2, 1)


def test_memory_of_outcomes_is_where_they_are_stored():
    ((outcome,),) = loop().run(plan_of([ask()]), data)
    assert not isinstance(outcome.answers, tuple)
    assert len(outcome.answers) == 1
    assert outcome.answers[0].response == "predict"
