"""Bias and variance of a learner, from models trained on bootstrap samples and evaluated on other rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.errors import BudgetSpent, InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.parameters import check_takes_weights
from truefit._core.protocols import Ask, FitTask, Plan
from truefit._core.rows import Rows
from truefit._methods.assessment.plan import portions
from truefit._methods.candidates import Candidates, default_responses
from truefit._methods.result import EstimatorResult, plain, plot_method, report_failures
from truefit._methods.splitting.designs import draw_samples
from truefit._methods.splitting.splits import Split, row_subset, whole_number
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
    """Models are trained on samples of the first ``trained`` rows, and evaluated on the rows below or out of bag."""

    data: Data
    trained: int
    rounds: int
    loss: Loss
    noise: float | None
    random_state: int | None

    @property
    def out_of_bag(self) -> bool:
        """Whether models are evaluated on out-of-bag rows."""
        return self.trained == self.data.n

    @property
    def test_start(self) -> int:
        """Position of the first row that models may be evaluated on."""
        return 0 if self.out_of_bag else self.trained

    def splits(self) -> Iterator[Split]:
        """Training and test rows of each round."""
        table = self.data if self.out_of_bag else row_subset(self.data, np.arange(self.trained))
        below = Rows.of(np.arange(self.test_start, self.data.n))
        for sample in draw_samples(table, self.rounds, self.random_state):
            yield sample if self.out_of_bag else Split(sample.train, below)

    def tally(self) -> Tally:
        """Return an accumulator for the predictions of one learner."""
        data, test = self.data, slice(self.test_start, None)
        weight = None if data.weight is None else data.weight[test]
        if data.codes is None or data.classes is None:
            return SquaredTally(data.y[test], weight=weight)
        if self.loss == "0-1":
            return ZeroOneTally(data.codes[test], classes=len(data.classes), rounds=self.rounds, weight=weight)
        truth = np.eye(len(data.classes))[data.codes[test]]
        # With two classes the sum over both counts the same difference twice.
        return SquaredTally(truth, scale=0.5 if len(data.classes) == 2 else 1.0, weight=weight)

    def predictions(self, outcome: Outcome, rows: Rows) -> npt.NDArray[Any]:
        """Return the predictions of a fit, in the form that the tally takes."""
        if self.data.classes is None:
            return outcome.answer(self.data, rows)
        if self.loss == "squared":
            proba: npt.NDArray[Any] = StoredPredictor.of(outcome, self.data, rows).predict_proba(None)  # type: ignore[attr-defined]
            return proba
        labels = outcome.answer(self.data, rows)
        codes = np.searchsorted(self.data.classes, labels).clip(max=len(self.data.classes) - 1)
        if not np.array_equal(self.data.classes[codes], labels):
            raise InvalidInput("A classifier must predict classes of y. Got other labels; correct its predict method.")
        return codes


def bias_variance_config(
    candidates: Candidates, data: Data, *, trained: int, rounds: Any, loss: Any, noise: Any, random_state: int | None
) -> BiasVarianceConfig:
    """Check the options."""
    rounds = whole_number(rounds, "The 'rounds' parameter", LEAST_ROUNDS)
    if loss not in ("auto", "squared", "0-1"):
        raise InvalidInput(f"The 'loss' parameter must be 'auto', 'squared' or '0-1'. Got {loss!r} instead.")
    if loss == "auto":
        loss = "squared" if data.task == "regression" else "0-1"
    if loss == "0-1" and data.task == "regression":
        raise InvalidInput("The 0-1 loss needs a classification. This is a regression; use loss='squared'.")
    lacking = [name for name, estimator in candidates if not hasattr(estimator, "predict_proba")]
    if loss == "squared" and data.task == "classification" and lacking:
        raise InvalidInput(
            f"The squared loss of a classification needs probabilities. {lacking[0]!r} has no predict_proba; use "
            "loss='0-1'."
        )
    if noise is not None:
        if isinstance(noise, bool) or not isinstance(noise, int | float | np.number) or not 0 <= noise < np.inf:
            raise InvalidInput(
                f"The 'noise' parameter must be the variance of the noise in y: a number of at least 0. Got {noise!r}."
            )
        if loss == "0-1":
            raise InvalidInput("The decomposition of the 0-1 loss assumes labels without noise: omit 'noise'.")
    for _, estimator in candidates:
        if data.weight is not None:
            check_takes_weights(estimator)
    return BiasVarianceConfig(data, trained, rounds, loss, None if noise is None else float(noise), random_state)


def bias_variance_plan(candidates: Candidates, config: BiasVarianceConfig) -> Plan[BiasVariance]:
    """Fit every candidate on every sample; predictions are accumulated as they come, and not kept."""
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
                tally.add(rows.index - config.test_start, config.predictions(outcome, rows))
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
    """Numbers of one learner; ``error`` has their Monte-Carlo standard errors."""

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
        # Failures are not random: numbers from the other samples would be biased.
        return Decomposed(_UNKNOWN, _UNSURE, failed, missing, seconds)
    influences = [
        tally.influence(split.test.index - config.test_start, config.predictions(outcome, split.test))
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

    There is no interval: ``monte_carlo_error`` is the error due to the number of rounds, not to the choice of rows.

    Attributes
    ----------
    expected_loss
        Mean over the points of the mean loss of the models that were not trained on the point.
    bias
        For squared loss the squared bias, with the noise where that is not known. For 0-1 loss the share of points
        whose most frequent prediction is wrong.
    variance
        The part that depends on the training rows. For 0-1 loss the net variance: where the most frequent prediction is
        wrong, variance reduces the error.
    noise
        The variance of the noise as given; 0.0 where it was not, see ``noise_known``.
    unbiased_variance, biased_variance
        For 0-1 loss, the variance at points whose most frequent prediction is right, and the error that variance
        removes where it is wrong; ``variance`` is their difference. None for squared loss.
    monte_carlo_error
        Standard error of ``expected_loss`` over the rounds. More rounds reduce it.

    Notes
    -----
    All samples are drawn from the same rows, so an error that these rows cause in every model counts as bias: for
    squared loss the bias is the loss of the average of all models, which is the learner's own squared bias plus the
    variance of that average over tables like this one. The variance is what averaging would remove.
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
            self._each(part, {name: each.parts for name, each in found.items()})
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
            line |= {"estimate_error": error.expected_loss}
        else:
            line |= {"noise": self._noise, "estimate_error": error.expected_loss}
            line |= {"bias_error": error.bias, "variance_error": error.variance}
        return line | {"points": parts.points, "failed": found.failed, "fit_seconds": found.fit_seconds}

    @property
    def heading(self) -> str:
        """The loss and the design."""
        where = "evaluated on the out-of-bag rows" if self.out_of_bag else "evaluated on the test rows"
        return f"{self.loss} loss over {self.rounds} bootstrap samples of {self.rows:,} rows, {where}"

    def _text(self, name: str) -> str:
        found = self._found[name]
        parts = found.parts
        if np.isnan(parts.expected_loss):
            why = f"{found.failed} of its fits failed" if found.failed else "too few fits were run"
            return f"not known: {why}; numbers from the others would be biased"
        error = f"(Monte-Carlo error ± {found.error.expected_loss:.3g})"
        if self.loss == "0-1":
            return (
                f"{parts.expected_loss:.4g} = bias {parts.bias:.4g} + net variance {parts.variance:.4g} "
                f"(unbiased {parts.unbiased_variance:.4g} − biased {parts.biased_variance:.4g})  {error}"
            )
        noise = f" + noise {self._noise:.4g}" if self.noise_known else ""
        return (
            f"{parts.expected_loss:.4g} = squared bias {self._bias(name):.4g} + variance {parts.variance:.4g}{noise}  "
            f"{error}"
        )

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        known = [each for each in self._found.values() if not np.isnan(each.parts.expected_loss)]
        notes = []
        if self.loss == "squared" and not self.noise_known:
            notes.append("the noise in the target is not known, so it is counted as squared bias.")
        if any(self._bias(name) < 0 for name in self.names):
            notes.append("a squared bias below 0 means that y has less noise than given.")
        left_out = max((each.parts.left_out for each in known), default=0)
        if left_out:
            notes.append(f"{left_out} rows are excluded: fewer than {LEAST_ROUNDS} models were evaluated on them.")
        missing = sum(each.missing for each in self._found.values())
        if missing:
            notes.append(f"time budget exhausted: {missing} of the fits were not run.")
        notes += [
            "a bootstrap sample has about 63% of the distinct rows: a model of all rows usually has less variance.",
            "bias is the error of the averaged prediction of these models; other rows would give another value.",
        ]
        return notes

    @plot_method()
    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the parts of each expected loss."""
        parts = [self._found[name].parts for name in self.names]
        noise = [self._noise] * len(parts) if self.noise_known else None
        bias = [self._bias(name) for name in self.names]
        variance = [each.variance for each in parts]
        label, percent = f"expected {self.loss} loss", self.loss == "0-1"
        return draw(self.names, bias, variance, noise=noise, xlabel=label, percent=percent, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "bias and variance",
            "version": 1,
            **self._values("loss", "rounds", "rows", "out_of_bag", "noise_known"),
            "estimators": [{"name": name, **plain(self._line(name))} for name in self.names],
            "notes": self.notes,
        }
