"""Displays of a perturbation: agreement against noise, rates, and rates beside errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._methods.perturbation.verdict import NoiseResponse
from truefit._plots.curve import Series, bands
from truefit._plots.perturbation import rate_and_errors, rates
from truefit._stats.intervals import t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from truefit._methods.perturbation.result import Perturbation

_NAN = float("nan")
_SHARES = {"feature": "share of rows with features of others", "target": "share of targets permuted"}


def draw(result: Perturbation, kind: str | None, *, ax: Axes | None) -> Axes:
    """Draw one of the pictures by its name."""
    if kind is None:
        return _agreement(result, ax)
    if kind == "rate":
        return _rates(result, ax)
    if kind == "errors":
        return _errors(result, ax)
    raise InvalidInput(f"The 'kind' of plot must be None, 'rate' or 'errors'. Got {kind!r} instead.")


def _agreement(result: Perturbation, ax: Axes | None) -> Axes:
    """Agreement against the share of noise, at the levels that all candidates have."""
    known = [each for each in result.by_name.values() if each.known]
    levels = [level for level in result.levels if all(level in each.levels for each in known)]
    series: dict[str, Series] = {name: _band(each, levels) for name, each in result.by_name.items()}
    if result.single and known:
        (each,) = known
        series["without memorising"] = ([each.training - each.ideal * level for level in levels], None, None)
        if result.task == "classification":
            alone = [float(_at(each, each.baselines, level).mean()) for level in levels]
            series["largest class alone"] = (alone, None, None)
    label = _with_level(result, result.measure)
    return bands(
        levels, series, xlabel=_SHARES.get(result.perturbation, "share of labels flipped"), ylabel=label, ax=ax
    )


def _band(each: NoiseResponse, levels: Sequence[float]) -> Series:
    if not each.known:
        return [_NAN] * len(levels), None, None
    columns = [_at(each, each.values, level) for level in levels]
    ends = [t_interval(column, each.level) if len(column) > 1 else (_NAN, _NAN) for column in columns]
    return [float(column.mean()) for column in columns], [low for low, _ in ends], [high for _, high in ends]


def _at(each: NoiseResponse, values: npt.NDArray[np.float64], level: float) -> npt.NDArray[np.float64]:
    return values[:, each.levels.index(level)]


def _with_level(result: Perturbation, label: str) -> str:
    return f"{label} ({result.level:.0%} interval)" if result.repeats > 1 else label


def _places(result: Perturbation) -> tuple[str, list[Any]]:
    return ("", list(result.names)) if result.parameter is None else result.parameter


def _found(result: Perturbation) -> tuple[list[float], list[float], list[float]]:
    each = [result.by_name[name] for name in result.names]
    ends = [one.interval or (_NAN, _NAN) for one in each]
    return [one.rate for one in each], [low for low, _ in ends], [high for _, high in ends]


def _rates(result: Perturbation, ax: Axes | None) -> Axes:
    label, places = _places(result)
    return rates(
        places,
        _found(result),
        ties=[place for name, place in zip(result.names, places, strict=True) if name in result.ties],
        best=None if result.best is None else places[result.names.index(result.best)],
        xlabel=label,
        ylabel=_with_level(result, "decrease rate"),
        log_x=_spans_decades(places),
        ax=ax,
    )


def _errors(result: Perturbation, ax: Axes | None) -> Axes:
    errors = result.errors
    if errors is None:
        raise InvalidInput("Errors on folds are drawn beside the rates. None were measured; pass cv=5.")
    label, places = _places(result)
    value, low, high = (list(column) for column in zip(*(errors.estimates[n] for n in result.names), strict=True))
    # A correlation is no error: of a regression only the errors on folds stand beside the rates.
    regression = result.task == "regression"
    return rate_and_errors(
        places,
        _found(result),
        train=None if regression else [1 - result.by_name[name].training for name in result.names],
        test=(value, low, high),
        xlabel=label,
        metric=errors.metric,
        log_x=_spans_decades(places),
        ax=ax,
    )


def _spans_decades(places: Sequence[Any]) -> bool:
    """Whether places are positive numbers of very different sizes."""
    numbers = [float(p) for p in places if isinstance(p, int | float | np.number) and not isinstance(p, bool)]
    return len(numbers) == len(places) and min(numbers) > 0 and max(numbers) / min(numbers) >= 50
