"""TorchClassifier and TorchRegressor: a PyTorch network as a scikit-learn estimator."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from truefit._core.errors import InvalidInput
from truefit._core.typing import Array
from truefit._sklearn import check_sample_weight
from truefit.torch.config import TrainingConfig, on_device
from truefit.torch.head import Head, head_of
from truefit.torch.modules import MLP
from truefit.torch.training import train_epochs

#: Rows are predicted in chunks of about this many bytes.
_CHUNK_BYTES = 64 << 20


class _Torch(BaseEstimator):  # type: ignore[misc]
    """Base of both estimators."""

    #: Whether the target is numbers, not labels.
    _numbers: ClassVar[bool]

    module_: Any
    head_: Head

    def __init__(
        self,
        module: Any = MLP,
        *,
        module_params: Any = None,
        loss: Any = "auto",
        optimizer: Any = "adam",
        optimizer_params: Any = None,
        lr: float = 1e-3,
        weight_decay: float = 0.0,
        schedule: Any = None,
        max_epochs: int = 100,
        batch_size: int | None = 64,
        device: Any = "auto",
        dtype: str = "float32",
        random_state: Any = None,
    ) -> None:
        self.module = module
        self.module_params = module_params
        self.loss = loss
        self.optimizer = optimizer
        self.optimizer_params = optimizer_params
        self.lr = lr
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.device = device
        self.dtype = dtype
        self.random_state = random_state

    @staticmethod
    def __truefit_solver__() -> Any:
        """Return the solver that trains fits of this kind together."""
        from truefit.torch.solver import StackedNetworksSolver

        return StackedNetworksSolver()

    @property
    def n_stages(self) -> int:
        """Number of epochs, each of which is a stage."""
        return int(self.max_epochs)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train for ``max_epochs`` epochs.

        Parameters
        ----------
        X : array of shape (rows, ...)
            A table, images, or any other input of the module.
        y : array of shape (rows,) or (rows, columns)
            Labels, or numbers in one or several columns.
        sample_weight : array of shape (rows,), optional
            Weights of the rows in the training loss.
        """
        for _ in self.fit_stages(X, y, sample_weight):
            pass
        return self

    def fit_stages(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[Any]:
        """Train, and yield the estimator itself after each epoch."""
        config = TrainingConfig.of(self)
        X, y = validate_data(
            self, X, y, allow_nd=True, dtype=config.numpy_dtype, multi_output=self._numbers, y_numeric=self._numbers
        )
        target, classes = self._target(y)
        weight = None if sample_weight is None else check_sample_weight(sample_weight, X, dtype=config.numpy_dtype)
        seed = seed_of(self.random_state)
        columns = 0 if classes or target.ndim == 1 else target.shape[1]
        module = config.build(X.shape[1:], outputs_for(classes, columns), seed).to(config.device)
        probe = on_device(X[:2], config.device)
        head = head_of(module, probe, classes=classes, columns=columns, loss=self.loss)
        self.adopt(module, head, [], X.shape[1:])
        for loss in train_epochs(config, module, head, X, targets_for(head, target, config), weight, seed):
            self.loss_curve_.append(loss)
            self.n_epochs_ = len(self.loss_curve_)
            yield self

    def adopt(self, module: Any, head: Head, loss_curve: list[float], in_shape: tuple[int, ...]) -> Any:
        """Take a network that was trained on rows of this shape."""
        self.module_ = module
        self.in_shape_ = in_shape
        self.head_ = head
        self.loss_curve_ = loss_curve
        self.n_epochs_ = len(loss_curve)
        return self

    def _target(self, y: Array) -> tuple[Array, int]:
        raise NotImplementedError

    def _answers(self, X: Any) -> Array:
        check_is_fitted(self)
        weights = next(iter(self.module_.parameters()), None)
        dtype = torch.float32 if weights is None else weights.dtype
        device = torch.device("cpu") if weights is None else weights.device
        kind = np.float64 if dtype == torch.float64 else np.float32
        X = validate_data(self, X, reset=False, allow_nd=True, dtype=kind)
        self.module_.eval()
        step = max(1, _CHUNK_BYTES // max(1, X[:1].nbytes))
        parts = []
        with torch.no_grad():
            for start in range(0, len(X), step):
                rows = on_device(X[start : start + step], device)
                parts.append(self.head_.answer(self.module_(rows)).cpu().numpy())
        return np.concatenate(parts)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder, without pickle: tensors as safetensors beside a description in JSON."""
        from truefit.torch.saving import save

        save(self, folder)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, module: Any = None) -> Any:
        """Read a model that was saved.

        Parameters
        ----------
        folder : path
            The folder that ``save`` wrote.
        module : class or function, optional
            Makes the network. Needed unless it is one of truefit's own: a file does not decide what is imported.
        """
        from truefit.torch.saving import load

        return load(cls, folder, module)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "module_" in state:
            # So that it can be read where there is no GPU.
            state["module_"] = copy.deepcopy(state["module_"]).cpu()
        return state

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        # A snapshot during training stays on its device.
        taken = object.__new__(type(self))
        memo[id(self)] = taken
        taken.__dict__.update({name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return taken


class TorchClassifier(ClassifierMixin, _Torch):  # type: ignore[misc]
    """A network as a classifier.

    Parameters
    ----------
    module : class or function, default=MLP
        Makes the network. Parameters of it named ``in_features``, ``in_shape`` and ``out_features`` are given the
        number of inputs, the shape of one row, and the number of outputs: 1 for two classes, else one per class.
    module_params : dict, optional
        Further arguments of the module.
    loss : "auto", "cross_entropy" or callable, default="auto"
        The training loss. A function takes the outputs and the class codes, and returns a loss for each row.
    optimizer : {"adam", "adamw", "rmsprop", "sgd"} or a class of torch.optim, default="adam"
        The optimizer.
    optimizer_params : dict, optional
        Further arguments of the optimizer, such as ``{"momentum": 0.9}``.
    lr : float, default=1e-3
        The learning rate.
    weight_decay : float, default=0
        The weight decay, as the optimizer defines it.
    schedule : {None, "cosine", "linear"} or callable, default=None
        How the learning rate falls. A function takes the share of the epochs that is done and returns the share of
        ``lr`` for the next.
    max_epochs : int, default=100
        Number of passes over the training rows.
    batch_size : int or None, default=64
        Rows per training step. None: all rows at once.
    device : "auto", "cpu", "cuda" or torch.device, default="auto"
        Where the network is trained. "auto" is a GPU where there is one.
    dtype : {"float32", "float64"}, default="float32"
        Type of the weights and of the inputs.
    random_state : int or RandomState, optional
        Seed of the initial weights, the order of the rows and the network's own random numbers, such as dropout.

    Attributes
    ----------
    module_ : nn.Module
        The trained network.
    classes_ : array
        The classes, in the order of the columns of ``predict_proba``.
    loss_curve_ : list of float
        Mean training loss of each epoch.
    n_epochs_ : int
        Number of epochs trained.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of str
        Names of the columns of X, where it has names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TorchClassifier(module_params={"hidden": (20,)}, lr=0.01, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), model.predict_proba(X).shape
    (True, (150, 3))
    """

    _numbers = False

    def _target(self, y: Array) -> tuple[Array, int]:
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InvalidInput(
                f"A classifier needs at least 2 classes in y. Got 1 class: {self.classes_[0]!r}. Check the target."
            )
        return codes, len(self.classes_)

    def predict_proba(self, X: Any) -> Array:
        """Return a probability for each class."""
        return self._answers(X)

    def predict(self, X: Any) -> Array:
        """Return the most probable class."""
        best = self._answers(X).argmax(axis=1)
        labels: Array = self.classes_[best]
        return labels


class TorchRegressor(RegressorMixin, _Torch):  # type: ignore[misc]
    """A network as a regressor.

    Parameters
    ----------
    module : class or function, default=MLP
        Makes the network. Parameters of it named ``in_features``, ``in_shape`` and ``out_features`` are given the
        number of inputs, the shape of one row, and the number of outputs: one per target column.
    module_params : dict, optional
        Further arguments of the module.
    loss : {"auto", "squared_error", "absolute_error", "huber"} or callable, default="auto"
        The training loss. "auto" is the squared error. A function takes the outputs and the targets, and returns a loss
        for each row.
    optimizer : {"adam", "adamw", "rmsprop", "sgd"} or a class of torch.optim, default="adam"
        The optimizer.
    optimizer_params : dict, optional
        Further arguments of the optimizer, such as ``{"momentum": 0.9}``.
    lr : float, default=1e-3
        The learning rate.
    weight_decay : float, default=0
        The weight decay, as the optimizer defines it.
    schedule : {None, "cosine", "linear"} or callable, default=None
        How the learning rate falls. A function takes the share of the epochs that is done and returns the share of
        ``lr`` for the next.
    max_epochs : int, default=100
        Number of passes over the training rows.
    batch_size : int or None, default=64
        Rows per training step. None: all rows at once.
    device : "auto", "cpu", "cuda" or torch.device, default="auto"
        Where the network is trained. "auto" is a GPU where there is one.
    dtype : {"float32", "float64"}, default="float32"
        Type of the weights and of the inputs.
    random_state : int or RandomState, optional
        Seed of the initial weights, the order of the rows and the network's own random numbers, such as dropout.

    Attributes
    ----------
    module_ : nn.Module
        The trained network.
    loss_curve_ : list of float
        Mean training loss of each epoch.
    n_epochs_ : int
        Number of epochs trained.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of str
        Names of the columns of X, where it has names.

    Examples
    --------
    >>> X = np.linspace(-1, 1, 64).reshape(-1, 1)
    >>> model = TorchRegressor(lr=0.01, max_epochs=200, random_state=0).fit(X, X[:, 0] ** 2)
    >>> bool(model.score(X, X[:, 0] ** 2) > 0.98)
    True
    """

    _numbers = True

    def _target(self, y: Array) -> tuple[Array, int]:
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        return y, 0

    def predict(self, X: Any) -> Array:
        """Return the outputs."""
        return self._answers(X)


def seed_of(random_state: Any) -> int:
    """Return a seed as an int; a generator is drawn from once."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def outputs_for(classes: int, columns: int) -> int:
    """Return the number of outputs of a network."""
    if classes:
        return 1 if classes == 2 else classes
    return max(columns, 1)


def targets_for(head: Head, target: Array, config: TrainingConfig) -> Array:
    """Return the targets in the type that the loss takes: class codes, or numbers."""
    kind = np.int64 if head.kind == "classes" else config.numpy_dtype
    return np.ascontiguousarray(target, dtype=kind)
