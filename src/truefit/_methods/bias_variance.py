"""Bias and variance: how much of a learner's error stays whatever rows it is trained on, and how much moves with them.

The learner is trained on bootstrap samples, and each model is judged on rows that it did not see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.errors import BudgetSpent, InvalidInput
from truefit._core.metadata import check_takes_weights
from truefit._core.outcome import Outcome
from truefit._core.protocols import Plan
from truefit._core.rows import Rows
from truefit._core.task import Ask, FitTask
from truefit._methods.assessment.plan import portions
from truefit._methods.candidates import Candidates, default_responses
from truefit._methods.result import EstimatorResult, plain, report_failures
from truefit._methods.splitting.designs import draw_samples
from truefit._methods.splitting.splits import Split, is_whole, row_subset
from truefit._metrics.scorers import StoredPredictor
from truefit._plots.bias_variance import bias_variance as draw
from truefit._stats.decomposition import (
    LEAST_ROUNDS,
    Influence,
    LossComponents,
    SquaredTally,
    Tally,
    ZeroOneTally,
    monte_carlo_error,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Loss = Literal["squared", "0-1"]

_NAN = float("nan")
_UNKNOWN = LossComponents(_NAN, _NAN, _NAN, 0, 0)
_UNSURE = Influence(_NAN, _NAN, _NAN)


@dataclass(frozen=True)
class BiasVarianceConfig:
    """What is decomposed, and over which rounds.

    Models are trained on samples of the first ``trained`` rows of the table. They are judged on the rows below these,
    or, where there are none, on the rows that a sample left out.
    """

    data: Data
    trained: int
    rounds: int
    loss: Loss
    noise: float | None
    random_state: int | None

    @property
    def out_of_bag(self) -> bool:
        """Whether the rows that are judged are those left out of the samples."""
        return self.trained == self.data.n

    @property
    def judged_from(self) -> int:
        """Position of the first row that may be judged."""
        return 0 if self.out_of_bag else self.trained

    def splits(self) -> Iterator[Split]:
        """Rows to train on and rows to judge, round by round."""
        table = self.data if self.out_of_bag else row_subset(self.data, np.arange(self.trained))
        below = Rows.of(np.arange(self.judged_from, self.data.n))
        for sample in draw_samples(table, self.rounds, self.random_state):
            yield sample if self.out_of_bag else Split(sample.train, below)

    def tally(self) -> Tally:
        """Return what gathers the predictions of one learner."""
        data, judged = self.data, slice(self.judged_from, None)
        weight = None if data.weight is None else data.weight[judged]
        if data.codes is None or data.classes is None:
            return SquaredTally(data.y[judged], weight=weight)
        if self.loss == "0-1":
            return ZeroOneTally(data.codes[judged], classes=len(data.classes), rounds=self.rounds, weight=weight)
        truth = np.eye(len(data.classes))[data.codes[judged]]
        # With two classes the sum over both counts the same difference twice; so has it the Brier score.
        return SquaredTally(truth, scale=0.5 if len(data.classes) == 2 else 1.0, weight=weight)

    def predictions(self, outcome: Outcome, rows: Rows) -> npt.NDArray[Any]:
        """Return what a fit says of the judged rows, as its tally takes it."""
        if self.data.classes is None:
            return outcome.answer(self.data, rows)
        if self.loss == "squared":
            proba: npt.NDArray[Any] = StoredPredictor.of(outcome, self.data, rows).predict_proba(None)  # type: ignore[attr-defined]
            return proba
        labels = outcome.answer(self.data, rows)
        codes = np.searchsorted(self.data.classes, labels).clip(max=len(self.data.classes) - 1)
        if not np.array_equal(self.data.classes[codes], labels):
            raise InvalidInput("A classifier must predict classes of y. Got other labels; mend its predict method.")
        return codes


def bias_variance_config(
    candidates: Candidates, data: Data, *, trained: int, rounds: Any, loss: Any, noise: Any, random_state: int | None
) -> BiasVarianceConfig:
    """Check what was asked for."""
    if not is_whole(rounds) or rounds < LEAST_ROUNDS:
        raise InvalidInput(
            f"The 'rounds' parameter must be a whole number of at least {LEAST_ROUNDS}. Got {rounds!r} instead."
        )
    if loss not in ("auto", "squared", "0-1"):
        raise InvalidInput(f"The 'loss' parameter must be 'auto', 'squared' or '0-1'. Got {loss!r} instead.")
    if loss == "auto":
        loss = "squared" if data.task == "regression" else "0-1"
    if loss == "0-1" and data.task == "regression":
        raise InvalidInput("The 0-1 loss is for a classification. This is a regression; use loss='squared'.")
    if loss == "squared" and data.task == "classification":
        for name, estimator in candidates:
            if not hasattr(estimator, "predict_proba"):
                raise InvalidInput(
                    f"The squared loss of a classification is that of its probabilities. {name!r} has no "
                    "predict_proba; use loss='0-1'."
                )
    if noise is not None:
        if isinstance(noise, bool) or not isinstance(noise, int | float | np.number) or not 0 <= noise < np.inf:
            raise InvalidInput(
                f"The 'noise' parameter must be the variance of the noise in y: a number of at least 0. Got {noise!r}."
            )
        if loss == "0-1":
            raise InvalidInput("The decomposition of the 0-1 loss takes the labels as they are: leave noise out.")
    for _, estimator in candidates:
        if data.weight is not None:
            check_takes_weights(estimator)
    return BiasVarianceConfig(data, trained, int(rounds), loss, None if noise is None else float(noise), random_state)


def bias_variance_plan(candidates: Candidates, config: BiasVarianceConfig) -> Plan[BiasVariance]:
    """Fit every candidate on every sample; take in the predictions as they come, and none of them is held."""
    names = candidates.names
    responses = {name: default_responses(estimator, config.data.task) for name, estimator in candidates}
    tasks = (
        FitTask(candidates.estimators[name], split.train, tuple(Ask(split.test, r) for r in responses[name]))
        for split in config.splits()
        for name in names
    )
    tallies = {name: config.tally() for name in names}
    outcomes: list[Outcome | None] = []
    for portion in portions(tasks):
        late = False
        try:
            answered: Sequence[Outcome | None] = yield portion
        except BudgetSpent as spent:
            answered, late = spent.outcomes, True
            if all(outcome is None for outcome in (*outcomes, *answered)):
                raise
        for task, outcome in zip(portion, answered, strict=True):
            if outcome is not None and outcome.error is None:
                rows = task.asks[0].rows
                tally = tallies[names[len(outcomes) % len(names)]]
                tally.add(rows.index - config.judged_from, config.predictions(outcome, rows))
            outcomes.append(outcome)
        if late:
            break
    outcomes += [None] * (config.rounds * len(names) - len(outcomes))
    by_name = {name: outcomes[place :: len(names)] for place, name in enumerate(names)}
    report_failures([outcome.error for outcome in outcomes if outcome and outcome.error], len(outcomes))
    return BiasVariance(
        config, {name: _decomposed(config, tallies[name], by_name[name]) for name in names}, single=candidates.single
    )


@dataclass(frozen=True, slots=True)
class Decomposed:
    """What was found for one learner; ``error`` is the Monte-Carlo standard error of each number."""

    parts: LossComponents
    error: Influence
    failed: int
    missing: int
    fit_seconds: float


def _decomposed(config: BiasVarianceConfig, tally: Tally, outcomes: Sequence[Outcome | None]) -> Decomposed:
    failed = sum(outcome is not None and outcome.error is not None for outcome in outcomes)
    missing = sum(outcome is None for outcome in outcomes)
    seconds = sum(outcome.fit_seconds for outcome in outcomes if outcome is not None)
    if failed or len(outcomes) - missing < LEAST_ROUNDS:
        # The samples on which a learner fails are no random ones: the rest alone would not be honest.
        return Decomposed(_UNKNOWN, _UNSURE, failed, missing, seconds)
    influences = [
        tally.influence(split.test.index - config.judged_from, config.predictions(outcome, split.test))
        for split, outcome in zip(config.splits(), outcomes, strict=True)
        if outcome is not None
    ]
    error = Influence(
        *(monte_carlo_error([getattr(p, part) for p in influences]) for part in ("expected_loss", "bias", "variance"))
    )
    return Decomposed(tally.parts(), error, failed, missing, seconds)


class BiasVariance(EstimatorResult):
    """The parts of a learner's expected loss.

    With one estimator each number is a float, with several a dict by name. ``bias + variance + noise`` is
    ``expected_loss``.

    There is no interval: ``monte_carlo_error`` says how much the number of rounds leaves to chance, not how far these
    rows are from others of their kind.

    Attributes
    ----------
    expected_loss
        Mean over the points of the mean loss over the models that did not see the point.
    bias
        What stays whatever rows the learner is trained on. For squared loss the squared bias; where the noise is not
        known it is in it. For 0-1 loss the share of points whose most frequent prediction is wrong.
    variance
        What moves with the rows that the learner is trained on. For 0-1 loss the net variance: where the most frequent
        prediction is wrong, variance takes error away.
    noise
        The part that no learner can avoid, as it was given; 0.0 where it was not, see ``noise_known``.
    unbiased_variance, biased_variance
        For 0-1 loss, the variance at points whose most frequent prediction is right, and the error that variance takes
        away where it is wrong; ``variance`` is their difference. None for squared loss.
    monte_carlo_error
        Standard error of ``expected_loss`` over the rounds: more rounds make it smaller.

    Notes
    -----
    All samples are drawn from the same rows. Where these happen to mislead the learner they mislead every model, and
    that is counted as bias: for squared loss the bias is the loss that the average of all models would have, which is
    the learner's own squared bias and the variance of that average over tables like this one. The variance is what
    averaging would take away.
    """

    title = "Bias and variance"

    def __init__(self, config: BiasVarianceConfig, found: dict[str, Decomposed], *, single: bool) -> None:
        self.names = list(found)
        self.loss = config.loss
        self.rounds = config.rounds
        self.rows = config.trained
        self.out_of_bag = config.out_of_bag
        self.noise_known = config.noise is not None
        self._noise = config.noise or 0.0
        self._found = found
        self.single = single
        self.expected_loss, self.variance, self.unbiased_variance, self.biased_variance = (
            self._one_or_all({name: getattr(each.parts, part) for name, each in found.items()})
            for part in ("expected_loss", "variance", "unbiased_variance", "biased_variance")
        )
        self.bias = self._one_or_all({name: self._bias(name) for name in self.names})
        self.noise = self._one_or_all(dict.fromkeys(self.names, self._noise))
        self.monte_carlo_error = self._one_or_all({name: each.error.expected_loss for name, each in found.items()})

    def _bias(self, name: str) -> float:
        return self._found[name].parts.bias - self._noise

    def _line(self, name: str) -> dict[str, Any]:
        """Return a row of the table: ``estimate`` is the expected loss, ``*_error`` the Monte-Carlo standard errors."""
        found = self._found[name]
        parts, error = found.parts, found.error
        line: dict[str, Any] = {"estimate": parts.expected_loss, "bias": self._bias(name), "variance": parts.variance}
        if self.loss == "0-1":
            line |= {"unbiased_variance": parts.unbiased_variance, "biased_variance": parts.biased_variance}
            errors = {"estimate_error": error.expected_loss}
        else:
            line |= {"noise": self._noise}
            errors = {
                "estimate_error": error.expected_loss,
                "bias_error": error.bias,
                "variance_error": error.variance,
            }
        return {**line, **errors, "points": parts.points, "failed": found.failed, "fit_seconds": found.fit_seconds}

    @property
    def heading(self) -> str:
        """What was measured, and how."""
        where = "each model judged on the rows it did not see" if self.out_of_bag else "judged on the test rows"
        return f"{self.loss} loss over {self.rounds} bootstrap samples of {self.rows:,} rows, {where}"

    def _text(self, name: str) -> str:
        found = self._found[name]
        parts = found.parts
        if np.isnan(parts.expected_loss):
            why = f"{found.failed} of its fits failed" if found.failed else "too few fits were run"
            return f"not known: {why}, and the rest alone would not be honest"
        chance = f"(± {found.error.expected_loss:.3g} by the luck of the samples)"
        if self.loss == "0-1":
            return (
                f"{parts.expected_loss:.4g} = bias {parts.bias:.4g} + net variance {parts.variance:.4g} "
                f"(unbiased {parts.unbiased_variance:.4g} − biased {parts.biased_variance:.4g})  {chance}"
            )
        noise = f" + noise {self._noise:.4g}" if self.noise_known else ""
        return (
            f"{parts.expected_loss:.4g} = squared bias {self._bias(name):.4g} + variance {parts.variance:.4g}{noise}  "
            f"{chance}"
        )

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        known = [each for each in self._found.values() if not np.isnan(each.parts.expected_loss)]
        notes = []
        if self.loss == "squared" and not self.noise_known:
            notes.append("the noise of y is not known, so the squared bias holds it; with noise= it is set apart.")
        if any(self._bias(name) < 0 for name in self.names):
            notes.append("a squared bias below 0 says that y holds less noise than was given.")
        left_out = max((each.parts.left_out for each in known), default=0)
        if left_out:
            notes.append(f"{left_out} rows were judged by fewer than {LEAST_ROUNDS} models, and do not count.")
        missing = sum(each.missing for each in self._found.values())
        if missing:
            notes.append(f"the time budget was spent before {missing} of the fits were run.")
        notes += [
            "a sample holds about 63% of the distinct rows: trained on all, a learner usually varies less.",
            "the bias is what averaging the models would leave: how these rows happen to mislead them all is in it.",
        ]
        return notes

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the parts of each expected loss."""
        parts = [self._found[name].parts for name in self.names]
        noise = [self._noise] * len(parts) if self.noise_known else None
        bias = [self._bias(name) for name in self.names]
        variance = [each.variance for each in parts]
        return draw(self.names, bias, variance, noise=noise, loss_name=f"expected {self.loss} loss", ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "bias and variance",
            "version": 1,
            "loss": self.loss,
            "rounds": self.rounds,
            "rows": self.rows,
            "out_of_bag": self.out_of_bag,
            "noise_known": self.noise_known,
            "estimators": [
                {"name": name, **{key: plain(value) for key, value in self._line(name).items()}} for name in self.names
            ],
            "notes": self.notes,
        }
