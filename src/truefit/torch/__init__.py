"""Networks of PyTorch as scikit-learn estimators; all members of a cross-test are trained at once.

An extra: ``pip install truefit[torch]``. The fits of one architecture are stacked into one computation, on a GPU
replayed as a CUDA graph: see :mod:`truefit.torch.solver`.
"""

from __future__ import annotations

from truefit._core.errors import MissingDependency

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingDependency("truefit.torch needs PyTorch: pip install truefit[torch].") from error

from truefit.torch.estimators import TorchClassifier, TorchRegressor
from truefit.torch.modules import MLP, ConvNet

__all__ = ["MLP", "ConvNet", "TorchClassifier", "TorchRegressor"]
