"""TF201 to TF215: the choice, the fit and the estimate of a model. TF301 to TF303: the run itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from truefit._core.errors import InvalidInput
from truefit._core.finding import Finding
from truefit._methods.calibration import calibration_of
from truefit._methods.diagnostic_tables import MOST_CLASSES
from truefit._methods.result import plain
from truefit._methods.text import listed, percent, whole_percent
from truefit._stats.calibration import CalibrationEstimate
from truefit._study.checks.base import ResultCheck, quoted
from truefit._study.evidence import StudyEvidence
from truefit._study.fit_diagnosis import (
    as_well,
    difference_to_best,
    fit_diagnosis,
    memorisation,
    memorised_noise,
    more_flexible,
    variance_share,
)

#: The selection is called unstable where nested cross-validation selects the same model in fewer folds than this share.
STABLE_SHARE: Final = 0.8
#: The gain from training on all rows is reported where it is more than this share of the way to the interval's end.
NOTABLE_GAIN: Final = 0.25
#: With fewer rows of a class, or of the others, nothing is claimed of its calibration.
LEAST_ROWS: Final = 20
#: So few different probabilities in a fold are those of a tree or of votes, whose slope varies from fit to fit.
FEW_VALUES: Final = 20
_SAMPLED: Final = {"perturbation": "perturbed validation", "bias_variance": "bias and variance"}


class NotBetterThanBaseline(ResultCheck, code="TF201", title="Not better than the baseline", severity="warning"):
    """Compares the selected model with the baseline: by the paired test where there is one, else by the interval."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield a finding where no candidate is better than the baseline."""
        reason, fmt = None if evidence.nothing_fitted else evidence.baseline_reason, evidence.metric_text
        if reason is None:
            return
        best, own = evidence.best, evidence.value(evidence.best)
        against = "" if evidence.baseline is None else f" against {fmt.value(evidence.baseline)}"
        text = {
            "best": f"No candidate is better than the baseline, {best}: cross-validated {fmt.named(own)}."
            if best in evidence.baselines
            else f"No candidate is better than the baseline: the best one, {best}, has cross-validated "
            f"{fmt.named(own)}{against}.",
            "tie": f"The best candidate, {best}, is not significantly different from the baseline: {fmt.named(own)}"
            f"{against} in cross-validation.",
            "interval": f"The confidence interval of the best candidate, {best}, includes the baseline: "
            f"{fmt.named(evidence.estimate)}{against}.",
        }[reason]
        advice = "Look for other features: these columns hold little information about the target."
        if reason == "tie" and evidence.data.time is not None:
            periods = len(evidence.assessment.splits)
            advice = f"Use more periods (cv) or look for other features: {periods} periods show large differences only."
        yield self.finding(
            text,
            advice,
            best=evidence.best,
            estimate=evidence.estimate,
            baseline=evidence.baseline,
            reason=reason,
        )


class CandidateFailed(ResultCheck, code="TF202", title="Candidates failed", severity="warning"):
    """Lists candidates that could not be fitted."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield one finding for all candidates with failed fits."""
        failed = [each for each in evidence.dropped if each.cause == "failed"]
        if failed:
            yield self.finding(
                " ".join(f"{each.name}: {each.reason.rstrip('.')}." for each in failed),
                f"Fix {listed([each.name for each in failed])}, or remove {'it' if len(failed) == 1 else 'them'}: the "
                "selection was made among the others.",
                candidates={each.name: each.reason for each in failed},
            )


class SelectionUnstable(ResultCheck, code="TF206", title="Selection is unstable", severity="info"):
    """Counts in how many outer folds of nested cross-validation the selected model was selected."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield a finding below 80% of the folds."""
        if evidence.nested is None:
            return
        # Settings of one family are alike; what matters is which family was selected.
        selected, best = [evidence.family(name) for name in evidence.nested.chosen], evidence.family(evidence.best)
        count = selected.count(best)
        if count < STABLE_SHARE * len(selected):
            counts = {name: selected.count(name) for name in dict.fromkeys(selected)}
            shown = listed([f"{name} {times}" for name, times in counts.items()])
            yield self.finding(
                f"Nested cross-validation selected {best} in {count} of {len(selected)} outer "
                f"{evidence.folds_name} (counts: {shown}).",
                "Treat these models as alternatives: choose by cost or simplicity"
                + (", or average them with Agghoo." if evidence.data.time is None else "."),
                selected=counts,
                folds=len(selected),
            )


