"""Diagnostics of predictions on the command line: calibration, thresholds, net benefit, subgroups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from truefit._methods.diagnostics import PredictionDiagnostics
    from truefit._methods.result import EstimatorResult

CalibrationOption = Annotated[
    bool, typer.Option("--calibration", help="Also print calibration: slope, in the large, calibration error.")
]
ThresholdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="RULE",
        help="Also print sensitivity, specificity and precision at the threshold by a rule: youden, sensitivity=0.9, "
        "specificity=0.9, precision=0.8, cost=5:1 (false negative : false positive), or a probability such as 0.2. "
        "Repeatable.",
    ),
]
NetBenefitOption = Annotated[
    list[float] | None,
    typer.Option(
        "--net-benefit", metavar="PROBABILITY", help="Also print the net benefit at this threshold. Repeatable."
    ),
]
ByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="Also print the metric by the levels of a column, or bins of a number. Repeatable.",
    ),
]

_RULE: Final = re.compile(r"(sensitivity|specificity|precision)=([0-9.]+)|cost=([0-9.]+):([0-9.]+)|([0-9.]+)")


@dataclass(frozen=True)
class Diagnostics:
    """What a command is to say of predictions beside the metrics."""

    calibration: bool
    rules: Sequence[Any]
    net_benefit: Sequence[float]
    by: Sequence[pd.Series[Any]]

    def of(self, result: PredictionDiagnostics) -> dict[str, list[EstimatorResult]]:
        """Return the diagnostics by kind; kinds that were not asked for are absent."""
        found: dict[str, list[EstimatorResult]] = {
            "calibration": [result.calibration()] if self.calibration else [],
            "thresholds": [result.threshold(rule) for rule in self.rules],
            "decision_curve": [result.decision_curve(self.net_benefit)] if self.net_benefit else [],
            "subgroups": [result.by(column) for column in self.by],
        }
        return {kind: results for kind, results in found.items() if results}


def rule_of(text: str) -> Any:
    """Return the rule of a threshold from its text.

    >>> rule_of("youden"), rule_of("sensitivity=0.9"), rule_of("cost=5:1"), rule_of("0.2")
    ('youden', {'sensitivity': 0.9}, {'cost': (5.0, 1.0)}, 0.2)
    """
    from truefit._methods.threshold import read_rule

    match = _RULE.fullmatch(text)
    rule: Any = text
    try:
        if match is not None and match[1]:
            rule = {match[1]: float(match[2])}
        elif match is not None and match[3]:
            rule = {"cost": (float(match[3]), float(match[4]))}
        elif match is not None:
            rule = float(match[5])
        read_rule(rule)
    except (ValueError, InvalidInput):  # such as 0.2.1, or a probability of 1.5
        raise InvalidInput(
            "--threshold must be youden, sensitivity=0.9, specificity=0.9, precision=0.8 (a share above 0, up to 1), "
            f"cost=5:1 (one above 0), or a probability between 0 and 1 such as 0.2. Got {text!r} instead."
        ) from None
    return rule
