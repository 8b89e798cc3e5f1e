"""Study: which model to use, how good it is, whether it fits, and whether more data would help."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.finding import Finding, at_least
from truefit._core.typing import Positions
from truefit._methods.assessment.plot import KINDS
from truefit._methods.diagnostics import PredictionDiagnostics
from truefit._methods.evaluation.promise import Promise
from truefit._methods.importance.result import Importance
from truefit._methods.predictions import ModelPredictions
from truefit._methods.result import Result, plain, plot_method
from truefit._methods.text import counted
from truefit._plots.svg import to_svg
from truefit._report.html import render_fragment
from truefit._study.answers import Answer, forecasts, how_good, more_data, which_model
from truefit._study.checks import check_results, most_severe_first
from truefit._study.config import StudyConfig
from truefit._study.evidence import SkippedCandidate, StudyEvidence
from truefit._study.external_test import ExternalTest, evaluated
from truefit._study.fit_diagnosis import does_it_fit, next_steps_of
from truefit._study.importance import columns_answer
from truefit._study.page import Diagnoses, Pictures, diagnosed, draw_pictures, render_study, study_report
from truefit._study.page_tables import tables_of
from truefit._study.prediction_intervals import coverage_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: The parts of a study, in the order of its questions.
PARTS = ("assessment", "honest", "comparison", "perturbation", "bias_variance", "cross_test", "averaged", "curves")


def _dropped(each: SkippedCandidate) -> str:
    when = f" (after {counted(each.after, 'fold')})" if each.after else ""
    return f"{each.name}{when}: {each.reason.rstrip('.')}."


def _finding_text(each: Finding) -> str:
    return f"{each.title} ({each.code}, {each.severity}). {each.text}"


class Study(PredictionDiagnostics, Result):
    """Result of a study: four answers with their numbers, findings, and the results of every method behind them.

    :meth:`calibration`, :meth:`decision_curve`, :meth:`threshold`, :meth:`per_class` and :meth:`by` are of the selected
    model, from its held-out predictions on the folds.

    Attributes
    ----------
    best : str
        Name of the selected candidate.
    names : list of str
        The selected candidate alone, which the diagnostics of predictions are of.
    estimate : float
        Value of the metric to expect of the selected model on new rows, from nested cross-validation.
    interval : tuple of float or None
        Confidence interval of the estimate.
    shuffled : float or None
        With time: the value of the selected model in shuffled cross-validation, which ignores it.
    level : float
        Level of confidence intervals and tests.
    metric : str
        Name of the metric.
    metric_text : MetricText
        How values of the metric are written.
    task : str
        "classification" or "regression".
    rows : int
        Number of rows of the table.
    columns : int
        Number of columns of the table.
    target : str or None
        Name of the target, where y has one.
    roles : dict of str to str
        Name of the column with the groups, the time or the weights of the rows, by keyword, where they were given.
    seed : int or None
        The random state that was given.
    findings : tuple of Finding
        What the checks of the table and of the results found, most severe first.
    not_run : list of tuple of str
        Parts that were not run, and why.
    dropped : list of SkippedCandidate
        Candidates that were not fitted on every fold, and why.
    assessment : Assessment
        Every candidate on the same folds.
    honest : NestedAssessment or None
        Nested cross-validation of the selection; None where it was not run.
    comparison : Comparison or None
        Paired tests of the candidates against the selected one; None with one candidate.
    perturbation : Perturbation or None
        Perturbed validation of the selected model and a few others.
    bias_variance : BiasVariance or None
        Bias and variance of the selected model, and of a less flexible one where there is one.
    cross_test : CrossTest or None
        Agghoo over the candidates, on the same folds.
    averaged : Ensemble or None
        Cross-test of a weighted average of settings, where the study was tuned.
    curves : LearningCurves or None
        Learning curves of the best few candidates.
    training : dict
        Value of the metric on the training rows, of candidates that were fitted on all rows.
    test : ExternalTest or None
        The selected model on a separate test set, where one was given.
    fits : dict
        Number of fits, by kind.
    made : dict
        Provenance: date, command, data, counts of fits and versions; filled in by the caller that ran the study.
    """

    title = "Study"

    def __init__(self, found: StudyEvidence, config: StudyConfig) -> None:
        self._found = found
        self.target = config.target
        self.roles = dict(config.roles)
        self.seed = config.random_state
        self._pos_label = config.pos_label
        self.best = found.best
        self.names, self.single = [found.best], True
        self.metric = found.metric.name
        self.task = found.data.task
        self.rows = found.data.n
        self.columns = found.columns
        self.level = found.level
        self.metric_text = found.metric_text
        self.shuffled = found.shuffled
        self.estimate = found.estimate
        self.interval = found.interval
        self.assessment = found.assessment
        self.honest = found.nested
        self.comparison = found.comparison
        self.perturbation = found.perturbation
        self.bias_variance = found.bias_variance
        self.cross_test = found.cross_test
        self.averaged = found.ensemble
        self.curves = found.curves
        self.training = dict(found.training)
        self.test: ExternalTest | None = None
        self.dropped = list(found.dropped)
        self._config = config
        self._permuted_with: dict[str, Any] = {}
        self.findings: tuple[Finding, ...] = self._all_findings()
        self.not_run = [(each.what, each.why) for each in found.not_run]
        self.fits: dict[str, float] = {}
        self.made: dict[str, Any] = {}
        if config.target is not None:
            self.title = f"Predicting {config.target}"
        #: Fits the selected candidate on all rows; set by the caller that ran the study.
        self.refit: Callable[[], Any] | None = None
        #: Fits the selected candidate or an estimator with prediction intervals; set by the caller that ran the study.
        self.refit_intervals: Callable[[Any], Any] | None = None
        #: Fits the members of the ensemble on all rows; set by the caller that ran the study.
        self.refit_ensemble: Callable[[], Any] | None = None
        self._intervals: Any = None
        self._intervals_of: Any = None
        self._intervals_name = found.best
        #: Measures which columns the selected candidate needs; set by the caller that ran the study.
        self.permute: Callable[..., Importance] | None = None

    def _all_findings(self) -> tuple[Finding, ...]:
        config = self._config
        return most_severe_first([*config.findings, *check_results(self._found, config.ignore)])

    @cached_property
    def model(self) -> Any:
        """The selected candidate, fitted on all rows at the first access."""
        if self.refit is None:
            raise InvalidInput(
                "The model must be fitted by the engine that ran the study, which is gone. Run study again."
            )
        return self.refit()

    @cached_property
    def ensemble(self) -> Any:
        """The weighted average of settings, fitted on all rows at the first access; None where there is none.

        Its ``assessment_`` is the cross-test, with ``estimate``, ``interval`` and ``recommended``. ``not_run`` says why
        there is none. Studies that are not tuned have none.
        """
        if self.averaged is None:
            return None
        if self.refit_ensemble is None:
            raise InvalidInput(
                "The members must be fitted by the engine that ran the study, which is gone. Run study again."
            )
        return self.refit_ensemble()

    @property
    def promise(self) -> Promise | None:
        """The estimate for new rows, in the form in which a saved model carries it; None where there is none."""
        if math.isnan(self.estimate):
            return None
        label = plain(self._pos_label)
        return Promise(self.metric, float(self.estimate), self.interval, self.level, self.rows, label)

    def interval_model(self, estimator: Any = None, *, name: str | None = None) -> Any:
        """Fit a model with prediction intervals or sets: on the folds of the study, and on all rows.

        At most one refit per fold, which :meth:`importance` shares. The page has a table and a picture of their
        coverage from then on.

        Parameters
        ----------
        estimator : estimator, optional
            By default the selected candidate. Another one, such as ``study.ensemble`` or an Agghoo, is fitted as a
            whole without each fold and on all rows.
        name : str, optional
            Name of the estimator on the page.

        Returns
        -------
        IntervalRegressor or IntervalClassifier
            Its ``predict_interval`` or ``predict_set`` takes a level; ``coverage_`` is the coverage on held-out rows.
        """
        if self.refit_intervals is None:
            raise InvalidInput(
                "The models of the folds must be fitted by the engine that ran the study, which is gone. Run study "
                "again."
            )
        if self._intervals is None or self._intervals_of is not estimator:
            self._intervals, self._intervals_of = self.refit_intervals(estimator), estimator
            self.__dict__.pop("pictures", None)
        self._intervals_name = name or (self.best if estimator is None else type(estimator).__name__)
        return self._intervals

    @property
    def interval_coverage(self) -> dict[str, Any] | None:
        """Coverage of the prediction intervals on held-out rows, as plain JSON types; None where there are none."""
        return None if self._intervals is None else coverage_of(self._intervals, self._intervals_name)

    def importance(
        self, *, repeats: int = 5, correlated: float | None = 0.8, seconds: float | None = None
    ) -> Importance:
        """Measure which columns the selected model needs; the page and the summary have a section on it from then on.

        The models of the folds predict held-out rows with permuted columns: at most one refit per fold.

        Parameters
        ----------
        repeats : int, default=5
            Number of permutations of each column on each fold.
        correlated : float or None, default=0.8
            Association from which columns are also permuted together; see :func:`truefit.importance`.
        seconds : float, optional
            Time for it. Columns for which it is not enough are listed in ``not_run`` of the result.
        """
        if self.permute is None:
            raise InvalidInput(
                "Importances need the engine that ran the study, which is gone. Run study again, or call "
                "truefit.importance."
            )
        options = {"repeats": repeats, "correlated": correlated, "seconds": seconds}
        if self._found.importance is None or options != self._permuted_with:
            self._found.importance = self.permute(**options)
            self._permuted_with = options
            self.findings = self._all_findings()
            for name in ("next_steps", "pictures"):
                self.__dict__.pop(name, None)
        return self._found.importance

    @property
    def columns_answer(self) -> Answer | None:
        """Which columns matter, in sentences; None where it was not measured."""
        return None if self._found.importance is None else columns_answer(self._found)

    def evaluate(self, test: Data, training: Data) -> None:
        """Evaluate the selected model, trained on all rows, on a separate test set."""
        found = self._found
        self.test = found.test = evaluated(
            self.model, test, training, found.metric, found.level, found.estimate, found.interval
        )

    def _predictions_of(self, name: str) -> ModelPredictions:
        return self.assessment._predictions_of(name)

    def _rows_of(self, name: str) -> Positions | None:
        return self.assessment._rows_of(name)

    @cached_property
    def answers(self) -> list[Answer]:
        """The four questions with their answers."""
        return [each(self._found) for each in (which_model, how_good, does_it_fit, more_data)]

    @cached_property
    def verdict(self) -> list[str]:
        """The answers in plain sentences."""
        return [sentence for answer in self.answers for sentence in (answer.headline, *answer.sentences)]

    @cached_property
    def next_steps(self) -> list[str]:
        """What to try next: the advice of findings, more rows, a faster model that does as well."""
        return next_steps_of(self._found, self.findings)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per candidate, the best first: its value, interval and difference, on training rows, and seconds."""
        import pandas as pd

        found = self._found
        lines = []
        for name in found.ranked:
            each, pair = found.assessment.estimates[name], found.pairs.get(name)
            low, high = each.interval or (float("nan"), float("nan"))
            apart = None if pair is None else pair.found
            verdict = "selected" if name == found.best else "no comparison"
            if pair is not None and found.comparison is not None:
                verdict = found.comparison.verdict_on(pair)
            lines.append(
                {"estimator": name, "estimate": each.value, "low": low, "high": high}
                | {"difference": 0.0 if name == found.best else float("nan") if apart is None else apart.mean}
                | {"verdict": verdict, "training": found.training.get(name, float("nan"))}
                | {"fit_seconds": found.seconds[name]}
            )
        return pd.DataFrame(lines).set_index("estimator")

    def summary(self) -> str:
        """Return the findings that matter most, the answers, what to do next, and what else to know."""
        lines: list[str] = []
        warnings = [each for each in self.findings if at_least(each.severity, "warning")]
        if warnings:
            lines += ["Check first", *(f"  - {_finding_text(each)}" for each in warnings), ""]
        for answer in [*self.answers, *([self.columns_answer] if self.columns_answer else [])]:
            lines += [answer.question, f"  {answer.headline}", *(f"  {each}" for each in answer.sentences), ""]
        for title, texts in self.notes.items():
            if texts:
                lines += [title, *(f"  - {text}" for text in texts), ""]
        return "\n".join(lines).rstrip()

    @property
    def notes(self) -> dict[str, list[str]]:
        """What is reported beside the answers, by heading."""
        return {
            "Next steps": self.next_steps,
            "Other findings": [_finding_text(each) for each in self.findings if each.severity == "info"],
            "Candidates stopped early": [_dropped(each) for each in self.dropped if each.cause != "failed"],
        }

    @property
    def headline(self) -> str:
        """Which model to use, and how good it is."""
        return " ".join(answer.headline for answer in self.answers[:2])

    @cached_property
    def diagnoses(self) -> Diagnoses:
        """Calibration, decision curve, thresholds and classes of the selected model, as the page has them."""
        return diagnosed(self)

    @cached_property
    def pictures(self) -> Pictures:
        """Pictures of the page, by section: caption, SVG, and SVG for a phone, of each."""
        return draw_pictures(self)

    @overload
    def to_html(self, path: None = None, *, report: Literal["tripod"] | None = None) -> str: ...

    @overload
    def to_html(self, path: str | os.PathLike[str], *, report: Literal["tripod"] | None = None) -> Path: ...

    def to_html(
        self, path: str | os.PathLike[str] | None = None, *, report: Literal["tripod"] | None = None
    ) -> str | Path:
        """Return the study as a standalone HTML page, or write that page to a file.

        Parameters
        ----------
        path : str or path-like, optional
            File to write to. Its name must end in ``.html`` or ``.htm``.
        report : {"tripod"}, optional
            "tripod": with the items of the TRIPOD+AI statement, filled in where the study knows them.

        Returns
        -------
        str or Path
            The page itself without a path, the path of the written file otherwise.
        """
        if report not in (None, "tripod"):
            raise InvalidInput(f"The 'report' parameter of to_html must be 'tripod' or None. Got {report!r} instead.")
        return self._written(path, partial(self._page, tripod=report is not None))

    def _page(self, *, tripod: bool = False) -> str:
        return render_study(study_report(self), self.made, tripod=tripod)

    def _repr_html_(self) -> str:
        table = {**tables_of(self.to_dict(), "which")[0], "drawn": None, "meanings": None}
        answers = [(answer.question, answer.headline) for answer in self.answers[2:]]  # the headline has the others
        lines = [_finding_text(each) for each in self.findings if at_least(each.severity, "warning")]
        return render_fragment(
            self.title, self.headline, terms=answers, lines=lines, table=table, figure_svg=self._svg()
        )

    def _svg(self) -> str:
        return to_svg(self.plot(), title=self.title, description=self.assessment.summary())

    @plot_method(*KINDS)
    def plot(self, kind: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the candidates with their intervals, or one of the other plots of their assessment.

        Parameters
        ----------
        kind : str, optional
            By default the estimates with their intervals. "roc", "precision_recall": the mean curve over the folds.
            "calibration", "decision_curve", "confusion", "residuals", "predicted": of the rows of all folds pooled.
            "time": the score on each period, for rows in time order.
        ax : matplotlib Axes, optional
            Where to draw. A new figure by default, which a notebook displays.
        """
        return self.assessment.plot(kind, ax=ax)

    @property
    def parts(self) -> dict[str, Result]:
        """The results of the methods that were run, by name."""
        known = {name: getattr(self, name) for name in PARTS} | {"importance": self._found.importance}
        return {name: part for name, part in known.items() if part is not None}

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        import truefit

        interval = None if self.interval is None else [float(end) for end in self.interval]
        return {
            "kind": "study",
            "version": 3,
            "truefit": truefit.__version__,
            "target": self.target,
            "rows": self.rows,
            "columns": self.columns,
            "roles": self.roles,
            "groups": None if self._found.data.groups is None else self._found.data.n_groups,
            "task": self.task,
            "seed": self.seed,
            "folds": len(self.assessment.splits),
            "metric": self.metric,
            "metric_name": self.metric_text.name,
            "greater_is_better": self._found.metric.greater_is_better,
            "percent": self.metric_text.percent,
            "level": self.level,
            "candidates": self._found.n_candidates,
            "searched": self._found.n_searched,
            "settings": [each.to_dict() for each in self._found.settings],
            "best": self.best,
            "simplest": self._found.simplest,
            "estimate": self.estimate,
            "interval": interval,
            "shuffled": self.shuffled,
            "test": None if self.test is None else self.test.to_dict(),
            "baseline": self._found.baseline,
            "baselines": list(self._found.baselines),
            "answers": [answer.to_dict() for answer in self.answers],
            "intervals": self.interval_coverage,
            "columns_answer": None if self.columns_answer is None else self.columns_answer.to_dict(),
            "findings": [each.to_dict() for each in self.findings],
            "next_steps": self.next_steps,
            "not_run": [{"what": what, "why": why} for what, why in self.not_run],
            "dropped": [asdict(each) for each in self.dropped],
            "training": self.training,
            "forecasts": forecasts(self._found),
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
            "predictions": self.diagnoses.to_dict(),
            "fits": dict(self.fits),
        }
