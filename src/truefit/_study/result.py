"""Study: which model to use, how good it is, whether it fits, and whether more data would help."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from truefit._core.errors import InvalidInput
from truefit._methods.result import Result
from truefit._methods.text import counted
from truefit._study.advice import caveats_of, next_steps_of
from truefit._study.answers import Answer, how_good, more_data, which_model
from truefit._study.evidence import SkippedCandidate, StudyEvidence
from truefit._study.fit_diagnosis import does_it_fit

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: The parts of a study, in the order in which its questions come.
PARTS = ("assessment", "honest", "comparison", "perturbation", "bias_variance", "cross_test", "curves")


def _dropped(each: SkippedCandidate) -> str:
    when = f" (after {counted(each.after, 'fold')})" if each.after else ""
    return f"{each.name}{when}: {each.reason.rstrip('.')}."


class Study(Result):
    """The verdict on a table: four answers with their numbers, and the results of every method behind them.

    Attributes
    ----------
    best : str
        Name of the chosen candidate.
    metric, task, rows, columns, level
    metric_text : MetricText
        How values of the metric are written.
    estimate : float
        Value to expect of the choice on new rows: made anew without each test set, and judged there.
    interval : tuple of float or None
        Interval of the estimate.
    assessment : Assessment
        Every candidate on the same folds.
    honest : NestedAssessment or None
        The choice made anew without each fold; None where there was no time for it.
    comparison : Comparison or None
        The candidates against the chosen one; None where there is only one.
    perturbation : Perturbation or None
        What noise in the targets does to the chosen one and a few others.
    bias_variance : BiasVariance or None
        Bias and variance of the chosen one, and of a less flexible one where there is one.
    cross_test : CrossTest or None
        The candidates put together by Agghoo, on the same folds.
    curves : LearningCurves or None
        Learning curves of the best few.
    training : dict
        Value of the metric on the training rows, of candidates that were fitted on all rows.
    dropped : list of SkippedCandidate
        Candidates that did not take part to the end, and why.
    suspects : sequence of Suspect
        What in the table may make the numbers better than they should be.
    not_done : list of str
        What was left out, and why.
    fits : dict
        How many fits this took, by kind; filled in by whoever ran it.
    """

    title = "Study"

    def __init__(self, found: StudyEvidence) -> None:
        self._found = found
        self.best = found.best
        self.metric = found.metric.name
        self.task = found.task
        self.rows = found.data.n
        self.columns = found.columns
        self.level = found.level
        self.metric_text = found.metric_text
        self.estimate = found.estimate
        self.interval = found.interval
        self.assessment = found.assessment
        self.honest = found.nested
        self.comparison = found.comparison
        self.perturbation = found.perturbation
        self.bias_variance = found.bias_variance
        self.cross_test = found.cross_test
        self.curves = found.curves
        self.training = dict(found.training)
        self.dropped = list(found.dropped)
        self.suspects = found.suspects
        self.not_done = list(found.not_done)
        self.fits: dict[str, float] = {}
        #: Fits the chosen candidate on all rows; given by whoever ran the study.
        self.refit: Callable[[], Any] | None = None

    @cached_property
    def model(self) -> Any:
        """The chosen candidate, fitted on all rows when it is first asked for."""
        if self.refit is None:
            raise InvalidInput("The model of a study must be fitted by the engine that ran it. This one is gone.")
        return self.refit()

    @cached_property
    def answers(self) -> list[Answer]:
        """The four questions with their answers."""
        return [each(self._found) for each in (which_model, how_good, does_it_fit, more_data)]

    @cached_property
    def verdict(self) -> list[str]:
        """The answers in plain sentences."""
        return [sentence for answer in self.answers for sentence in (answer.headline, *answer.sentences)]

    @cached_property
    def caveats(self) -> list[str]:
        """What to know before believing the numbers."""
        return caveats_of(self._found)

    @cached_property
    def next_steps(self) -> list[str]:
        """What to try next, each with the number that speaks for it."""
        return next_steps_of(self._found)

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
            verdict = "chosen" if name == found.best else "no comparison"
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
        """Return the answers, what to do next, and what to know."""
        lines: list[str] = []
        for answer in self.answers:
            lines += [answer.question, f"  {answer.headline}", *(f"  {each}" for each in answer.sentences), ""]
        for title, texts in self.notes.items():
            if texts:
                lines += [title, *(f"  - {text}" for text in texts), ""]
        return "\n".join(lines).rstrip()

    @property
    def notes(self) -> dict[str, list[str]]:
        """What is said beside the answers, by heading."""
        return {
            "What to try next": self.next_steps,
            "What to know": self.caveats,
            "Candidates that were dropped": [_dropped(each) for each in self.dropped],
            "Not done": self.not_done,
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the candidates with their intervals."""
        return self.assessment.plot(ax)

    @property
    def parts(self) -> dict[str, Result]:
        """The results of the methods that were run, by name."""
        known = {name: getattr(self, name) for name in PARTS}
        return {name: part for name, part in known.items() if part is not None}

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "study",
            "version": 2,
            "best": self.best,
            "estimate": self.estimate,
            "interval": None if self.interval is None else [float(end) for end in self.interval],
            "level": self.level,
            "metric": self.metric,
            "percent": self.metric_text.percent,
            "task": self.task,
            "rows": self.rows,
            "columns": self.columns,
            "answers": [answer.to_dict() for answer in self.answers],
            "caveats": self.caveats,
            "next_steps": self.next_steps,
            "not_done": self.not_done,
            "dropped": [{"name": each.name, "after": each.after, "reason": each.reason} for each in self.dropped],
            "suspects": [{"kind": each.kind, "column": each.column, "text": each.text} for each in self.suspects],
            "training": self.training,
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
            "fits": dict(self.fits),
        }
