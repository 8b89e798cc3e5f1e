"""Result of a perturbation: decrease rates, memorisation, and flags for over- and underfitting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._methods.complexity import RademacherComplexity
from truefit._methods.perturbation.config import PerturbationConfig
from truefit._methods.perturbation.verdict import MEMORISES_LEARNABLE, FoldErrors, NoiseResponse, diagnose
from truefit._methods.result import EstimatorResult, plain, plot_method
from truefit._metrics.row_loss import is_share
from truefit._plots.curve import Series, bands
from truefit._plots.perturbation import rate_and_errors, rates
from truefit._stats.bounds import rademacher_slack, srm_risk
from truefit._stats.intervals import t_interval

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from truefit._methods.perturbation.plan import RatePair

_NAN = float("nan")
#: Probability that a bound does not hold.
_DELTA = 0.05
#: Where the rate of the majority class is above this, learners are compared by skill instead of rate.
_IMBALANCED = 0.1

_NOISE = {
    "label": "labels flipped within each class",
    "random": "labels flipped",
    "boundary": "labels flipped near the decision boundary",
    "feature": "features of some rows taken from other rows",
    "target": "targets permuted",
}
_SHARES = {"feature": "share of rows with features of other rows", "target": "share of targets permuted"}


class Perturbation(EstimatorResult):
    """Decrease rates with intervals, and whether learners memorise, over- or underfit.

    With one estimator each number is a float and an interval a pair; with several each is a dict by name.

    Attributes
    ----------
    rate
        Decrease rate: how fast the agreement with the training targets falls with the share of noise. About 1 for a
        learner that fits the concept and memorises no noise, 0 for one that memorises all of it or that has learned
        nothing. In paper mode without its sign.
    interval
        Interval of the rate over the repeats; None with one repeat.
    rates
        The rate of each repeat.
    dummy_rate
        The rate of the majority class, which is above 0 where classes are of different sizes.
    skill
        The rate above that of the majority class: (rate − dummy_rate)/(1 − dummy_rate).
    training
        Accuracy, or correlation, on the original training data.
    memorisation
        Share of the noise that a learner memorises, from 0 to 1; None near chance, where it is undefined.
    memorisation_interval
        Interval of the memorisation over the repeats.
    verdict
        One of "memorises", "overfitted", "underfitted" and "no flag".
    reasons
        The numbers behind the verdict, as a sentence.
    best : str or None
        Name of the estimator with the largest rate.
    by_name : dict of NoiseResponse
        All that was measured, by name.
    errors : FoldErrors or None
        Errors of the estimators on the same folds.
    parameter : (str, list) or None
        The one parameter that the estimators differ in, and its values.

    Notes
    -----
    Intervals are over repeats of the noise and of the learner's random numbers. The rows are fixed.
    """

    title = "Perturbed model validation"

    def __init__(
        self,
        config: PerturbationConfig,
        by_name: Mapping[str, NoiseResponse],
        *,
        pairs: Sequence[RatePair],
        best: str | None,
        errors: FoldErrors | None,
        complexity: RademacherComplexity | None,
        varied: tuple[str, list[Any]] | None,
        single: bool,
    ) -> None:
        self.names = list(by_name)
        self.rows, self.task = config.rows, config.data.task
        self.perturbation, self.mode, self.level = config.kind, config.mode, config.level
        self.levels, self.repeats = config.stages[-1].levels, config.stages[-1].repeats
        self.adaptive = len(config.stages) > 1
        self.best = best
        self.errors = errors
        self.parameter = varied
        self.by_name = dict(by_name)
        self.single = single
        self._pairs = list(pairs)
        self._classes = None if config.data.classes is None else len(config.data.classes)
        self._complexity: dict[str, float] | None = None
        if complexity is not None:
            self._complexity = {self.names[0]: complexity.value} if single else complexity.value
        self._diagnoses = diagnose(self.by_name, errors, classes=self._classes, kind=config.kind)
        self.rate, self.interval, self.rates, self.dummy_rate, self.skill = (
            self._each(name, by_name) for name in ("rate", "interval", "rates", "dummy_rate", "skill")
        )
        self.training, self.memorisation, self.memorisation_interval = (
            self._each(name, by_name) for name in ("training", "memorisation", "memorisation_interval")
        )
        self.verdict, self.reasons = self._each("flag", self._diagnoses), self._each("reason", self._diagnoses)

    @cached_property
    def ties(self) -> list[str]:
        """Names with no significant difference to the largest rate, that one included.

        A single repeat allows no test; then only the largest is named.
        """
        tested = [pair for pair in self._pairs if pair.found is not None]
        ties = {pair.candidate for pair in tested if not pair.significantly_different(self.level)}
        return [name for name in self.names if name == self.best or name in ties]

    @property
    def srm_risk(self) -> Any:
        """Structural risk by Eq. 6 of the paper, an index: smaller is better. None for a regression."""
        return self._one_or_all({name: self._risk(name) for name in self.names})

    def _risk(self, name: str) -> float | None:
        if self._classes is None or self.perturbation == "feature":
            return None
        return srm_risk(self.by_name[name].rate, self.rows, _DELTA)

    @property
    def srm_bound(self) -> Any:
        """Bound of the true error by Eq. 2, from the Rademacher complexity; None without ``bounds=True``."""
        return self._one_or_all({name: self._bound(name) for name in self.names})

    def _bound(self, name: str) -> float | None:
        if self._complexity is None:
            return None
        return 1 - self.by_name[name].training + self._complexity[name] + rademacher_slack(self.rows, _DELTA)

    @cached_property
    def differences(self) -> pd.DataFrame:
        """One row per candidate but the leader: its rate minus the leader's on the same noise, and whether they tie."""
        import pandas as pd

        lines = []
        for pair in self._pairs:
            found = (_NAN,) * 4
            if pair.found is not None:
                found = (pair.found.mean, *pair.found.interval(self.level), pair.found.p)
            lines.append((pair.candidate, pair.leader, *found, pair.p_adjusted, pair.candidate in self.ties))
        columns = ["candidate", "leader", "difference", "low", "high", "p", "p_adjusted", "tie"]
        return pd.DataFrame(lines, columns=columns)

    def _line(self, name: str) -> dict[str, Any]:
        """Return a row of the table; ``estimate`` is the rate."""
        each = self.by_name[name]
        low, high = each.interval or (_NAN, _NAN)
        memory_low, memory_high = each.memorisation_interval or (_NAN, _NAN)
        line: dict[str, Any] = {"estimate": each.rate, "low": low, "high": high, "skill": each.skill}
        line |= {"training": each.training, "dummy_rate": each.dummy_rate, "ideal_rate": each.ideal}
        line |= {"memorisation": _NAN if each.memorisation is None else each.memorisation}
        line |= {"memorisation_low": memory_low, "memorisation_high": memory_high}
        if self.errors is not None:
            line |= {f"cv_{self.errors.metric}": self.errors.estimates[name][0]}
        if self._risk(name) is not None:
            line |= {"srm_risk": self._risk(name)}
        if self._complexity is not None:
            line |= {"rademacher": self._complexity[name], "srm_bound": self._bound(name)}
        line |= {"tie": name in self.ties, "verdict": self._diagnoses[name].flag}
        line |= {"levels": len(each.levels), "repeats": each.repeats, "failed": each.failed}
        return line | {"fit_seconds": each.fit_seconds}

    @cached_property
    def curves(self) -> pd.DataFrame:
        """Agreement at each noise level of each repeat; ``share`` is the level rounded to whole rows."""
        import pandas as pd

        frames = []
        for name in self.names:
            each = self.by_name[name]
            repeat, level = np.indices(each.values.shape).reshape(2, -1)
            frames.append(
                pd.DataFrame(
                    {"estimator": name, "repeat": repeat, "level": np.array(each.levels)[level]}
                    | {"share": each.shares.ravel(), "value": each.values.ravel(), "dummy": each.baselines.ravel()}
                )
            )
        return pd.concat(frames, ignore_index=True)

    @property
    def measure(self) -> str:
        """What is measured at each noise level."""
        return "training accuracy" if self._classes is not None else "correlation with training targets"

    @property
    def heading(self) -> str:
        """What was measured, and how."""
        times = f"{self.repeats} repeats" if self.repeats > 1 else "1 repeat"
        return (
            f"{self.measure.capitalize()} with {_NOISE[self.perturbation]}, {self.rows:,} rows, "
            f"{len(self.levels)} levels up to {max(self.levels):g}, {times}"
        )

    def _remarks(self) -> list[str]:
        """Return the largest rate, and the verdicts with their reasons."""
        verdicts = []
        for name, each in self._diagnoses.items():
            flag = "" if each.reason.startswith(each.flag) else f"{each.flag}; "
            verdicts.append(f"{name}: {flag}{each.reason}")
        return [*self._leader(), *verdicts]

    def _text(self, name: str) -> str:
        each = self.by_name[name]
        if not each.known:
            return "no rate"
        ends = "no interval: one repeat"
        if each.interval is not None:
            low, high = (f"{end:.3f}" for end in each.interval)
            bounds = "narrower than 0.001" if low == high else f"{low} to {high}"
            ends = f"{self.level:.0%} interval {bounds}"
        memory = "undefined" if each.memorisation is None else f"{each.memorisation:.2f}"
        return f"rate {each.rate:.3f}  ({ends})  skill {each.skill:.3f}  memorisation {memory}"

    def _leader(self) -> list[str]:
        if self.best is None or len(self.names) < 2:
            return []
        others = ", ".join(name for name in self.ties if name != self.best)
        if any(pair.found is None for pair in self._pairs):
            return [f"{self.best} has the largest rate; one repeat does not show which differences are significant."]
        if not others:
            return [f"{self.best} has a significantly larger rate than all others (paired t-tests, Holm-corrected)."]
        return [
            f"{self.best} has the largest rate; no significant difference from {others} (paired t-tests, "
            "Holm-corrected)."
        ]

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        known = [each for each in self.by_name.values() if each.known]
        notes = []
        if self.repeats > 1:
            notes.append("intervals are for repeated noise on the same rows, not for other rows.")
        if self.mode == "paper":
            notes.append("rates are without their sign, as in the paper.")
        if known and known[0].dummy_rate > _IMBALANCED:
            rate = known[0].dummy_rate
            notes.append(f"always predicting the majority class has a decrease rate of {rate:.3f} here.")
        if self.perturbation == "boundary":
            notes.append(f"the decision boundary is that of {self.names[0]}, from out-of-fold predictions.")
        if self.perturbation in ("boundary", "feature"):
            notes.append(f"this noise can partly be learned; only more than {MEMORISES_LEARNABLE:.0%} is memorising.")
        if self.adaptive and len({(each.levels, each.repeats) for each in known}) > 1:
            notes.append("candidates dropped early were measured at fewer levels or repeats; see the table.")
        if any(each.memorisation is None for each in known):
            notes.append(
                "no memorisation is given for a model that is hardly better than the baseline on its training rows."
            )
        missing = sum(each.missing for each in self.by_name.values())
        if missing:
            notes.append(f"time budget exhausted: {missing} fits were not run.")
        if any(each.flag == "no flag" for each in self._diagnoses.values()):
            notes.append(
                "injected noise does not show moderate underfitting; bias and variance or a learning curve can."
            )
        return notes

    @plot_method("rate", "errors")
    def plot(self, kind: Literal["rate", "errors"] | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the perturbation.

        Parameters
        ----------
        kind : {"rate", "errors"}, optional
            By default the agreement against the share of noise, as the upper row of Fig. 3 of the paper. "rate": the
            rates with their intervals, ties highlighted, against the one parameter that the candidates differ in or
            by name (lower row). "errors": the rates beside the errors on training rows and on folds (Fig. 4).
        ax : matplotlib Axes, optional
            Where to draw. A new figure by default, which a notebook displays.
        """
        return {None: _agreement, "rate": _rates, "errors": _errors}[kind](self, ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "perturbation",
            "version": 1,
            **self._values("perturbation", "mode", "rows", "levels", "repeats", "level", "best", "ties"),
            "parameter": None if self.parameter is None else self.parameter[0],
            "estimators": [
                {
                    "name": name,
                    **plain(self._line(name)),
                    "reason": self._diagnoses[name].reason,
                    "rates": each.rates.tolist(),
                    "noise_levels": list(each.levels),
                    "values": each.values.tolist(),
                }
                for name, each in self.by_name.items()
            ],
            "differences": plain(self.differences.to_dict("records")),
            "notes": self.notes,
        }


def _agreement(result: Perturbation, ax: Axes | None) -> Axes:
    """Agreement against the share of noise, at the levels that all candidates have."""
    known = [each for each in result.by_name.values() if each.known]
    levels = [level for level in result.levels if all(level in each.levels for each in known)]
    series: dict[str, Series] = {name: _band(each, levels) for name, each in result.by_name.items()}
    if result.single and known:
        (each,) = known
        series["no memorisation"] = ([each.training - each.ideal * level for level in levels], None, None)
        if result.task == "classification":
            alone = [float(_at(each, each.baselines, level).mean()) for level in levels]
            series["largest class alone"] = (alone, None, None)
    xlabel = _SHARES.get(result.perturbation, "share of labels flipped")
    label, percent = _with_level(result, result.measure), result.task == "classification"
    return bands(levels, series, xlabel=xlabel, ylabel=label, percent=percent, percent_x=True, ax=ax)


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
        ylabel=_with_level(result, f"decrease rate: drop in {result.measure} per share of noise"),
        log_x=_spans_decades(places),
        ax=ax,
    )


def _errors(result: Perturbation, ax: Axes | None) -> Axes:
    errors = result.errors
    if errors is None:
        raise InvalidInput("kind='errors' needs errors on folds. None were measured; pass cv=5.")
    label, places = _places(result)
    value, low, high = (list(column) for column in zip(*(errors.estimates[n] for n in result.names), strict=True))
    # The training correlation of a regression is not an error.
    regression = result.task == "regression"
    return rate_and_errors(
        places,
        _found(result),
        train=None if regression else [1 - result.by_name[name].training for name in result.names],
        test=(value, low, high),
        xlabel=label,
        metric=errors.metric,
        log_x=_spans_decades(places),
        percent=is_share(errors.metric),
        ax=ax,
    )


def _spans_decades(places: Sequence[Any]) -> bool:
    """Whether places are positive numbers of very different sizes."""
    numbers = [float(p) for p in places if isinstance(p, int | float | np.number) and not isinstance(p, bool)]
    return len(numbers) == len(places) and min(numbers) > 0 and max(numbers) / min(numbers) >= 50
