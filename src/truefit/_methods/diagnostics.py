"""Diagnostics of predictions: calibrated? at which threshold? for whom? From stored predictions, without fits."""

from __future__ import annotations

from typing import Any

from truefit._core.typing import Positions
from truefit._methods.calibration import Calibration, calibration_of
from truefit._methods.decision_curve import DecisionCurve, decision_curve_of
from truefit._methods.per_class import PerClass, per_class_of
from truefit._methods.predictions import ModelPredictions
from truefit._methods.subgroups import Subgroups, metric_of, read_bins, read_values, subgroups_of
from truefit._methods.threshold import Threshold, threshold_of


class PredictionDiagnostics:
    """Methods of a result that has held-out predictions of its models; none of them fits anything.

    A class that inherits them has ``names``, ``level``, ``single`` (with one model a number is a float, with several a
    dict by name) and ``_predictions_of``.
    """

    names: list[str]
    level: float
    single: bool

    def _predictions_of(self, name: str) -> ModelPredictions:
        """Return truth and predictions of a model on rows that it was not trained on, each row once."""
        raise NotImplementedError

    def _rows_of(self, name: str) -> Positions | None:
        """Return which rows of the table the predictions are of; None where they are of all."""
        return None

    def _all_predictions(self) -> dict[str, ModelPredictions]:
        return {name: self._predictions_of(name) for name in self.names}

    def calibration(self, *, pos_label: Any = None) -> Calibration:
        """Return whether predicted probabilities, or numbers, agree with what is observed.

        Slope, intercept, calibration-in-the-large and a smooth curve, from the held-out predictions of all test sets
        pooled. Of more than two classes each is taken against the rest.

        Parameters
        ----------
        pos_label : label, optional
            The positive class of two. By default that of the result, or the second in order.

        Returns
        -------
        Calibration
            ``.slope``, ``.intercept``, ``.in_the_large``, ``.ece``, ``.curve``, ``.table`` and ``.plot()``.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from truefit import assess
        >>> found = assess(GaussianNB(), *load_breast_cancer(return_X_y=True)).calibration()
        >>> found.slope_interval[1] < 1  # far too extreme probabilities
        True
        """
        return calibration_of(self._all_predictions(), single=self.single, level=self.level, pos_label=pos_label)

    def decision_curve(self, thresholds: Any = None, *, pos_label: Any = None) -> DecisionCurve:
        """Return the net benefit of acting where the predicted probability reaches a threshold.

        Parameters
        ----------
        thresholds : array-like of float, optional
            Thresholds on the probability, between 0 and 1. By default 1% to 99%.
        pos_label : label, optional
            The positive class of two. By default that of the result, or the second in order.

        Returns
        -------
        DecisionCurve
            ``.net_benefit``, ``.treat_all``, ``.difference(first, second, threshold)``, ``.table`` and ``.plot()``.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from truefit import assess
        >>> found = assess(GaussianNB(), *load_breast_cancer(return_X_y=True)).decision_curve([0.3, 0.5])
        >>> bool((found.net_benefit > found.treat_all).all())
        True
        """
        return decision_curve_of(
            self._all_predictions(), thresholds=thresholds, single=self.single, level=self.level, pos_label=pos_label
        )

    def threshold(self, rule: Any = "youden", *, pos_label: Any = None) -> Threshold:
        """Return the threshold on the probability that a rule selects, with the rates to expect of it on new rows.

        The threshold is chosen on all held-out predictions. For its rates that of each fold is chosen on the other
        folds (of one test set: on the other four fifths of its rows) and applied to the fold.

        Parameters
        ----------
        rule : str, dict or float, default="youden"
            "youden" maximises sensitivity + specificity. ``{"sensitivity": 0.9}``, ``{"specificity": 0.9}`` and
            ``{"precision": 0.8}`` require a rate, and make the best of the others. ``{"cost": (5, 1)}`` minimises the
            cost, here 5 for a false negative and 1 for a false positive. A number is itself the threshold.
        pos_label : label, optional
            The positive class of two. By default that of the result, or the second in order.

        Returns
        -------
        Threshold
            ``.threshold``; ``.sensitivity``, ``.specificity`` and ``.precision``, each with its interval.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from truefit import assess
        >>> found = assess(GaussianNB(), *load_breast_cancer(return_X_y=True)).threshold({"sensitivity": 0.95})
        >>> found.sensitivity_interval[0] < found.sensitivity < found.sensitivity_interval[1]
        True
        """
        return threshold_of(
            self._all_predictions(), rule=rule, single=self.single, level=self.level, pos_label=pos_label
        )

    def per_class(self) -> PerClass:
        """Return recall and precision of each class with intervals, pooled over all test sets.

        Returns
        -------
        PerClass
            ``.table`` has a row per class, ``.confusion`` one per cell of the confusion matrix; ``.plot()`` draws the
            recalls.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from truefit import assess
        >>> assess(GaussianNB(), *load_iris(return_X_y=True)).per_class().table["recall"].round(2).tolist()
        [1.0, 0.94, 0.92]
        """
        return per_class_of(self._all_predictions(), single=self.single, level=self.level)

    def by(self, values: Any, metric: str | None = None, *, bins: int = 4) -> Subgroups:
        """Return a metric by the levels of a column, or by bins of a number.

        Parameters
        ----------
        values : array-like of shape (n_samples,)
            The level or the number of each row: a column of the table, or one that is no feature.
        metric : str, optional
            Name of a metric. By default that of the result.
        bins : int, default=4
            Number of bins of equally many rows, for numbers with more than 10 different values.

        Returns
        -------
        Subgroups
            ``.estimate`` and ``.interval`` by subgroup (simultaneous intervals), ``.worst``, ``.p`` of the test that
            all are equal, ``.table`` and ``.plot()``.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from truefit import assess
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> found = assess(GaussianNB(), X, y).by(X["mean area"], bins=3)
        >>> len(found.table), found.worst
        (3, '462.9 to 668.7')
        """
        predictions = self._all_predictions()
        first = self.names[0]
        column, name = read_values(values, len(predictions[first].y), self._rows_of(first))
        metric = getattr(self, "metric", None) if metric is None else metric
        return subgroups_of(
            predictions, column, name,
            metric=metric_of(predictions, metric), bins=read_bins(bins), single=self.single, level=self.level,
        )  # fmt: skip
