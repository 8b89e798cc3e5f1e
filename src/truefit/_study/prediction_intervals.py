"""Prediction intervals of the selected model of a study: the fit on the study's folds, and its coverage on the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from truefit._core.errors import InvalidInput
from truefit._methods.result import plain
from truefit._plots.forest import forest
from truefit._stats.intervals import wilson
from truefit._study.config import StudyConfig
from truefit.estimators.intervals import IntervalClassifier, IntervalRegressor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from truefit._api.engine import Engine


def with_intervals(
    engine: Engine, config: StudyConfig, estimator: Any, kept: dict[bytes, Any]
) -> IntervalRegressor | IntervalClassifier:
    """Fit an estimator with prediction intervals or sets, on the folds of the study; see ``with_kept_models``."""
    data = config.data
    if data.time is not None:
        raise InvalidInput(
            "Prediction intervals need new rows that are like those of the table. This study has rows in time order: "
            "run one without time, or with the periods as groups."
        )
    estimator = clone(estimator)
    if "engine" in estimator.get_params(deep=False):
        estimator.set_params(engine=None)  # it is fitted as a whole, by the engine of the study
    kind = IntervalRegressor if data.task == "regression" else IntervalClassifier
    model = kind(estimator, cv=len(config.splits), level=config.level, random_state=config.random_state, engine=engine)
    fitted: IntervalRegressor | IntervalClassifier = model._fit_on(config.splits, data, kept)
    return fitted


def coverage_of(model: IntervalRegressor | IntervalClassifier, name: str) -> dict[str, Any]:
    """Return the coverage on held-out rows as plain JSON types."""
    table = model.coverage_
    return {
        "model": name,
        "level": model.level,
        "size": str(table.columns[-1]),
        "rows": plain(table.reset_index().to_numpy().tolist()),
    }


def draw_coverage(found: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw the coverage by size of prediction, each with Wilson's 95% interval."""
    rows = found["rows"]
    ends = [wilson(row[2], row[1]) for row in rows]
    lows, highs = zip(*ends, strict=True)
    return forest(
        [str(row[0]) for row in rows], [row[2] for row in rows], lows, highs, best="all rows", percent=True,
        xlabel=f"share of held-out rows in their {found['level']:.0%} prediction "
        f"{'set' if found['size'] == 'classes' else 'interval'}", ax=ax,
    )  # fmt: skip
