"""Validation: a fitted model on rows of another table, beside what its study promised."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from typing import Any

from truefit._core.data import Data
from truefit._core.outcome import Outcome
from truefit._methods.candidates import Named
from truefit._methods.comparison.plan import CompareConfig
from truefit._methods.evaluation.promise import Agreement, Promise
from truefit._methods.evaluation.result import Evaluation
from truefit._methods.result import plain
from truefit._methods.text import MetricText, counted
from truefit._metrics.metric import Metric


class Validation(Evaluation):
    """A fitted model on new rows, with intervals, beside the estimate of the study that made it.

    Attributes
    ----------
    promise : Promise or None
        The study's estimate, interval and metric; None where the model carries none.
    agrees : bool or None
        Whether the new rows agree with it: the interval of the difference contains 0. None where there is no promise,
        or one of the two estimates has no interval.
    difference, difference_interval : float and tuple of float, or None
        The estimate on the new rows minus the promised one, under the metric of the promise.
    unseen_classes : dict
        Number of rows of each class that the model does not know. They count as errors.
    """

    title = "External validation"

    def __init__(
        self,
        models: Named,
        data: Data,
        outcomes: Mapping[str, Outcome],
        metric: Metric,
        config: CompareConfig,
        *,
        pos_label: Any = None,
        promise: Promise | None = None,
        unseen_classes: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(models, data, outcomes, metric, config, pos_label=pos_label)
        self.promise = promise
        self.unseen_classes = dict(unseen_classes or {})

    @cached_property
    def agreement(self) -> Agreement | None:
        """The difference to the promise under its own metric and level; None without a promise."""
        promise = self.promise
        if promise is None:
            return None
        here = copy(self)
        here.level = promise.level
        found = here.under(promise.metric, pos_label=promise.pos_label).estimates[self.names[0]]
        return Agreement.between(found.value, found.interval, promise.estimate, promise.interval)

    @property
    def agrees(self) -> bool | None:
        """Whether the new rows agree with the promise."""
        return None if self.agreement is None else self.agreement.agrees

    @property
    def difference(self) -> float | None:
        """The estimate on the new rows minus the promised one."""
        return None if self.agreement is None else self.agreement.difference

    @property
    def difference_interval(self) -> tuple[float, float] | None:
        """Interval of the difference, from both intervals."""
        return None if self.agreement is None else self.agreement.interval

    @property
    def estimand(self) -> str:
        """What the estimate is an estimate of."""
        return super().estimand.replace("the model that made these predictions", "the fitted model")

    def _remarks(self) -> list[str]:
        return [*self.verdict, *super()._remarks()]

    @property
    def verdict(self) -> list[str]:
        """What the study promised, the difference to it, and whether the two agree."""
        promise, agreement = self.promise, self.agreement
        if promise is None or agreement is None:
            return ["The model carries no estimate of a study, so there is none to compare with."]
        fmt = MetricText.from_name(promise.metric)
        ends = "no interval" if promise.interval is None else fmt.between(promise.interval)
        promised = (
            f"Its study promised {fmt.named(promise.estimate)} ({ends} at {promise.level:.0%}) from "
            f"{counted(promise.rows, 'row')}."
        )
        difference = f"The difference is {fmt.difference(agreement.difference, agreement.interval)}"
        if agreement.agrees is None:
            return [promised, f"{difference}; without both intervals it cannot be tested."]
        verdict = "The two agree: no significant difference." if agreement.agrees else "The two differ significantly."
        return [promised, f"{difference}. {verdict}"]

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        rows = [f"{count:,} of {label!r}" for label, count in self.unseen_classes.items()]
        unseen = f"rows of classes that the model does not know count as errors: {', '.join(rows)}."
        return [*super().notes, *([unseen] if rows else [])]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        beside = {
            "promise": None if self.promise is None else self.promise.to_dict(),
            **{name: getattr(self, name) for name in ("difference", "difference_interval", "agrees")},
            "unseen_classes": self.unseen_classes,
        }
        return {**super().to_dict(), "kind": "validation", **plain(beside)}