class EdgeOfSpace(ResultCheck, code="TF213", title="Best value at the edge of its search space", severity="info"):
    """Compares the parameters of the selected setting with the values that were tried."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield a finding where a parameter has the least or the greatest value, and could go beyond it."""
        if evidence.edges:
            named = listed([f"{name}={value!r}" for name, value in evidence.edges.items()])
            family = evidence.family(evidence.best)
            yield self.finding(
                f"The selected setting of {family} has {named}, at the edge of the values that were tried.",
                f"Try values beyond: models={{{family!r}: (estimator, grid)}} with a wider grid.",
                family=family,
                parameters={name: plain(value) for name, value in evidence.edges.items()},
            )


class NoSignificantDifference(ResultCheck, code="TF208", title="No significant differences", severity="info"):
    """Counts the candidates that the paired tests cannot distinguish from the selected model."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield a finding where there are several candidates, and none differs significantly."""
        others = [name for name in evidence.learners if name != evidence.best]
        if others and evidence.best not in evidence.baselines and set(others) <= set(evidence.ties):
            yield self.finding(
                f"{listed(others)} {'does' if len(others) == 1 else 'do'} not differ significantly from "
                f"{evidence.best} on these {evidence.data.n:,} rows.",
                "Choose among them by cost, simplicity or speed.",
                best=evidence.best,
                ties=others,
            )


class TrainedOnFewerRows(ResultCheck, code="TF209", title="Estimate is for fewer rows", severity="info"):
    """Reads from the learning curve how much a model trained on all rows gains over the models of the folds."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield a finding where the gain is large beside the interval."""
        curve, interval, fmt = evidence.curve, evidence.interval, evidence.metric_text
        if curve is None or curve.refused is not None or interval is None or curve.metric != evidence.metric.name:
            return
        rows, share = evidence.data.n, evidence.assessment.splits.mean_train_rows / evidence.data.n
        # A size of the curve includes the test fold: as many rows are trained on as all of these with more rows.
        with_folds, with_all = (float(curve.predict(size)[0]) for size in (float(rows), rows / share))
        gain = with_folds - with_all
        if gain > NOTABLE_GAIN * (evidence.estimate - interval[0]):
            within = evidence.estimate - gain >= interval[0]
            yield self.finding(
                f"The estimate is for models trained on {share:.0%} of the rows. According to the learning curve, the "
                f"final model, trained on all rows, is about {fmt.change(gain)} better, which is "
                f"{'still inside' if within else 'outside'} the interval.",
                "Read the estimate as pessimistic, or use more folds, such as 10.",
                gain=gain,
                share_of_rows=share,
                within_interval=within,
            )


class HeavyTails(ResultCheck, code="TF211", title="Heavy-tailed losses", severity="warning"):
    """Measures how much of the error a few rows carry: skewness, tail index, share of the largest 1%."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield a finding where the estimate rests on few rows."""
        tail = evidence.winner.tail
        if tail is None or not tail.heavy:
            return
        yield self.finding(
            f"A few rows carry much of the {evidence.metric_text.name} of {evidence.best}: the largest 1% of its "
            f"losses are {tail.largest:.0%} of their sum (tail index {tail.hill:.2f}, skewness {tail.skewness:.1f}). "
            "New rows with larger losses may exist, so the interval, although widened, may cover less than its level.",
            "Look at the rows with the largest errors: are they mistakes in the table? Otherwise use a metric that is "
            "less sensitive to them, such as mae, or predict the logarithm of the target.",
            largest_share=tail.largest,
            tail_index=tail.hill,
            skewness=tail.skewness,
        )


class OneColumnCarriesAll(ResultCheck, code="TF215", title="One column carries nearly everything", severity="warning"):
    """Compares the importance of each column with that of all columns together."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield a finding where a column has 90% of the importance of all, and every other one below 10%."""
        found = evidence.importance
        if found is None or found.dominant is None:
            return
        name, share = found.dominant
        yield self.finding(
            f"Permuting {name!r} alone takes away {percent(share)} of what {evidence.best} knows, and no other column "
            "takes away a tenth of it. That is typical of target leakage.",
            f"Check that {name!r} is known before the target is, at the time of prediction. If not, drop it.",
            column=name,
            share=share,
        )


