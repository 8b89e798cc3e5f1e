"""SgdEpochsSolver: stochastic gradient descent for several numbers of epochs, from one run."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier, SGDRegressor

from truefit._core.data import Data, fit_metadata
from truefit._core.outcome import Outcome
from truefit._core.parameters import seeded
from truefit._core.protocols import Job
from truefit._core.task import Fit
from truefit._core.typing import Array
from truefit._solvers.families import Families
from truefit._solvers.parameters import is_seed, is_size
from truefit._solvers.plain import model_classes, or_plain, respond

#: Below this scikit-learn multiplies the weights by the scale that it keeps beside them.
SMALLEST_SCALE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}


class SgdEpochsSolver:
    """Descents that differ only in their number of epochs (``max_iter``), on the same rows: the longest is run.

    With ``tol=None`` an epoch does not depend on how many come after it, so the weights after m of them are those of
    the descent with ``max_iter=m``. The estimator's own ``fit`` does the work, in its own order of the rows (calls of
    ``partial_fit`` would go through them in another): weights are copied where early stopping would look at them.

    With ``penalty=None`` or "l1" they are those of plain fitting bit for bit. With "l2" and "elasticnet" scikit-learn
    keeps a scale beside the weights that is not to be seen from there. It is worked out again from the learning rate,
    and the end of the run must confirm it: equal up to rounding, and to the last bit where the machine's arithmetic is
    the same in both. So this solver is used only where it is named: ``Engine(solvers=("sgd epochs", "auto"))``.

    The time of the run is charged to the candidates in proportion to their epochs, so that the sum is the time spent.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.arange(40.0).reshape(20, 2) / 40
    >>> data = Data(X, X[:, 0] * 3, task="regression")
    >>> keys, rows, test = Keys(data), Rows.of(range(15)), Rows.of(range(15, 20))
    >>> descents = [SGDRegressor(max_iter=m, tol=None) for m in (2, 5, 10)]
    >>> fits = [keys.fit(FitTask(descent, rows, (Ask(test),))) for descent in descents]
    >>> [job] = SgdEpochsSolver().claim(fits, data)
    >>> len(job.fits), job.work
    (3, 1)
    """

    name = "sgd epochs"
    exact = False
    kinds = (SGDClassifier, SGDRegressor)
    #: Fits that go together behind the same steps of a pipeline.
    most = 64

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job for each family of descents on each set of training rows."""
        families = Families(("max_iter",))
        groups: dict[tuple[bytes, bytes, tuple[tuple[str, int], ...]], list[Fit]] = defaultdict(list)
        for fit in fits:
            if fit.model is None and type(fit.estimator) in self.kinds and _counts_epochs(fit.estimator):
                family = families.of(fit)
                if family is not None:
                    groups[family, fit.train_key, fit.seeds].append(fit)
        return [Job(self, tuple(group)) for group in groups.values() if len(group) > 1]

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Run the longest, and let its weights at each number of epochs answer for the others."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        epochs = [int(fit.estimator.max_iter) for fit in job.fits]
        longest = job.fits[epochs.index(max(epochs))]
        descent = seeded(longest.estimator, longest.seeds)
        index = longest.train.index
        X, y = data.take(index), (data.y if longest.y is None else longest.y)[index]
        metadata = fit_metadata(descent, data, index)
        if not all(np.any(values) for values in metadata.values()):
            raise ValueError("Some weight must be above 0.")  # which early stopping would not mind
        watch = Watch(descent, set(epochs))
        start = time.perf_counter()
        descent.fit(X, y, **metadata)
        seconds = time.perf_counter() - start
        watch.end()
        classes = model_classes(descent, data)
        unit = seconds / sum(epochs)
        outcomes = []
        for fit, number in zip(job.fits, epochs, strict=True):
            model = watch.at(number)
            answers = respond(model, fit.asks, data, classes)
            outcomes.append(Outcome(fit.key, answers, unit * number, self.name, classes, model))
        return outcomes


