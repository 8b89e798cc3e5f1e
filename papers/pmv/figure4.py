"""Figure 4 of the PMV paper: the width of a network on MNIST's zeros and ones."""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from papers.data import mnist01
from papers.experiment import Claim, Experiment, Page, Setting, Table
from papers.pmv.accuracy import Accuracies, accuracies
from truefit import perturb

WIDTHS = (*range(10, 101, 10), *range(200, 801, 100))
_QUICK_WIDTHS, _QUICK_ROWS, _QUICK_EPOCHS = (10, 40, 100), 1000, 30
_CHOSEN = 40


@dataclass(frozen=True)
class _Scale:
    """How much is trained."""

    widths: Sequence[int]
    epochs: int
    repeats: int


_STACKED = _Scale(WIDTHS, 100, 10)
_ONE_BY_ONE = _Scale(WIDTHS, 200, 1)
_QUICK = _Scale(_QUICK_WIDTHS, _QUICK_EPOCHS, 1)


def has_torch() -> bool:
    """Whether networks can be trained all at once."""
    return importlib.util.find_spec("torch") is not None


def networks(widths: Sequence[int], epochs: int) -> dict[str, Any]:
    """Return a network with one hidden layer per width, by the width in words: of PyTorch where that is installed."""
    if has_torch():
        from truefit.torch import MLP, TorchClassifier

        return {
            str(width): TorchClassifier(MLP, module_params={"hidden": (width,)}, max_epochs=epochs, batch_size=200)
            for width in widths
        }
    from sklearn.neural_network import MLPClassifier

    return {str(width): MLPClassifier((width,), max_iter=epochs) for width in widths}


def _run(setting: Setting) -> Page:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import ShuffleSplit, train_test_split

    X, y = mnist01(setting.folder)
    scale = _QUICK if setting.quick else _STACKED if has_torch() else _ONE_BY_ONE
    if setting.quick:
        X, _, y, _ = train_test_split(X, y, train_size=_QUICK_ROWS, stratify=y, random_state=0)
    models = networks(scale.widths, scale.epochs)
    setting.tell(f"{len(models)} widths, {len(y):,} rows, {scale.repeats} draws of the flips")
    begun, before = time.perf_counter(), setting.engine.stats.run
    with warnings.catch_warnings():
        # Noise is not learned in so many epochs: that is what is measured.
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = perturb(models, X, y, mode="paper", repeats=scale.repeats, engine=setting.engine)
        seconds = time.perf_counter() - begun
        setting.tell("errors by width")
        splits = ShuffleSplit(scale.repeats, test_size=0.3, random_state=0).split(X)
        found = accuracies(models, X, y, splits, engine=setting.engine)
    notes = [_described(scale), *_timed(scale, seconds, setting.engine.stats.run - before), *_tied(result, scale)]
    notes.append("The paper prints this figure without numbers: only the chosen width can be compared.")
    if setting.quick:
        notes.append(
            f"A quick run: {_QUICK_ROWS:,} rows, widths {', '.join(map(str, _QUICK_WIDTHS))} of {len(WIDTHS)}, "
            f"{_QUICK_EPOCHS} epochs. It says nothing about the paper's choice."
        )
    agrees = None if setting.quick else result.best == str(_CHOSEN)
    draws = "One draw" if scale.repeats == 1 else f"{scale.repeats} draws"
    return Page(
        f"{draws} of the flips at each of ten levels, and the labels as they are; errors by "
        f"{'one split' if scale.repeats == 1 else f'{scale.repeats} splits'}, 7 of 10 rows for training.",
        [Claim("width with the largest rate", str(_CHOSEN), str(result.best), agrees)],
        [_table(models, result, found)],
        notes,
    )


def _table(models: dict[str, Any], result: Any, found: dict[str, Accuracies]) -> Table:
    lines = []
    for name in models:
        rates = np.asarray(result.rates[name])
        spread = f"{rates.std(ddof=1):.4f}" if len(rates) > 1 else ""
        errors = (1 - each.mean() for each in (found[name].train, found[name].test))
        lines.append((name, f"{result.rate[name]:.4f}", spread, *(f"{error:.4f}" for error in errors)))
    return Table("By width", ("hidden neurons", "rate k", "sd of draws", "training error", "test error"), lines)


def _described(scale: _Scale) -> str:
    if not has_torch():
        return (
            "The paper does not describe its network. Here: scikit-learn's MLPClassifier with one hidden layer and its "
            "default settings, pixels from 0 to 1."
        )
    return (
        "The paper does not describe its network. Here: one hidden layer of rectified units, Adam with a rate of "
        f"0.001, batches of 200, {scale.epochs} epochs, pixels from 0 to 1."
    )


def _timed(scale: _Scale, seconds: float, trained: int) -> list[str]:
    """Say how long it took, unless some were in a store already."""
    count = len(scale.widths) * 11 * scale.repeats
    if trained < count:
        return []
    where = "scikit-learn"
    if has_torch():
        import torch

        gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "the CPU"
        where = f"torch {torch.__version__} on {gpu}"
    return [f"The rates took {seconds:,.0f} s for {count:,} networks, with {where}."]


def _tied(result: Any, scale: _Scale) -> list[str]:
    if scale.repeats == 1:
        return []
    others = [name for name in result.ties if name != result.best]
    return [f"Widths that do not differ significantly from the best over the draws: {', '.join(others) or 'none'}."]


EXPERIMENT = Experiment(
    "pmv-fig4",
    "Perturbed Model Validation, Figure 4: the width of a network",
    "mnist01.npz; minutes on a GPU with torch, hours on one core without, a minute with --quick",
    _run,
)