class QuestionsNotRun(ResultCheck, code="TF301", title="Parts not run", severity="info"):
    """Lists the parts of the study that were not run."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield one finding for all parts."""
        if evidence.not_run:
            yield self.finding(
                " ".join(f"{each.what}: {each.why.rstrip('.')}." for each in evidence.not_run),
                "A larger budget runs what time did not allow; with a store, a rerun resumes from finished fits.",
                parts=[{"what": each.what, "why": each.why} for each in evidence.not_run],
            )


class PartsOnSample(ResultCheck, code="TF302", title="Computed on a sample of the rows", severity="info"):
    """Lists the parts of the study that used a sample of the rows."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield one finding for all parts."""
        if evidence.sampled:
            parts = [f"{_SAMPLED[part]} on {rows:,}" for part, rows in evidence.sampled.items()]
            text = listed(parts)
            yield self.finding(
                f"{text[0].upper()}{text[1:]} of the {evidence.data.n:,} rows, a random sample, to save time.",
                "A larger budget uses more rows.",
                rows=dict(evidence.sampled),
                of=evidence.data.n,
            )


class MayDifferOnRerun(ResultCheck, code="TF303", title="A rerun may differ", severity="info"):
    """Says whether measured time decided which fits were run."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield a finding where measured time decided what was run."""
        budget = evidence.time_budget.budget
        if not evidence.time_budget.measured:
            return
        cause = "Measured fit times decided" if budget is None else f"The time budget ({budget:g} s) decided"
        advice = "Use a store: a rerun then takes the recorded times and resumes from finished fits."
        if budget is not None:
            advice = "Run without a budget, or use a store: a rerun then resumes from finished fits."
        yield self.finding(
            f"{cause} which fits were run. A rerun on a slower or faster machine may run others, select another "
            "model and give different numbers.",
            advice,
            budget_seconds=budget,
        )


class Overfitting(ResultCheck, code="TF203", title="Overfitting", severity="warning"):
    """Finds a simpler candidate that memorises less label noise and is not worse."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield a finding where the diagnosis is overfitting."""
        fit = fit_diagnosis(evidence)
        if fit.kind != "overfits":
            return
        best, own = evidence.best, memorisation(evidence, evidence.best)
        text = f"{best} memorises {memorised_noise(evidence, best)}"
        advice = f"Regularise {best} more strongly."
        theirs = None if fit.alternative is None else memorisation(evidence, fit.alternative)
        if fit.alternative is not None and theirs is not None:
            difference = difference_to_best(evidence, fit.alternative)
            text += (
                f"; {fit.alternative}, with {whole_percent(theirs)}, {as_well(evidence, fit.alternative)}{difference}"
            )
            advice = f"Consider {fit.alternative}, the simpler model, or regularise {best} more strongly."
        yield self.finding(
            f"{text}.", advice, model=best, memorisation=own, alternative=fit.alternative, memorisation_of_it=theirs
        )


class Underfitting(ResultCheck, code="TF204", title="Underfitting", severity="warning"):
    """Compares the error on the training rows with the baseline's."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield a finding where the diagnosis is underfitting."""
        if fit_diagnosis(evidence).kind != "underfits":
            return
        own, fmt = evidence.training.get(evidence.best), evidence.metric_text
        text = f"{evidence.best} hardly fits its own training rows"
        if own is not None:
            text += f": {fmt.named(own)}"
            text += "" if evidence.baseline is None else f" (baseline {fmt.value(evidence.baseline)})"
        advice, flexible = "Try a more flexible model, less regularisation or more features.", more_flexible(evidence)
        if flexible:
            more = f"more flexible {'model' if len(flexible) == 1 else 'models'} {listed(flexible)}"
            advice = f"Look for other features: the {more} did no better on held-out rows."
        yield self.finding(
            f"{text}.",
            advice,
            model=evidence.best,
            training=own,
            baseline=evidence.baseline,
        )


class HighVariance(ResultCheck, code="TF205", title="High variance", severity="warning"):
    """Measures the share of variance in the expected loss over bootstrap samples."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield a finding where more than half of the expected loss is variance."""
        share = variance_share(evidence)
        if fit_diagnosis(evidence).kind != "high_variance" or share is None:
            return
        yield self.finding(
            f"{whole_percent(share)} of the expected loss of {evidence.best} is variance: it depends on which rows the "
            "model was trained on.",
            f"Regularise {evidence.best} more strongly, average several models (Agghoo, bagging), or use fewer "
            "features.",
            model=evidence.best,
            variance_share=share,
        )


