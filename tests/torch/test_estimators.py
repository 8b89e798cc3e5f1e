import json
import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.torch.networks_for_tests import Exploding, TwoHeads
from torch import nn

from truefit._core.errors import InvalidInput
from truefit._core.stages import AtStage
from truefit.torch import MLP, ConvNet, TorchClassifier, TorchRegressor
from truefit.torch.training import LossNotFinite

X, Y = load_iris(return_X_y=True)
SMALL = {"module_params": {"hidden": (16,)}, "lr": 0.02, "max_epochs": 60, "device": "cpu", "random_state": 0}


@parametrize_with_checks(
    [
        TorchClassifier(**SMALL, batch_size=None, dtype="float64"),
        TorchRegressor(**SMALL, batch_size=None, dtype="float64"),
    ]
)
def test_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


def test_stages_are_epochs():
    losses = [model.loss_curve_[-1] for model in TorchClassifier(**SMALL).fit_stages(X, Y)]
    assert len(losses) == TorchClassifier(**SMALL).n_stages == 60
    assert losses[-1] < losses[0] / 2
    early = AtStage(TorchClassifier(**SMALL), 7).fit(X, Y).model_
    assert early.loss_curve_ == losses[:7]


def test_a_seed_is_the_whole_of_chance():
    torch.manual_seed(1)
    first = TorchClassifier(**SMALL).fit(X, Y).predict_proba(X)
    drawn = torch.rand(1)
    torch.manual_seed(1)
    assert drawn == torch.rand(1)  # nobody else's random numbers are used up
    np.testing.assert_array_equal(first, TorchClassifier(**SMALL).fit(X, Y).predict_proba(X))
    assert (first != TorchClassifier(**(SMALL | {"random_state": 1})).fit(X, Y).predict_proba(X)).any()


def test_one_step_of_sgd_by_hand():
    model = TorchRegressor(
        nn.Linear, module_params={"in_features": 1, "out_features": 1}, optimizer="sgd", lr=0.1, max_epochs=1,
        batch_size=None, dtype="float64", device="cpu", random_state=3,
    )  # fmt: skip
    x, y, w = np.array([[1.0], [2.0]]), np.array([1.0, 5.0]), np.array([1.0, 3.0])
    with torch.random.fork_rng():
        torch.manual_seed(3)
        start = nn.Linear(1, 1).double()
    a, b = start.weight.item(), start.bias.item()
    model.fit(x, y, sample_weight=w)
    residual = a * x[:, 0] + b - y
    slope = 2 * (w * residual * x[:, 0]).sum() / w.sum()
    shift = 2 * (w * residual).sum() / w.sum()
    assert model.module_.weight.item() == pytest.approx(a - 0.1 * slope, rel=1e-12)
    assert model.module_.bias.item() == pytest.approx(b - 0.1 * shift, rel=1e-12)
    assert model.loss_curve_ == [pytest.approx((w * residual**2).sum() / w.sum(), rel=1e-12)]


def test_images_and_a_factory():
    images = np.random.default_rng(0).normal(size=(20, 1, 6, 6))

    def make(in_shape, out_features):
        return ConvNet(in_shape, out_features, channels=(2, 4))

    model = TorchClassifier(make, max_epochs=2, device="cpu").fit(images, np.arange(20) % 4)
    assert model.predict_proba(images).shape == (20, 4)


def test_several_targets():
    targets = np.column_stack([X[:, 0], X[:, 1] * 2])
    model = TorchRegressor(**SMALL).fit(X, targets)
    assert model.predict(X).shape == (150, 2)


def test_more_outputs_than_classes_are_left_out():
    model = TorchClassifier(TwoHeads, max_epochs=2, device="cpu").fit(X, Y > 0)
    assert model.predict_proba(X).shape == (150, 2)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("module", [MLP, "passed on"])
def test_saved_without_pickle(tmp_path, module):
    labels = np.array(["setosa", "other"])[(Y > 0).astype(int)]
    made = MLP if module is MLP else TwoHeads
    options = SMALL if module is MLP else {k: v for k, v in SMALL.items() if k != "module_params"}
    model = TorchClassifier(made, **options).fit(X, labels)
    model.save(tmp_path / "model")
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["model.json", "model.safetensors"]
    again = TorchClassifier.load(tmp_path / "model", module=None if module is MLP else TwoHeads)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    assert again.loss_curve_ == model.loss_curve_


def test_nothing_is_imported_by_what_a_file_says(tmp_path):
    TorchClassifier(TwoHeads, max_epochs=1, device="cpu").fit(X, Y > 0).save(tmp_path)
    with pytest.raises(InvalidInput, match="made by TwoHeads"):
        TorchClassifier.load(tmp_path)
    with pytest.raises(InvalidInput, match=r"TorchRegressor\.load takes what"):
        TorchRegressor.load(tmp_path, module=TwoHeads)
    described = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps(described | {"format": 99}))
    with pytest.raises(InvalidInput, match="format 99"):
        TorchClassifier.load(tmp_path, module=TwoHeads)


def test_pickles_and_clones():
    model = TorchClassifier(**SMALL).fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
    assert not hasattr(clone(model), "module_")


def _flat(in_features):
    return nn.Sequential(nn.Linear(in_features, 4))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"module": MLP(4, 1)}, "must be a class of networks or a function"),
        ({"module": dict, "module_params": None}, "must make a torch.nn.Module. It made dict"),
        (
            {"module": _flat, "module_params": None},
            r"must return a tensor of shape \(rows,\) or \(rows, 1\). Got shape",
        ),
        ({"loss": "hinge"}, "'loss' parameter must be one of auto, squared_error, absolute_error, huber"),
        ({"loss": lambda output, target: ((output - target) ** 2).mean()}, "must return a number for each row"),
        ({"optimizer": "adagrid"}, "'optimizer' parameter must be one of adam, adamw, rmsprop, sgd"),
        ({"optimizer_params": 3}, "'optimizer_params' parameter must be a dict"),
        ({"lr": 0}, "'lr' parameter must be a positive number"),
        ({"weight_decay": -1}, "'weight_decay' parameter must be a number that is not negative"),
        ({"schedule": "steps"}, "'schedule' parameter must be one of cosine, linear, or a function"),
        ({"max_epochs": 0}, "'max_epochs' parameter must be a positive whole number"),
        ({"batch_size": 2.5}, "'batch_size' parameter must be a positive whole number"),
        ({"device": "toaster"}, "'device' parameter must be 'auto', 'cpu', 'cuda' or a device of torch"),
        ({"dtype": "float16"}, "'dtype' parameter must be one of float32, float64"),
    ],
)
def test_bad_parameters_are_told(changes, message):
    with pytest.raises(InvalidInput, match=message):
        TorchRegressor(**(SMALL | changes)).fit(X, Y)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_no_gpu():
    with pytest.raises(InvalidInput, match="device='cuda' needs a GPU that torch can use"):
        TorchRegressor(**(SMALL | {"device": "cuda"})).fit(X, Y)


def test_too_few_outputs():
    with pytest.raises(InvalidInput, match=r"must return a tensor of shape \(rows, 3\). Got shape \(2, 2\)"):
        TorchClassifier(TwoHeads, device="cpu").fit(X, Y)


def test_a_loss_that_is_no_number():
    far = X.copy()
    far[0, 0] = 1000.0
    with pytest.raises(LossNotFinite, match="became NaN or infinite in epoch 1"):
        TorchRegressor(Exploding, device="cpu").fit(far, Y)
