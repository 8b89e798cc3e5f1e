"""The model selection experiment of the PMV paper (Zhang et al. 2019, Table 1): its tables, models and numbers.

The paper takes both from scikit-learn's classifier comparison. What it leaves open was settled by reproduction: 100
rows, no scaling, noise of 0, 0.1 and 0.2 in two of the tables and none in the linear one; a tree of depth 10, a forest
of 10 unlimited trees, and cross-validation by ten folds in the order of the rows. Its AdaBoost was SAMME.R, which
scikit-learn no longer has; today's stands in its place.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from papers.experiment import Claim, Experiment, Page, Setting, Table, signed
from papers.pmv.accuracy import Accuracies, accuracies
from truefit import perturb

Floats = npt.NDArray[np.float64]

SHAPES = ("moon", "circle", "linear")
NOISES = (0.0, 0.1, 0.2)

MODELS = (
    "Gaussian Process",
    "Decision Tree",
    "Naive Bayes",
    "Linear SVM",
    "RBF SVM",
    "AdaBoost",
    "Random Forest",
)

#: For each shape the printed table: a line per model, and for each noise the PMV, test accuracy and difference columns.
PUBLISHED: dict[str, tuple[tuple[float, ...], ...]] = {
    "moon": (
        (0.61, 1.00, 0.00, 0.41, 1.00, 0.00, 0.18, 0.97, 0.03),
        (0.17, 0.96, 0.04, 0.17, 0.91, 0.09, 0.13, 0.94, 0.06),
        (0.61, 0.86, 0.87, 0.63, 0.87, 0.01, 0.60, 0.87, 0.00),
        (0.50, 0.80, 0.01, 0.51, 0.79, 0.00, 0.58, 0.80, 0.00),
        (0.87, 1.00, 0.00, 0.88, 1.00, 0.00, 0.76, 0.98, 0.00),
        (0.39, 1.00, 0.00, 0.26, 0.95, 0.05, 0.36, 0.93, 0.07),
        (0.10, 0.95, 0.05, 0.14, 0.94, 0.06, 0.07, 0.93, 0.07),
    ),
    "circle": (
        (0.40, 1.00, 0.00, 0.39, 1.00, 0.00, 0.37, 0.89, 0.03),
        (0.22, 1.00, 0.00, 0.04, 0.92, 0.08, 0.02, 0.78, 0.22),
        (0.88, 1.00, 0.00, 0.79, 0.98, 0.02, 0.59, 0.87, 0.05),
        (0.27, 0.37, 0.15, 0.22, 0.37, 0.15, 0.22, 0.37, 0.15),
        (0.68, 1.00, 0.00, 0.60, 1.00, 0.00, 0.40, 0.87, 0.05),
        (0.37, 0.99, 0.01, 0.14, 0.95, 0.05, 0.11, 0.82, 0.18),
        (0.13, 1.00, 0.00, 0.05, 0.96, 0.04, 0.04, 0.82, 0.17),
    ),
    "linear": (
        (0.61, 0.96, 0.00, 0.08, 0.96, 0.00, 0.09, 0.96, 0.00),
        (0.27, 0.87, 0.13, 0.07, 0.87, 0.13, 0.04, 0.88, 0.12),
        (0.71, 0.95, 0.01, 0.78, 0.95, 0.01, 0.74, 0.95, 0.01),
        (0.81, 0.94, 0.01, 0.83, 0.94, 0.01, 0.77, 0.94, 0.01),
        (0.57, 0.95, 0.02, 0.59, 0.95, 0.02, 0.45, 0.95, 0.02),
        (0.29, 0.89, 0.11, 0.20, 0.89, 0.11, 0.16, 0.89, 0.11),
        (0.10, 0.91, 0.09, 0.05, 0.91, 0.06, 0.03, 0.90, 0.10),
    ),
}

#: What the paper selects by its largest rates, at every noise.
SELECTED = {"moon": "RBF SVM", "circle": "Naive Bayes", "linear": "Linear SVM"}


def published_rates(shape: str, noise: float) -> dict[str, float]:
    """Return the printed rates of one column, by model.

    Examples
    --------
    >>> published_rates("moon", 0.1)["RBF SVM"]
    0.88
    """
    column = 3 * NOISES.index(noise)
    return {model: line[column] for model, line in zip(MODELS, PUBLISHED[shape], strict=True)}


def paper_table(shape: str, noise: float) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the rows of one of the tables: 100 of them, in two columns.

    Examples
    --------
    >>> X, y = paper_table("linear", 0.1)
    >>> X.shape, y.tolist().count(1)
    ((100, 2), 50)
    """
    from sklearn.datasets import make_circles, make_classification, make_moons

    if shape == "moon":
        X, y = make_moons(noise=noise, random_state=0)
    elif shape == "circle":
        X, y = make_circles(noise=noise, factor=0.5, random_state=1)
    else:
        X, y = make_classification(n_features=2, n_redundant=0, n_informative=2, random_state=1, n_clusters_per_class=1)
        X = X + 2 * np.random.RandomState(2).uniform(size=X.shape)
    return X, y


def paper_models() -> dict[str, Any]:
    """Return the classifiers of Table 1 by name."""
    from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF
    from sklearn.naive_bayes import GaussianNB
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    models = (
        GaussianProcessClassifier(1.0 * RBF(1.0)),
        DecisionTreeClassifier(max_depth=10),
        GaussianNB(),
        SVC(kernel="linear", C=0.025),
        SVC(gamma=2, C=1),
        AdaBoostClassifier(),
        RandomForestClassifier(n_estimators=10),
    )
    return dict(zip(MODELS, models, strict=True))


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
    heads = (
        "table and noise",
        "paper selects",
        "selected here",
        "no significant difference",
        "largest 10-fold accuracy",
    )
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