class Memorisation(ResultCheck, code="TF207", title="Memorises training rows", severity="info"):
    """Measures which share of injected label noise the selected model reproduces on its training rows."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield a finding where the model memorises without measured harm."""
        own = memorisation(evidence, evidence.best)
        if fit_diagnosis(evidence).kind != "memorises" or own is None:
            return
        yield self.finding(
            f"{evidence.best} memorises {memorised_noise(evidence, evidence.best)}. No harm to its score on held-out "
            "rows was measured.",
            "Do not judge it by its training error. If training targets may be wrong, regularise it more strongly.",
            model=evidence.best,
            memorisation=own,
        )


class Miscalibrated(ResultCheck, code="TF210", title="Probabilities are not calibrated", severity="warning"):
    """Compares the calibration slope of the selected model with 1, for each class against the rest."""

    def run(self, evidence: StudyEvidence) -> Iterator[Finding]:
        """Yield one finding where the interval of the slope of a class is above 0 and excludes 1."""
        found = _slopes(evidence)
        if not found:
            return
        label, worst = max(found.items(), key=lambda item: _distance(item[1]))
        assert worst.slope_interval is not None
        low, high = worst.slope_interval
        of_class = "" if evidence.data.classes is None or len(evidence.data.classes) == 2 else f" for class {label!r}"
        others = [each for each in found if each != label]
        also = f" It excludes 1 for {quoted(others)} too." if others else ""
        what = "too extreme: near 0 and 1 too often" if worst.slope < 1 else "not extreme enough: too far from 0 and 1"
        few = ""
        if _few_values(evidence):
            few = (
                " It predicts few different probabilities, as a tree does: the slope may vary from fit to fit by more "
                "than this interval."
            )
        name, family = evidence.best, evidence.family(evidence.best)
        known = "it" if family == name else family  # the name of a setting is not one of a candidate
        yield self.finding(
            f"The calibration slope of {name}{of_class} is {worst.slope:.2f} ({evidence.level:.0%} confidence interval "
            f"{low:.2f} to {high:.2f}), where 1 is ideal: its probabilities are {what}.{also}{few}",
            f"Where probabilities are used, and not only labels or ranks, recalibrate {name}: study {known} with "
            "log_loss as the metric, beside itself with +platt and +isotonic after its name, or "
            "CalibratedClassifierCV of it.",
            slopes={str(each): [one.slope, *(one.slope_interval or ())] for each, one in found.items()},
        )


def _slopes(evidence: StudyEvidence) -> dict[Any, CalibrationEstimate]:
    """Return the classes whose slope's interval is above 0 and excludes 1; the intervals of several hold together."""
    classes = evidence.data.classes
    if classes is None or len(classes) > MOST_CLASSES:
        return {}
    tested = 1 if len(classes) == 2 else len(classes)
    try:
        predictions = evidence.assessment._predictions_of(evidence.best)
        level = 1 - (1 - evidence.level) / tested
        by_class = calibration_of({evidence.best: predictions}, single=True, level=level).estimates[evidence.best]
    except InvalidInput:  # no probabilities, or a class that no row is of
        return {}
    found = {}
    for label, each in by_class.items():
        rows = int((predictions.y == label).sum())
        enough = min(rows, len(predictions.y) - rows) >= LEAST_ROWS
        if not enough or each.slope_interval is None:
            continue
        low, high = each.slope_interval
        # With 0 inside or above, the probabilities have no relation to the class that recalibration could bring out.
        if low > 0 and not low <= 1 <= high:
            found[label] = each
    return found


def _few_values(evidence: StudyEvidence) -> bool:
    """Whether the model of each fold predicts few different probabilities for many rows."""
    own = evidence.assessment._predictions_of(evidence.best)
    if own.probability is None or own.folds is None:
        return False
    folds = [own.probability[own.folds == fold] for fold in np.unique(own.folds)]
    return all(len(np.unique(each[:, 0])) <= min(FEW_VALUES, len(each) / 2) for each in folds)


def _distance(each: CalibrationEstimate) -> float:
    return abs(each.slope - 1)