class Watch:
    """Looks at a descent at some of its epochs: at one line of weights, or at one for each class."""

    def __init__(self, descent: Any, wanted: set[int]) -> None:
        self.descent, self.wanted = descent, wanted
        self._lines: list[Line] = []
        self._rows = 0
        # What scikit-learn asks at the end of each epoch how good the weights are; no rows are set aside for it, and
        # without a tolerance nothing follows from what it is told.
        descent.early_stopping = True
        descent._make_validation_split = lambda y, sample_mask: np.zeros(len(y), dtype=np.bool_)
        descent._make_validation_score_cb = self._begin

    def _begin(self, mask: Array, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Line:
        self._rows = len(mask)
        self._lines.append(Line(Scale(self.descent, len(mask), X.dtype), self.wanted))
        return self._lines[-1]

    def end(self) -> None:
        """Leave the descent as its own fit would have left it.

        Raises
        ------
        RuntimeError
            If what was seen of the weights is not what has become of them.
        """
        descent = self.descent
        descent.early_stopping = False
        del descent._make_validation_split, descent._make_validation_score_cb
        weights, biases = self._seen(descent.max_iter)
        near = np.finfo(weights.dtype).eps ** 0.5
        if not (np.allclose(weights, descent.coef_, near, near) and np.array_equal(biases, descent.intercept_)):
            raise RuntimeError("The weights of a descent must be those that were seen of it.")

    def at(self, epochs: int) -> Any:
        """Return the descent after so many epochs."""
        descent = self.descent
        if epochs == descent.max_iter:
            return descent
        shorter = copy(descent)
        shorter.coef_, shorter.intercept_ = self._seen(epochs)
        shorter.max_iter = shorter.n_iter_ = epochs
        shorter.t_ = 1.0 + epochs * self._rows
        return shorter

    def _seen(self, epochs: int) -> tuple[Array, Array]:
        seen = [line.taken[epochs] for line in self._lines]
        weights = np.array([weights for weights, _ in seen]).reshape(self.descent.coef_.shape)
        return weights, np.array([bias for _, bias in seen], dtype=self.descent.intercept_.dtype)


class Line:
    """Copies of one line of weights, taken at some of its epochs."""

    def __init__(self, scale: Scale, wanted: set[int]) -> None:
        self.scale, self.wanted, self.epoch = scale, wanted, 0
        self.taken: dict[int, tuple[Array, float]] = {}

    def __call__(self, weights: Array, bias: float) -> float:
        """Take what is wanted, and find all epochs equally good."""
        self.epoch += 1
        scale = self.scale.after(self.epoch)
        if self.epoch in self.wanted:
            self.taken[self.epoch] = np.asarray(weights) * scale, bias
        return 0.0


class Scale:
    """The factor that scikit-learn keeps beside the weights: a squared penalty shrinks it at each row."""

    def __init__(self, descent: Any, rows: int, dtype: Any) -> None:
        self.descent, self.rows, self.dtype = descent, rows, np.dtype(dtype)
        self.scale = 1.0

    def after(self, epoch: int) -> Any:
        """Return it at the end of an epoch, the one after the last that was asked about."""
        steps = self._steps(epoch) if _shrinks(self.descent) else np.empty(0)
        while len(steps):
            steps[0] *= self.scale
            scales = np.multiply.accumulate(steps)
            small = scales < SMALLEST_SCALE[self.dtype]
            if not small.any():
                self.scale = float(scales[-1])
                break
            self.scale = 1.0
            steps = steps[int(np.argmax(small)) + 1 :]
        return self.dtype.type(self.scale)

    def _steps(self, epoch: int) -> Array:
        descent = self.descent
        alpha, rate = descent.alpha, np.full(self.rows, float(descent.eta0))
        step = np.arange(1.0 + (epoch - 1) * self.rows, 1.0 + epoch * self.rows)
        if descent.learning_rate == "optimal":
            # The slope of a loss at -w for a target of 1 is never above 1, so w itself is the first rate.
            first = np.sqrt(1.0 / np.sqrt(alpha))
            rate = 1.0 / (alpha * (1.0 / (first * alpha) + step - 1))
        elif descent.learning_rate == "invscaling":
            rate = descent.eta0 / step**descent.power_t
        squared = 1.0 if descent.penalty == "l2" else 1.0 - descent.l1_ratio
        steps: Array = np.maximum(0.0, 1.0 - squared * rate * alpha)
        # Given in the precision of the weights, kept in double.
        return steps.astype(self.dtype).astype(np.float64)


def _shrinks(descent: Any) -> bool:
    return descent.penalty in ("l2", "elasticnet")


def _counts_epochs(descent: Any) -> bool:
    """Whether training goes on for all epochs, starts anew, and nothing but weights comes of it."""
    count, penalty, rate = descent.max_iter, descent.penalty, descent.learning_rate
    counted = isinstance(count, int | np.integer) and not isinstance(count, bool) and bool(count >= 1)
    penalised = penalty is None or (isinstance(penalty, str) and penalty in ("l1", "l2", "elasticnet"))
    shares = penalty != "elasticnet" or is_size(descent.l1_ratio)
    # The rates of the passive-aggressive kind skip rows, and the scale with them.
    rates = ("constant", "optimal", "invscaling", "adaptive")
    known = isinstance(rate, str) and rate in rates and is_size(descent.alpha) and is_size(descent.power_t)
    whole = descent.tol is None and descent.early_stopping is False and descent.average is False
    quiet = descent.verbose in (0, False) and getattr(descent, "n_jobs", None) is None
    anew = descent.warm_start is False and is_seed(descent.random_state)
    return bool(counted and penalised and shares and known and whole and quiet and anew)
