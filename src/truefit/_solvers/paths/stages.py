"""StagesSolver: the stages of one training run, from one run."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from math import inf, isnan
from typing import Any

from truefit._core.data import Data
from truefit._core.metadata import fit_metadata
from truefit._core.outcome import Outcome
from truefit._core.parameters import seeded
from truefit._core.protocols import Job
from truefit._core.stages import AtStage, run_stages, snapshot
from truefit._core.task import Fit
from truefit._solvers.base import key_without
from truefit._solvers.plain import model_classes, or_plain, respond


class StagesSolver:
    """Candidates that differ only in how far they are trained, on the same rows: one run passes through them all.

    At each stage that is asked for, the model answers as it is, and training goes on. Where models are kept, the run
    holds two: the one it trains, and a copy of the best so far, by the loss of the fit's ``keep``. That copy is the
    model that is kept.

    The time of the run is charged to the candidates in proportion to their stages, so that the sum is the time spent.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import SGDRegressor
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.linspace(0, 1, 20).reshape(-1, 1)
    >>> data = Data(X, X[:, 0] * 3, task="regression")
    >>> keys, train, test = Keys(data), Rows.of(range(15)), Rows.of(range(15, 20))
    >>> epochs = [AtStage(SGDRegressor(), stage) for stage in (1, 5, 10)]
    >>> fits = [keys.fit(FitTask(epoch, train, (Ask(test),))) for epoch in epochs]
    >>> [job] = StagesSolver().claim(fits, data)
    >>> len(job.fits), job.work
    (3, 1)
    """

    name = "stages"
    kinds = (AtStage,)

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job for each training run."""
        families: dict[int, tuple[Any, bytes | None]] = {}
        groups: dict[tuple[bytes, bytes, tuple[tuple[str, int], ...]], list[Fit]] = defaultdict(list)
        for fit in fits:
            if type(fit.estimator) is not AtStage or fit.model is not None or (fit.keep_model and fit.keep is None):
                continue
            inner = fit.estimator.estimator
            if id(inner) not in families:
                families[id(inner)] = (inner, key_without(inner, ()))  # held, so that its id stays its own
            family = families[id(inner)][1]
            if family is not None:
                groups[family, fit.train_key, fit.seeds].append(fit)
        return [Job(self, tuple(group)) for group in groups.values() if len(group) > 1]

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Train once, and answer along the way."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        by_stage: dict[int, list[Fit]] = defaultdict(list)
        for fit in job.fits:
            by_stage[fit.estimator.stage].append(fit)
        first, last = job.fits[0], max(by_stage)
        index = first.train.index
        estimator = seeded(first.estimator, first.seeds).estimator
        X, y = data.take(index), (data.y if first.y is None else first.y)[index]
        run = run_stages(estimator, X, y, **fit_metadata(first.estimator, data, index))
        best = _Best()
        found: dict[str, Outcome] = {}
        seconds, stage = 0.0, 0
        while stage < last:
            start = time.perf_counter()
            model = next(run)
            seconds += time.perf_counter() - start
            stage += 1
            for fit in by_stage.get(stage, ()):
                classes = model_classes(model, data)
                outcome = Outcome(fit.key, respond(model, fit.asks, data, classes), 0.0, self.name, classes)
                best.offer(fit, outcome, model)
                found[fit.key] = outcome
        unit = seconds / sum(fit.estimator.stage for fit in job.fits)
        return [
            replace(found[fit.key], fit_seconds=unit * fit.estimator.stage, model=best.model(fit)) for fit in job.fits
        ]


class _Best:
    """The best stage so far of each group that models are kept for, the first of equal ones."""

    def __init__(self) -> None:
        self._held: dict[Hashable, tuple[float, Fit, Any]] = {}

    def offer(self, fit: Fit, outcome: Outcome, model: Any) -> None:
        """Take a copy of a model that leads."""
        if fit.keep is None:
            return
        loss = 0.0 if fit.keep.metric is None else float(fit.keep.metric(outcome))
        loss = inf if isnan(loss) else loss
        held = self._held.get(fit.keep.group)
        if held is None or loss < held[0]:
            self._held.pop(fit.keep.group, None)  # let go of the old copy before the new one is made
            self._held[fit.keep.group] = (loss, fit, snapshot(model))

    def model(self, fit: Fit) -> Any:
        """Return the copy of a stage that leads, as plain fitting would have it; None for the others."""
        held = None if fit.keep is None else self._held.get(fit.keep.group)
        return seeded(fit.estimator, fit.seeds).hold(held[2]) if held is not None and held[1] is fit else None
