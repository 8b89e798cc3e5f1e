"""Table 1 of the PMV paper: which model is selected on tables whose shape is known."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truefit._api.perturb import perturb
from truefit.reproduce.experiment import Experiment, Setting
from truefit.reproduce.folds import Accuracies, accuracies
from truefit.reproduce.page import Claim, Page, Table, signed
from truefit.reproduce.pmv_paper import (
    MODELS,
    NOISES,
    PUBLISHED,
    SELECTED,
    SHAPES,
    paper_models,
    paper_table,
    published_rates,
)

#: Models whose settings the paper's source gives; those of the others are inferred.
_GIVEN = ("Gaussian Process", "Naive Bayes", "Linear SVM", "RBF SVM")
_NEAR_RATE, _NEAR_ACCURACY = 0.15, 0.01
_ROUNDING = 1e-9
#: So many that are not near are named one by one; more are found in the tables.
_LISTED = 5


@dataclass(frozen=True)
class _Column:
    """What was found for one shape at one noise."""

    shape: str
    noise: float
    rates: dict[str, float]
    ties: list[str]
    folds: dict[str, Accuracies]

    @property
    def selected(self) -> str:
        return max(self.rates, key=lambda name: self.rates[name])

    @property
    def words(self) -> str:
        return f"{self.shape} {self.noise:g}"

    def cells(self, model: str) -> tuple[float, float, float]:
        """Rate, test accuracy and difference, as the paper prints them."""
        found = self.folds[model]
        return self.rates[model], float(found.test.mean()), abs(found.gap)

    def published(self, model: str) -> tuple[float, float, float]:
        start = 3 * NOISES.index(self.noise)
        rate, test, gap = PUBLISHED[self.shape][MODELS.index(model)][start : start + 3]
        return rate, test, gap

    def apart(self, model: str) -> tuple[float, float, float]:
        rate, test, gap = (ours - theirs for ours, theirs in zip(self.cells(model), self.published(model), strict=True))
        return rate, test, gap


def _run(setting: Setting) -> Page:
    repeats = 2 if setting.quick else 5
    columns = [_column(setting, shape, noise, repeats) for shape in SHAPES for noise in NOISES]
    return Page(
        f"Seven models on nine tables of 100 rows; the rate is the mean over {repeats} draws of the flips, the paper's "
        "is of one. Cross-validation: 10 folds in the order of the rows, not stratified.",
        _claims(columns),
        [_selections(columns), *(_numbers(columns, shape) for shape in SHAPES)],
        [
            "The paper's AdaBoost was SAMME.R, which scikit-learn no longer has; today's stands in its place. Its "
            "tree (depth 10) and forest (10 unlimited trees) are inferred. The test accuracies and Δ of these three "
            "are shown, and not judged.",
            "On circle the paper's rates of a Linear SVM, 0.22 to 0.27, do not come out of flips that are as many in "
            "both classes, as its text has them.",
            "The noise does not reach the linear table: its three columns are one table.",
            "For Naive Bayes on moon without noise the paper prints Δ 0.87 beside an accuracy of 0.86: a misprint.",
            *(["A quick run: 2 draws of the flips."] if setting.quick else []),
        ],
    )


def _column(setting: Setting, shape: str, noise: float, repeats: int) -> _Column:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import KFold

    setting.tell(f"{shape}, noise {noise:g}")
    X, y = paper_table(shape, noise)
    models: dict[str, Any] = paper_models()
    with warnings.catch_warnings():
        # A Gaussian process on separable rows runs into the bounds of its kernel, as it did for the paper.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "overflow encountered", RuntimeWarning)
        result = perturb(models, X, y, mode="paper", repeats=repeats, engine=setting.engine)
        folds = accuracies(models, X, y, KFold(10).split(X), engine=setting.engine)
    return _Column(shape, noise, result.rate, result.ties, folds)


def _claims(columns: list[_Column]) -> list[Claim]:
    right = [column for column in columns if column.selected == SELECTED[column.shape]]
    claims = [
        Claim(
            "selected models",
            ", ".join(f"{shape} → {model}" for shape, model in SELECTED.items()),
            f"the same in {len(right)} of {len(columns)} columns",
            len(right) == len(columns),
        )
    ]
    for shape in SHAPES:
        own = [column for column in columns if column.shape == shape]
        claims.append(
            _closeness(f"rates on {shape} of NB, Linear SVM, RBF SVM", _apart(own, _GIVEN[1:], 0), _NEAR_RATE)
        )
    others = [model for model in MODELS if model not in _GIVEN[1:]]
    claims.append(_closeness("rates of the other four models", _apart(columns, others, 0), _NEAR_RATE))
    for place, what in ((1, "test accuracies"), (2, "Δ")):
        apart = _apart(columns, _GIVEN, place)
        claims.append(_closeness(f"{what} of GP, NB, Linear SVM, RBF SVM", apart, _NEAR_ACCURACY))
    return claims


def _apart(columns: list[_Column], models: Sequence[str], place: int) -> dict[str, float]:
    """Return our numbers minus the paper's: of rates (0), test accuracies (1) or differences (2)."""
    return {f"{model}, {column.words}": column.apart(model)[place] for column in columns for model in models}


def _closeness(what: str, apart: dict[str, float], near: float) -> Claim:
    far = {name: value for name, value in apart.items() if abs(value) > near + _ROUNDING}
    worst = max(apart, key=lambda name: abs(apart[name]))
    here = f"{len(apart) - len(far)} of {len(apart)} so near; farthest {signed(apart[worst], 3)} ({worst})"
    if 1 < len(far) <= _LISTED:
        here += f"; not near: {', '.join(f'{name} {signed(value, 3)}' for name, value in far.items())}"
    return Claim(what, f"as printed, within {near:g}", here, not far)


def _selections(columns: list[_Column]) -> Table:
    lines = []
    for column in columns:
        others = [name for name in column.ties if name != column.selected]
        tests = {model: column.cells(model)[1] for model in MODELS}
        best = [model for model in MODELS if tests[model] > max(tests.values()) - 1e-9]
        selected = (SELECTED[column.shape], column.selected, ", ".join(others) or "none", ", ".join(best))
        lines.append((column.words, *selected))
    heads = ("table and noise", "paper selects", "selected here", "cannot be told apart", "largest 10-fold accuracy")
    return Table("Selected models", heads, lines)


def _numbers(columns: list[_Column], shape: str) -> Table:
    own = [column for column in columns if column.shape == shape]
    heads = ["model", *(f"{what}, {column.noise:g}" for column in own for what in ("k", "Acc.t", "Δ"))]
    lines = []
    for model in MODELS:
        line = [model]
        for column in own:
            for ours, theirs in zip(column.cells(model), column.published(model), strict=True):
                line.append(f"{ours:.2f} / {theirs:.2f} ({signed(ours - theirs, 2)})")
        lines.append(line)
    chosen = ", ".join(f"{published_rates(shape, column.noise)[SELECTED[shape]]:.2f}" for column in own)
    return Table(
        f"{shape}: here / paper (difference), by noise",
        heads,
        lines,
        f"The paper selects {SELECTED[shape]}, with rates of {chosen}.",
    )


EXPERIMENT = Experiment(
    "pmv-table1",
    "Perturbed Model Validation, Table 1: which model is selected",
    "no data; some minutes",
    _run,
)
