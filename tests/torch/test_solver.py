import numpy as np
import pytest
from tests.torch.networks_for_tests import Exploding, Looking, Scaled, TwoHeads

from truefit import AgghooClassifier, AgghooRegressor, Engine, assess, cross_test, learning_curve, perturb
from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows
from truefit._core.stages import AtStage
from truefit._solvers.plain import PlainSolver
from truefit._solvers.registry import EstimatorSolver
from truefit.testing.solver_contract import SolverCase, SolverContract
from truefit.torch import MLP, ConvNet, TorchClassifier, TorchRegressor
from truefit.torch import stack as stacking
from truefit.torch.solver import CPU_MEMBERS, StackedNetworksSolver

RNG = np.random.default_rng(0)
IMAGES = RNG.normal(size=(61, 3, 8, 8))
LABELS = (IMAGES.mean(axis=(1, 2, 3)) + 0.02 * RNG.normal(size=61) > 0).astype(int)
TABLE = RNG.normal(size=(62, 5))
NUMBERS = TABLE @ np.arange(5.0) / 5 + 0.1 * RNG.normal(size=62)

ARCHITECTURES = {
    "mlp": (MLP, {"hidden": (8,)}),
    "cnn": (ConvNet, {"channels": (4, 8)}),
    "group norm": (ConvNet, {"channels": (4, 8), "norm": "group"}),
    "batch norm": (ConvNet, {"channels": (4, 8), "norm": "batch"}),
}


def classifier(module=MLP, params=None, **more):
    options = {"max_epochs": 4, "batch_size": 16, "lr": 0.01, "dtype": "float64", "device": "cpu"} | more
    return TorchClassifier(module, module_params={"hidden": (8,)} if params is None else params, **options)


def regressor(module=MLP, params=None, **more):
    options = {"max_epochs": 4, "batch_size": 16, "lr": 0.01, "dtype": "float64", "device": "cpu"} | more
    return TorchRegressor(module, module_params={"hidden": (8,)} if params is None else params, **options)


def one_by_one():
    """An engine that knows every solver but the one that stacks."""
    engine = Engine()
    engine._solvers = tuple(solver for solver in engine._solvers if not isinstance(solver, EstimatorSolver))
    return engine


