"""The epochs of a skorch network are candidates like the stages of any other training run."""

import gc

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier, NeuralNetRegressor

from truefit import AgghooClassifier, AgghooRegressor, Engine, cross_test
from truefit._core.stages import offers_stages, run_stages

EPOCHS = 12
X, y = (array.astype(np.float32) for array in make_friedman1(90, noise=1.0, random_state=0))
XI, yi = load_iris(return_X_y=True)
XI, NAMES = XI.astype(np.float32), np.array(["setosa", "versicolor", "virginica"])[yi]
SPLITS = list(KFold(3, shuffle=True, random_state=0).split(X))


class Line(torch.nn.Module):
    """One hidden layer, and one number for each row."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(10, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))

    def forward(self, X):
        return self.layers(X).squeeze(-1)


class Classes(torch.nn.Module):
    """A score for each of three classes."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))

    def forward(self, X):
        return self.layers(X)


class Regressor(NeuralNetRegressor):
    """Takes a target of one dimension, and starts from the same weights each time."""

    def initialize(self):
        torch.manual_seed(0)
        return super().initialize()

    def check_data(self, X, y):
        pass


class Classifier(NeuralNetClassifier):
    """Starts from the same weights each time, and takes names for classes."""

    def initialize(self):
        torch.manual_seed(0)
        return super().initialize()

    def fit_loop(self, X, y=None, epochs=None, **params):
        self.names_, codes = (None, None) if y is None else np.unique(y, return_inverse=True)
        return super().fit_loop(X, codes, epochs=epochs, **params)

    def check_data(self, X, y):
        pass

    @property
    def classes_(self):
        return self.names_

    def predict(self, X):
        return self.names_[self.predict_proba(X).argmax(axis=1)]


REGRESSOR = Regressor(Line, max_epochs=EPOCHS, lr=0.01, optimizer=torch.optim.Adam, train_split=None, verbose=0)
CLASSIFIER = Classifier(
    Classes,
    criterion=torch.nn.CrossEntropyLoss,
    max_epochs=EPOCHS,
    lr=0.05,
    optimizer=torch.optim.Adam,
    train_split=None,
    verbose=0,
)


def test_a_network_offers_its_epochs_one_at_a_time():
    assert offers_stages(REGRESSOR)
    run = run_stages(clone(REGRESSOR), X, y)
    lengths = [len(next(run).history) for _ in range(3)]
    assert lengths == [1, 2, 3]
    at_once = clone(REGRESSOR).set_params(max_epochs=3).fit(X, y)
    assert np.allclose(next(run_until(3)).predict(X), at_once.predict(X), rtol=1e-5)


def run_until(stage):
    for reached, model in enumerate(run_stages(clone(REGRESSOR), X, y), start=1):
        if reached == stage:
            yield model
            return


def test_one_run_per_split_holds_the_best_epoch_as_the_member():
    engine = Engine()
    agghoo = AgghooRegressor(REGRESSOR, cv=SPLITS, engine=engine).fit(X, y)
    assert (engine.stats.run, engine.stats.refitted) == (3, 0)
    assert agghoo.validation_scores_.shape == (3, EPOCHS)
    for (train, test), member, (_, chosen) in zip(SPLITS, agghoo.members_, agghoo.selection_.iterrows(), strict=True):
        assert len(member.history) == chosen["stage"]
        assert np.isclose(np.mean((member.predict(X[test]) - y[test]) ** 2), chosen["validation_score"], rtol=1e-5)
        alone = clone(REGRESSOR).set_params(max_epochs=int(chosen["stage"])).fit(X[train], y[train])
        assert np.allclose(alone.predict(X), member.predict(X), rtol=1e-4, atol=1e-4)
    assert np.allclose(agghoo.predict(X), np.mean([member.predict(X) for member in agghoo.members_], axis=0))


def networks_alive():
    gc.collect()
    return sum(type(each) is Line for each in gc.get_objects())


@pytest.mark.filterwarnings("ignore:AtStage cannot be identified by its content")
def test_two_copies_are_held_at_most(monkeypatch):
    """The one that is trained, and the best so far: counted at every batch, while the epochs get better and better."""
    before, counts, forward = networks_alive(), [], Line.forward

    def watched(self, batch):
        counts.append(networks_alive() - before)
        return forward(self, batch)

    monkeypatch.setattr(Line, "forward", watched)
    agghoo = AgghooRegressor(REGRESSOR, cv=SPLITS[:1], engine=Engine()).fit(X, y)
    assert agghoo.selection_["stage"][0] > 2
    assert max(counts) == 2


def test_the_cross_test_takes_one_run_per_pair_of_folds():
    engine = Engine()
    result = cross_test(AgghooRegressor(REGRESSOR, engine=engine), X, y, cv=3)
    assert engine.stats.run == 3 + 3
    assert len(result.candidates) == EPOCHS
    plain = cross_test(AgghooRegressor(REGRESSOR), X, y, cv=3, engine=Engine(solvers="plain"))
    assert np.allclose(plain.fold_risks, result.fold_risks, rtol=1e-4)


def test_a_classifier_behind_a_scaler_with_named_classes():
    engine = Engine()
    model = make_pipeline(StandardScaler(), CLASSIFIER)
    agghoo = AgghooClassifier(model, cv=3, scoring="log_loss", engine=engine).fit(XI, NAMES)
    assert engine.stats.run == 3
    assert agghoo.score(XI, NAMES) > 0.8
    assert np.allclose(agghoo.predict_proba(XI).sum(axis=1), 1, atol=1e-5)
    assert cross_test(agghoo, XI, NAMES, cv=3).estimate < 1.1


@pytest.mark.parametrize(("options", "width"), [({"path": None}, 1), ({"path": 5}, 5)])
def test_the_number_of_epochs_can_be_set(options, width):
    agghoo = AgghooRegressor(REGRESSOR, cv=SPLITS, **options).fit(X, y)
    assert agghoo.validation_scores_.shape == (3, width)
    grid = AgghooRegressor(REGRESSOR, {"max_epochs": [2, 4]}, cv=SPLITS).fit(X, y)
    assert grid.validation_scores_.shape == (3, 2)
