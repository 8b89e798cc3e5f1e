"""TF203, TF204, TF205, TF207: over- and underfitting of the selected model."""

from __future__ import annotations

from collections.abc import Iterator

from truefit._core.finding import Finding
from truefit._methods.text import listed, whole_percent
from truefit._study.checks.base import ResultCheck
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
