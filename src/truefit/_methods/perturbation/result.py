"""Perturbation: what noise in the training data does to learners, and what that says about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truefit._methods.complexity import RademacherComplexity
from truefit._methods.perturbation.config import PerturbationConfig
from truefit._methods.perturbation.plot import draw
from truefit._methods.perturbation.verdict import NEAR_CHANCE, FoldErrors, NoiseResponse, diagnose
from truefit._methods.result import EstimatorResult, plain
from truefit._stats.bounds import rademacher_slack, srm_risk

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from truefit._methods.perturbation.plan import RatePair

_NAN = float("nan")
#: Chance that a bound does not hold.
_DELTA = 0.05
#: Above this rate of the largest class the plain rate is misleading without the skill beside it.
_IMBALANCED = 0.1

_NOISE = {
    "label": "labels flipped within each class",
    "random": "labels flipped",
    "boundary": "labels flipped near the decision boundary",
    "feature": "features of some rows taken from others",
    "target": "targets permuted",
}


class Perturbation(EstimatorResult):
    """Decrease rates with intervals, and whether learners memorise, over- or underfit.

    With one estimator each number is a float and an interval a pair; with several each is a dict by name.

    Attributes
    ----------
    rate
        Decrease rate: how fast the agreement with the training targets falls with the share of noise. About 1 for a
        learner that fits the concept and does not follow the noise, 0 for one that follows all of it or that has
        learned nothing. In paper mode without its sign.
    interval
        Interval of the rate over the repeats; None where one repeat shows no spread.
    rates
        The rate of each repeat.
    dummy_rate
        The rate of the largest class alone, which is above 0 where classes are of different sizes.
    skill
        The rate beyond that of the largest class alone: (rate − dummy_rate)/(1 − dummy_rate).
    training
        Accuracy, or correlation, on the undisturbed training data.
    memorisation, memorisation_interval
        How much of the noise a learner follows, 0 none and 1 all, with its interval over the repeats; None near chance,
        where it cannot be measured.
    verdict, reasons
        One of "memorises", "overfitted", "underfitted" and "no flag", and the numbers behind it in words.
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
    An interval is over repeats of the noise, and of the learner's own random numbers. The rows themselves are taken
    as they are.
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
        self.rows = config.rows
        self.task = config.data.task
        self.perturbation = config.kind
        self.mode = config.mode
        self.level = config.level
        self.levels = config.stages[-1].levels
        self.repeats = config.stages[-1].repeats
        self.adaptive = len(config.stages) > 1
        self.best = best
        self.errors = errors
        self.parameter = varied
        self.by_name = dict(by_name)
        self._pairs = list(pairs)
        self.single = single
        self._classes = None if config.data.classes is None else len(config.data.classes)
        self._complexity: dict[str, float] | None = None
        if complexity is not None:
            self._complexity = {self.names[0]: complexity.value} if single else complexity.value
        learnable = config.kind in ("boundary", "feature")
        self._diagnoses = diagnose(self.by_name, errors, classes=self._classes, learnable=learnable)
        self.rate, self.interval, self.rates = self._each("rate"), self._each("interval"), self._each("rates")
        self.dummy_rate, self.skill, self.training = (self._each(each) for each in ("dummy_rate", "skill", "training"))
        self.memorisation = self._each("memorisation")
        self.memorisation_interval = self._each("memorisation_interval")
        self.verdict = self._one_or_all({name: each.flag for name, each in self._diagnoses.items()})
        self.reasons = self._one_or_all({name: each.words for name, each in self._diagnoses.items()})

    def _each(self, name: str) -> Any:
        return self._one_or_all({each: getattr(self.by_name[each], name) for each in self.names})

    @cached_property
    def ties(self) -> list[str]:
        """Names whose rate cannot be told apart from the largest one; that one is among them.

        With a single repeat nothing can be told apart by chance or otherwise, and only the largest is named.
        """
        alike = {
            pair.candidate
            for pair in self._pairs
            if pair.found is not None and not pair.significantly_different(self.level)
        }
        return [name for name in self.names if name == self.best or name in alike]

    @property
    def srm_risk(self) -> Any:
        """Structural risk by Eq. 6 of the paper: an index, smaller is better, no bound. None for a regression."""
        return self._one_or_all({name: self._risk(name) for name in self.names})

    def _risk(self, name: str) -> float | None:
        if self._classes is None or self.perturbation == "feature":
            return None
        return srm_risk(self.by_name[name].rate, self.rows, _DELTA)

    @property
    def srm_bound(self) -> Any:
        """Bound of the true error by Eq. 2, from the measured Rademacher complexity; None without ``bounds=True``."""
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
            low, high = (_NAN, _NAN) if pair.found is None else pair.found.interval(self.level)
            found = (_NAN, _NAN) if pair.found is None else (pair.found.mean, pair.found.p)
            lines.append(
                {"candidate": pair.candidate, "leader": pair.leader, "difference": found[0], "low": low, "high": high}
                | {"p": found[1], "p_adjusted": pair.p_adjusted, "tie": pair.candidate in self.ties}
            )
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
        """Agreement at each noise level of each repeat: estimator, repeat, level, share, value, dummy.

        ``share`` is what was really disturbed, counts being whole.
        """
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
        """What is followed along the noise."""
        return "training accuracy" if self._classes is not None else "correlation with training targets"

    @property
    def heading(self) -> str:
        """What was measured, and how."""
        times = f"{self.repeats} repeats" if self.repeats > 1 else "once"
        return (
            f"{self.measure.capitalize()} with {_NOISE[self.perturbation]}, {self.rows:,} rows, "
            f"{len(self.levels)} levels up to {max(self.levels):g}, {times}"
        )

    def _remarks(self) -> list[str]:
        """Return who leads, and the verdicts with their numbers."""
        verdicts = [f"{name}: {each.flag}; {each.words}" for name, each in self._diagnoses.items()]
        return [self._standing, *verdicts] if self._standing else verdicts

    def _text(self, name: str) -> str:
        each = self.by_name[name]
        if not each.known:
            return "rate not known"
        ends = "no interval: one repeat"
        if each.interval is not None:
            ends = f"{self.level:.0%} interval {each.interval[0]:.3f} to {each.interval[1]:.3f}"
        memory = "cannot be told" if each.memorisation is None else f"{each.memorisation:.2f}"
        return f"rate {each.rate:.3f}  ({ends})  skill {each.skill:.3f}  memorisation {memory}"

    @property
    def _standing(self) -> str:
        if self.best is None or self.single:
            return ""
        others = [name for name in self.ties if name != self.best]
        first = f"{self.best} has the largest rate"
        if any(pair.found is None for pair in self._pairs):
            return f"{first}; with one repeat it cannot be told which others come near it."
        if not others:
            return f"{first}, and the others are told apart from it."
        return f"{first}; {', '.join(others)} cannot be told apart from it."

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        known = [each for each in self.by_name.values() if each.known]
        notes = []
        if self.repeats > 1:
            notes.append("intervals are over repeats of the noise; the rows themselves are taken as they are.")
        if self.mode == "paper":
            notes.append("as in the paper rates are given without their sign.")
        baseline = known[0].dummy_rate if known else 0.0
        if baseline > _IMBALANCED:
            notes.append(f"the largest class alone has a rate of {baseline:.3f}, so compare by skill across tables.")
        if self.perturbation == "boundary":
            notes.append(f"the boundary is that of {self.names[0]}, by models that had not seen the rows.")
        if self.perturbation in ("boundary", "feature"):
            notes.append("such noise can partly be learned: following some of it is not called memorising.")
        if self.adaptive and len({(each.levels, each.repeats) for each in known}) > 1:
            notes.append("candidates that fell behind early were measured at fewer levels or repeats: see the table.")
        if any(each.memorisation is None for each in known):
            notes.append(
                f"memorisation is not defined where the rate of a learner that does not follow noise is below "
                f"{NEAR_CHANCE:g}: near chance there is nothing to lose."
            )
        missing = sum(each.missing for each in self.by_name.values())
        if missing:
            notes.append(f"the time budget was spent before {missing} of the fits were run.")
        if any(each.flag == "no flag" for each in self._diagnoses.values()):
            notes.append("moderate underfitting cannot be seen so: bias_variance and learning curves can show it.")
        return notes

    def plot(self, ax: Axes | None = None, *, kind: Literal["rate", "errors"] | None = None) -> Axes:
        """Draw the perturbation.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        kind : {"rate", "errors"}, optional
            By default the agreement against the share of noise, as the upper row of Fig. 3 of the paper. "rate": the
            rates with their intervals, those that tie set off, against the one parameter that the candidates differ in
            or by name (lower row). "errors": the rates beside the errors on training rows and on folds (Fig. 4).
        """
        return draw(self, kind, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "perturbation",
            "version": 1,
            "perturbation": self.perturbation,
            "mode": self.mode,
            "rows": self.rows,
            "levels": list(self.levels),
            "repeats": self.repeats,
            "level": self.level,
            "best": self.best,
            "ties": self.ties,
            "parameter": None if self.parameter is None else self.parameter[0],
            "estimators": [
                {
                    "name": name,
                    **{key: plain(value) for key, value in self._line(name).items()},
                    "reason": self._diagnoses[name].words,
                    "rates": self.by_name[name].rates.tolist(),
                    "noise_levels": list(self.by_name[name].levels),
                    "values": self.by_name[name].values.tolist(),
                }
                for name in self.names
            ],
            "differences": [
                {key: plain(value) for key, value in line.items()} for line in self.differences.to_dict("records")
            ],
            "notes": self.notes,
        }
