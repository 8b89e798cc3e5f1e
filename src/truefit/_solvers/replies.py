"""Reply: what a fit answers from work that it shares with others, and ReplySolver: who gives such replies."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.outcome import Outcome, Predictions
from truefit._core.protocols import Job
from truefit._core.task import Fit, Response
from truefit._solvers.plain import fit_plain, or_plain


@dataclass(slots=True)
class Reply:
    """What a fit answers; ``trusted`` turns False where it cannot be shown to be what plain fitting would say."""

    classes: npt.NDArray[Any] | None = None
    answers: list[Predictions] = field(default_factory=list)
    trusted: bool = True


class ReplySolver(ABC):
    """Fits of a family of estimators that are answered together.

    A subclass says which estimators it is for (``kinds``, exact types), which responses it can give, which parameters
    it serves, and how it replies. Its ``path`` names parameters in which estimators may differ too, because the work
    that is shared is the same whatever they are. A fit that gets no reply, or one that is not to be trusted, is fitted
    plainly. The time spent is charged to all fits of a job in equal parts.
    """

    name: str
    kinds: tuple[type, ...] = ()
    responses: frozenset[Response] = frozenset({"predict", "predict_proba"})
    #: Parameters on which the shared work does not depend.
    path: tuple[str, ...] = ()
    #: Fits in one job; fewer where each still takes long, so that several workers can share them.
    most: int = 1000

    @abstractmethod
    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """Return jobs of fits that have something in common."""

    @abstractmethod
    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether parameters and sizes are such that answers are exact."""

    @abstractmethod
    def replies(self, fits: Sequence[Fit], data: Data) -> Sequence[Reply | None]:
        """Return a reply for each fit; None for those that are to be fitted plainly."""

    def _takes_weights(self, data: Data) -> bool:
        return data.weight is None

    def _can_answer(self, fit: Fit) -> bool:
        # No model comes of a shortcut, and one that is there answers faster.
        return fit.model is None and not fit.keep_model and all(ask.response in self.responses for ask in fit.asks)

    def _served(self, group: Sequence[Fit], data: Data) -> list[Fit]:
        """Return those that are served; the same estimator is judged once."""
        served: dict[bytes, bool] = {}
        for fit in group if len(group) > 1 else ():
            if fit.estimator_key not in served:
                served[fit.estimator_key] = self.serves(fit, data)
        return [fit for fit in group if served.get(fit.estimator_key)]

    def _job(self, fits: Sequence[Fit]) -> Job:
        return Job(self, tuple(fits))

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Answer all fits together."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        start = time.perf_counter()
        replies = self.replies(job.fits, data)
        seconds = (time.perf_counter() - start) / len(job.fits)
        if data.release is not None:
            data.release()
        outcomes = []
        for fit, reply in zip(job.fits, replies, strict=True):
            if reply is not None and reply.trusted:
                outcomes.append(Outcome(fit.key, tuple(reply.answers), seconds, self.name, reply.classes))
            else:
                outcome = fit_plain(fit, data)
                outcomes.append(replace(outcome, fit_seconds=outcome.fit_seconds + seconds))
        return outcomes
