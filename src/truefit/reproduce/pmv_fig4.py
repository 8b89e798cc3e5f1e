"""Figure 4 of the PMV paper: the width of a network on MNIST's zeros and ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from truefit.api import perturb
from truefit.reproduce.experiment import Experiment, Setting
from truefit.reproduce.folds import accuracies
from truefit.reproduce.page import Claim, Page, Table
from truefit.reproduce.tables_of_papers import mnist01

WIDTHS = (*range(10, 101, 10), *range(200, 801, 100))
_QUICK_WIDTHS, _QUICK_ROWS, _QUICK_EPOCHS = (10, 40, 100), 1000, 30
_CHOSEN = 40


def networks(widths: Sequence[int], epochs: int) -> dict[str, Any]:
    """Return a network with one hidden layer per width, by the width in words."""
    from sklearn.neural_network import MLPClassifier

    return {str(width): MLPClassifier((width,), max_iter=epochs) for width in widths}


def _run(setting: Setting) -> Page:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import train_test_split

    X, y = mnist01(setting.folder)
    models = networks(WIDTHS, 200)
    if setting.quick:
        X, _, y, _ = train_test_split(X, y, train_size=_QUICK_ROWS, stratify=y, random_state=0)
        models = networks(_QUICK_WIDTHS, _QUICK_EPOCHS)
    setting.tell(f"{len(models)} widths, {len(y):,} rows")
    with warnings.catch_warnings():
        # Noise is not learned in so many epochs: that is what is measured.
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = perturb(models, X, y, mode="paper", engine=setting.engine)
        split = train_test_split(range(len(y)), test_size=0.3, random_state=0)
        found = accuracies(models, X, y, [split], engine=setting.engine)
    lines = []
    for name in models:
        errors = (1 - each.mean() for each in (found[name].train, found[name].test))
        lines.append((name, f"{result.rate[name]:.4f}", *(f"{error:.4f}" for error in errors)))
    notes = [
        "The paper does not describe its network. Here: scikit-learn's MLPClassifier with one hidden layer and its "
        "default settings, pixels from 0 to 1.",
        "The paper prints this figure without numbers: only the chosen width can be compared.",
    ]
    if setting.quick:
        notes.append(
            f"A quick run: {_QUICK_ROWS:,} rows, widths {', '.join(map(str, _QUICK_WIDTHS))} of {len(WIDTHS)}, "
            f"{_QUICK_EPOCHS} epochs. It says nothing about the paper's choice."
        )
    return Page(
        "One draw of the flips at each of ten levels, as in the paper; errors by one split, 7 of 10 rows for training.",
        [
            Claim(
                "width with the largest rate",
                str(_CHOSEN),
                str(result.best),
                None if setting.quick else result.best == str(_CHOSEN),
            )
        ],
        [Table("By width", ("hidden neurons", "rate k", "training error", "test error"), lines)],
        notes,
    )


EXPERIMENT = Experiment(
    "pmv-fig4",
    "Perturbed Model Validation, Figure 4: the width of a network",
    "mnist01.npz; hours on one core, a minute with --quick",
    _run,
)