class TestContract(SolverContract):
    def make_solver(self):
        return StackedNetworksSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        both = ("predict", "predict_proba")
        three = np.arange(62) // 3 % 3
        weights = RNG.uniform(0.5, 2, 62)
        classes = {"task": "classification", "responses": both}
        return [
            SolverCase("mlp", [classifier()], IMAGES, LABELS, **classes),
            SolverCase("three classes", [classifier()], TABLE, three, **classes),
            SolverCase("names", [classifier()], TABLE, np.array(["a", "b", "c"])[three], **classes),
            SolverCase("cnn", [classifier(ConvNet, {"channels": (4, 8)})], IMAGES, LABELS, **classes),
            SolverCase("regression", [regressor()], TABLE, NUMBERS),
            SolverCase("unequal folds", [regressor(batch_size=20)], TABLE[:61], NUMBERS[:61], folds=4),
            SolverCase("weights", [regressor()], TABLE, NUMBERS, weight=weights),
            SolverCase("other labels", [classifier()], TABLE, three, labels=(three + 1) % 3, **classes),
            SolverCase("momentum", [regressor(optimizer="sgd", optimizer_params={"momentum": 0.9})], TABLE, NUMBERS),
            SolverCase("decay", [regressor(optimizer="adamw", weight_decay=0.1, schedule="cosine")], TABLE, NUMBERS),
            SolverCase("rmsprop", [regressor(optimizer="rmsprop")], TABLE, NUMBERS),
            SolverCase("all rows at once", [regressor(batch_size=None)], TABLE, NUMBERS),
            SolverCase("fixed weights", [regressor(Scaled, {})], TABLE, NUMBERS),
            SolverCase("two outputs", [classifier(TwoHeads, {})], TABLE, three > 0, **classes),
            SolverCase("huber", [regressor(loss="huber")], TABLE, NUMBERS),
        ]

    def not_for_it(self):
        from sklearn.linear_model import Ridge
        from torch.optim import LBFGS

        large = RNG.normal(size=(30, 3, 40, 40))
        return [
            SolverCase("ridge", [Ridge()], TABLE, NUMBERS),
            SolverCase("an optimizer of whole gradients", [regressor(optimizer=LBFGS)], TABLE, NUMBERS),
            SolverCase("large convolutions on a CPU", [regressor(ConvNet, {})], large, NUMBERS[:30]),
            SolverCase("many weights on a CPU", [regressor(params={"hidden": (500, 500)})], TABLE, NUMBERS),
            SolverCase("wrong parameters", [regressor(lr=-1.0)], TABLE, NUMBERS),
        ]

    def failing(self):
        spoiled = TABLE.copy()
        spoiled[0, 0] = np.inf
        return [SolverCase("infinite X", [regressor()], spoiled, NUMBERS)]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_cross_test_is_that_of_one_by_one_training(name):
    module, params = ARCHITECTURES[name]
    network = classifier(module, params, max_epochs=5)
    agghoo = AgghooClassifier(network, scoring="neg_log_loss")
    together = cross_test(agghoo, IMAGES, LABELS, cv=3, engine=Engine())
    alone = cross_test(agghoo, IMAGES, LABELS, cv=3, engine=one_by_one())
    assert together.chosen == alone.chosen
    columns = ["p(0)", "p(1)"]
    np.testing.assert_allclose(together.predictions[columns], alone.predictions[columns], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_kept_models_are_those_of_the_selected_epochs(name):
    module, params = ARCHITECTURES[name]
    network = classifier(module, params, max_epochs=5)
    engine, plain = Engine(), one_by_one()
    together = AgghooClassifier(network, cv=3, scoring="neg_log_loss", engine=engine).fit(IMAGES, LABELS)
    alone = AgghooClassifier(network, cv=3, scoring="neg_log_loss", engine=plain).fit(IMAGES, LABELS)
    assert engine.stats.run == plain.stats.run == 3
    assert engine.stats.refitted == 0
    assert list(together.selection_["stage"]) == list(alone.selection_["stage"])
    np.testing.assert_allclose(together.validation_scores_, alone.validation_scores_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(together.predict_proba(IMAGES), alone.predict_proba(IMAGES), rtol=0, atol=1e-9)
    for mine, theirs in zip(together.members_, alone.members_, strict=True):
        assert mine.n_features_in_ == theirs.n_features_in_
        np.testing.assert_allclose(mine.loss_curve_, theirs.loss_curve_, atol=1e-9)


def test_the_methods_use_it_as_they_are():
    engine = Engine()
    assess(regressor(), TABLE, NUMBERS, engine=engine)
    perturb(classifier(), TABLE, NUMBERS > 0, repeats=2, engine=engine)
    assert engine.stats.failed == 0
    data = Data(TABLE, NUMBERS, task="regression")
    fits = [Keys(data).fit(FitTask(regressor(), Rows.without(62, [i]), (Ask(Rows.of([i])),))) for i in range(3)]
    [job] = EstimatorSolver().claim(fits, data)
    assert [outcome.solver for outcome in job.run(data)] == ["stacked networks"] * 3


def test_a_learning_curve_is_that_of_one_by_one_training():
    together, alone = (
        learning_curve(classifier(), TABLE, NUMBERS > 0, schedule=[20, 40, 62], cv=5, engine=Engine(solvers=solvers))
        for solvers in ("auto", "plain")
    )
    np.testing.assert_allclose(together.errors, alone.errors, atol=1e-9)
    assert len(together.errors) == 3


def test_repeats_and_labels_are_members_of_one_stack():
    data = Data(TABLE, NUMBERS > 0, task="classification")
    keys, whole = Keys(data), Rows.all(62)
    flipped = [np.where(np.arange(62) % (5 + i) == 0, ~data.y, data.y) for i in range(3)]
    tasks = [FitTask(classifier(), whole, (Ask(whole),), y=labels, repeat=i) for i, labels in enumerate(flipped)]
    [job] = StackedNetworksSolver().claim([keys.fit(task) for task in tasks], data)
    assert job.work == 3


def test_a_cpu_gets_a_few_members_at_a_time():
    data = Data(TABLE, NUMBERS, task="regression")
    keys = Keys(data)
    fits = [keys.fit(FitTask(regressor(), Rows.without(62, [i]), (Ask(Rows.of([i])),))) for i in range(20)]
    jobs = StackedNetworksSolver().claim(fits, data)
    assert [job.work for job in jobs] == [CPU_MEMBERS, CPU_MEMBERS, 20 - 2 * CPU_MEMBERS]


def test_stages_of_a_run_are_one_member():
    data = Data(TABLE, NUMBERS, task="regression")
    keys, train, test = Keys(data), Rows.of(range(40)), Rows.of(range(40, 62))
    other = Rows.of(range(20, 60))
    tasks = [FitTask(AtStage(regressor(), e), rows, (Ask(test),)) for rows in (train, other) for e in (1, 2, 4)]
    [job] = StackedNetworksSolver().claim([keys.fit(task) for task in tasks], data)
    assert len(job.fits) == 6
    assert job.work == 2


def test_a_member_that_loses_its_loss_fails_alone():
    X = TABLE.copy()
    X[0, 0] = 1000.0
    data = Data(X, NUMBERS, task="regression")
    keys, train = Keys(data), [Rows.of(range(40)), Rows.of(range(1, 41)), Rows.of(range(2, 42))]
    network = regressor(Exploding, {})
    fits = [keys.fit(FitTask(network, rows, (Ask(Rows.of([50])),))) for rows in train]
    [job] = StackedNetworksSolver().claim(fits, data)
    lost, *good = job.run(data)
    assert "training loss must stay finite" in lost.error.message
    assert "epoch 1" in lost.error.message
    for outcome, expected in zip(good, PlainSolver().solve(job, data)[1:], strict=True):
        assert outcome.error is None
        np.testing.assert_allclose(outcome.answers[0].values, expected.answers[0].values, atol=1e-12)


def test_what_cannot_be_stacked_is_trained_one_by_one_and_the_reason_is_given_once():
    engine, network = Engine(), regressor(Looking, {})
    with pytest.warns(UserWarning, match=r"Looking are trained one by one, not together: .*data-dependent") as said:
        together = assess(network, TABLE, NUMBERS, engine=engine)
    assert len(said) == 1
    assess(network, TABLE, NUMBERS, cv=4, engine=engine)  # a second warning would be an error here
    assert together.estimate == assess(network, TABLE, NUMBERS, engine=one_by_one()).estimate


def _untracked(in_features, out_features):
    from torch import nn

    return nn.Sequential(nn.Linear(in_features, 4), nn.BatchNorm1d(4, track_running_stats=False), nn.Linear(4, 1))


def test_answers_that_depend_on_the_rows_beside_them_are_not_stacked():
    with pytest.warns(UserWarning, match="batch normalisation without running statistics"):
        found = assess(regressor(_untracked, {}), TABLE, NUMBERS, engine=Engine())
    assert found.estimate == assess(regressor(_untracked, {}), TABLE, NUMBERS, engine=one_by_one()).estimate


def test_stages_of_what_cannot_be_stacked_are_still_one_run():
    with pytest.warns(UserWarning, match="one by one"):
        found = AgghooRegressor(regressor(Looking, {}), cv=3, engine=Engine()).fit(TABLE, NUMBERS)
    alone = AgghooRegressor(regressor(Looking, {}), cv=3, engine=one_by_one()).fit(TABLE, NUMBERS)
    np.testing.assert_array_equal(found.predict(TABLE), alone.predict(TABLE))


def test_a_group_that_does_not_fit_into_memory_is_halved(monkeypatch):
    sizes = []
    train = stacking.Stack.__init__

    def short_of_memory(self, recipe, modules, *rest, **more):
        sizes.append(len(modules))
        if len(modules) > 2:
            raise MemoryError
        train(self, recipe, modules, *rest, **more)

    monkeypatch.setattr(stacking.Stack, "__init__", short_of_memory)
    together = assess(regressor(), TABLE, NUMBERS, engine=Engine())
    assert sizes == [2, 3, 1, 2]  # folds of 49 and of 50 rows differ in their number of steps
    assert together.estimate == pytest.approx(assess(regressor(), TABLE, NUMBERS, engine=one_by_one()).estimate, 1e-9)


def test_one_that_does_not_fit_alone_is_left_to_itself(monkeypatch):
    def no_memory(self, *rest, **more):
        raise MemoryError

    monkeypatch.setattr(stacking.Stack, "__init__", no_memory)
    together = assess(regressor(), TABLE, NUMBERS, engine=Engine())
    assert together.estimate == assess(regressor(), TABLE, NUMBERS, engine=one_by_one()).estimate


def test_dropout_differs_between_members():
    data = Data(np.zeros((40, 3)), np.linspace(0, 1, 40), task="regression")
    network = regressor(params={"hidden": (30,), "dropout": 0.5}, batch_size=None, max_epochs=3, random_state=1)
    keys, rows = Keys(data), [Rows.of(range(39)), Rows.of(range(1, 40))]
    fits = [keys.fit(FitTask(network, each, (Ask(Rows.of([0])),))) for each in rows]
    [job] = StackedNetworksSolver().claim(fits, data)
    first, second = (outcome.answers[0].values[0] for outcome in job.run(data))
    again = [outcome.answers[0].values[0] for outcome in job.run(data)]
    assert first != second
    assert again == [first, second]


def test_a_frame_gives_its_names():
    import pandas as pd

    frame = pd.DataFrame(TABLE, columns=list("abcde"))
    found = AgghooRegressor(regressor(), cv=3, engine=Engine()).fit(frame, NUMBERS)
    assert list(found.members_[0].feature_names_in_) == list("abcde")
    assert found.predict(frame).shape == (62,)


def test_workers_answer_alike():
    with Engine(workers=2) as engine:
        there = assess(regressor(), TABLE, NUMBERS, engine=engine)
    assert there.estimate == pytest.approx(assess(regressor(), TABLE, NUMBERS, engine=Engine()).estimate, rel=1e-9)
