"""Scores of a search: scikit-learn's own scorers on stored predictions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from traceback import format_exc
from typing import Any

from sklearn.pipeline import Pipeline

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.packages import installed
from truefit._core.rows import Rows
from truefit._core.task import RESPONSES, Response
from truefit._metrics.metric import Metric, metric_of_scorer
from truefit._metrics.scorers import StoredPredictor
from truefit._sklearn import BaseSearchCV, check_method_params


class OutcomeScorer:
    """Scores the predictions of a fit as ``GridSearchCV`` would score its model.

    Parameters
    ----------
    scorers : scorer, or scikit-learn's several scorers in one
    data : Data
    metadata : mapping
        What goes to the scorers along with the predictions; values by row are taken for the rows that are scored.
    error_score : float or "raise"
        What a fit gets that cannot be scored.
    """

    def __init__(self, scorers: Any, data: Data, metadata: Mapping[str, Any], error_score: Any) -> None:
        self._scorers = scorers
        self._data = data
        self._metadata = dict(metadata)
        self._error_score = error_score
        self._by_name = getattr(scorers, "_scorers", {"score": scorers})
        #: Names of the scores; a function of the user's own may give several, which are known when it was called.
        self._names = list(self._by_name)
        #: A scorer of the user's own may look at X itself.
        self._needs_X = not all(_is_scikit_learn(scorer) for scorer in self._by_name.values())
        metrics = {name: metric_of_scorer(name, scorer, data.task) for name, scorer in self._by_name.items()}
        #: Shares of right or wrong rows are counted, which comes to the same and takes a tenth of the time.
        self._shares = metrics if all(m.zero_one for m in metrics.values()) and data.weight is None else None

    def responses(self, estimator: Any) -> tuple[Response, ...]:
        """Return what has to be predicted by an estimator to be scored."""
        if self._needs_X:
            return tuple(response for response in RESPONSES if hasattr(estimator, response))
        wanted = [r for name, scorer in self._by_name.items() for r in Metric(name, scorer).responses(estimator)]
        # Just that: a second response would cost a neighbour search or a kernel a second time in every fit.
        return tuple(dict.fromkeys(wanted))

    def __call__(self, outcome: Outcome, rows: Rows) -> Mapping[str, float]:
        """Return the scores of a fit on some rows, by name."""
        if self._shares is not None and not self._metadata:
            return {name: metric.value(outcome, self._data, rows) for name, metric in self._shares.items()}
        data, index = self._data, rows.index
        X = data.take(index) if self._needs_X else index
        metadata = check_method_params(data.y, self._metadata, index)
        try:
            scored = self._scorers(StoredPredictor.of(outcome, data, rows), X, data.y[index], **metadata)
        except Exception:
            if self._error_score == "raise":
                raise
            return dict.fromkeys(self._names, self._failed(format_exc()))
        if not isinstance(scored, Mapping):
            return {"score": float(scored)}
        self._names = list(scored)
        # Several scorers in one give the traceback in the place of a score that failed.
        return {name: self._failed(each) if isinstance(each, str) else each for name, each in scored.items()}

    def _failed(self, traceback: str) -> float:
        warnings.warn(
            "Scoring failed. The score on this train-test partition for these parameters will be set to "
            f"{self._error_score}. Details: \n{traceback}",
            UserWarning,
            stacklevel=2,
        )
        return float(self._error_score)


def check_score_is_usual(estimator: Any) -> None:
    """Refuse to guess what a score of an estimator's own would be: only predictions are kept, not models."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    home = next((each.__module__ for each in type(last).__mro__ if "score" in vars(each)), "sklearn.base")
    # The classifiers of scikit-learn all mean accuracy by it, and the regressors R², generalised linear ones aside.
    usual = installed(home) and not home.startswith("sklearn.linear_model._glm")
    if not usual or isinstance(last, BaseSearchCV):
        raise InvalidInput(
            f"{type(last).__name__} has a score of its own, which cannot be computed from predictions alone. Give "
            "scoring='r2', scoring='accuracy', or another scorer."
        )


def _is_scikit_learn(scorer: Any) -> bool:
    return type(scorer).__module__.startswith("sklearn.")
