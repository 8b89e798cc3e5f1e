"""Validation: a fitted model on rows of another table, beside what its study promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome
from truefit._methods.assessment.estimate import Estimate
from truefit._methods.candidates import Named
from truefit._methods.comparison.plan import CompareConfig
from truefit._methods.evaluation.inputs import check_two_classes
from truefit._methods.evaluation.promise import Agreement, Promise
from truefit._methods.evaluation.result import Evaluation
from truefit._methods.result import plain
from truefit._methods.text import MetricText, counted
from truefit._metrics.metric import Metric, get_metric


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
        unseen_categories: Sequence[str] = (),
    ) -> None:
        super().__init__(models, data, outcomes, metric, config, pos_label=pos_label)
        self.promise = promise
        self.unseen_classes = dict(unseen_classes or {})
        self._unseen_categories = list(unseen_categories)

    def under(self, metric: str, *, pos_label: Any = None) -> Evaluation:
        """Return this validation under another metric; the comparison with the study stays.

        Parameters
        ----------
        metric : str
            Name of a metric or of a scikit-learn scorer.
        pos_label : label, optional
            The positive class. By default that of the validation.
        """
        known = self._outcomes[self.names[0]][0].classes  # type: ignore[union-attr]
        label = self.pos_label if pos_label is None else pos_label
        check_two_classes(get_metric(metric, self._data.task, pos_label=label), self._data.y, known)
        return super().under(metric, pos_label=pos_label)

    @cached_property
    def agreement(self) -> Agreement | None:
        """The difference to the promise under its own metric and level; None without a promise."""
        promise, found = self.promise, self._promised_here
        if promise is None or not isinstance(found, Estimate):
            return None
        return Agreement.between(found.value, found.interval, promise.estimate, promise.interval)

    @cached_property
    def _promised_here(self) -> Estimate | str | None:
        """The estimate on the new rows by the metric and level of the promise, or why there is none."""
        if self.promise is None:
            return None
        here = copy(self)
        here.level = self.promise.level
        try:
            return here.under(self.promise.metric, pos_label=self.promise.pos_label).estimates[self.names[0]]
        except InvalidInput as error:  # such as an AUC where the new rows have a class that the model does not know
            return str(error)

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
        promise, agreement, found = self.promise, self.agreement, self._promised_here
        if promise is None:
            return ["The model carries no estimate of a study, so there is none to compare with."]
        fmt = MetricText.from_name(promise.metric)
        ends = "no interval" if promise.interval is None else fmt.between(promise.interval)
        promised = (
            f"Its study promised {fmt.named(promise.estimate)} ({ends} at {promise.level:.0%}) from "
            f"{counted(promise.rows, 'row')}."
        )
        if agreement is None or not isinstance(found, Estimate):
            return [promised, f"It cannot be compared with the new rows: {found}"]
        if promise.metric != self.metric:
            ends = "no interval" if found.interval is None else fmt.between(found.interval)
            promised += f" On the new rows it is {fmt.value(found.value)} ({ends})."
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
        categories = f"categories that the model was not fitted on: {'; '.join(self._unseen_categories)}."
        return [*super().notes, *([unseen] if rows else []), *([categories] if self._unseen_categories else [])]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        beside = {
            "promise": None if self.promise is None else self.promise.to_dict(),
            **{name: getattr(self, name) for name in ("difference", "difference_interval", "agrees")},
            "unseen_classes": self.unseen_classes,
        }
        return {**super().to_dict(), "kind": "validation", **plain(beside)}
