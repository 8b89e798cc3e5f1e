"""Text of numbers and metrics in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from truefit._metrics.row_loss import is_share

if TYPE_CHECKING:
    from truefit._core.data import Data
    from truefit._metrics.metric import Metric

_NAMES = {
    "rmse": "RMSE",
    "mse": "mean squared error",
    "mae": "mean absolute error",
    "auc": "AUC",
    "roc_auc": "AUC",
    "r2": "R²",
    "f1": "F1",
    "log_loss": "log loss",
    "balanced_accuracy": "balanced accuracy",
    "brier": "Brier score",
    "average_precision": "average precision",
}
_AN = ("R", "F1", "a", "e", "i", "o", "u", "AU")


@dataclass(frozen=True, slots=True)
class MetricText:
    """A metric in sentences: shares of rows in percent, other values as they are.

    >>> error = MetricText("error", percent=True)
    >>> error.of_value(0.0321), error.change(0.004), error.between((0.019, 0.0544))
    ('an error of 3.2%', '0.4 points', '1.9% to 5.4%')
    >>> MetricText("RMSE", percent=False).of_value(1234.5)
    'an RMSE of 1,230'
    """

    name: str
    percent: bool

    @classmethod
    def of(cls, metric: Metric) -> MetricText:
        """Return the text of a metric."""
        return cls(_NAMES.get(metric.name, metric.name), metric.zero_one or is_share(metric.name))

    @classmethod
    def from_name(cls, name: str) -> MetricText:
        """Return how a metric is written of which only the name is known, as in a stored report."""
        return cls(_NAMES.get(name, name), is_share(name))

    def value(self, value: float) -> str:
        """Return a value."""
        return percent(value) if self.percent else number(value)

    def change(self, value: float) -> str:
        """Return a difference without its sign."""
        return points(abs(value)) if self.percent else number(abs(value))

    def signed(self, value: float) -> str:
        """Return a difference with its sign."""
        plain = _fixed(100 * abs(value)) if self.percent else number(abs(value))
        return plain if plain == "0" else f"{'−' if value < 0 else '+'}{plain}"

    def difference(self, mean: float, interval: tuple[float, float] | None) -> str:
        """Return a difference with its interval."""
        if interval is not None and mean == interval[0] == interval[1] == 0:
            return "no difference"
        unit = " points" if self.percent else ""
        ends = "" if interval is None else f" ({self.signed(interval[0])} to {self.signed(interval[1])})"
        return f"{self.signed(mean)}{unit}{ends}"

    def named_difference(self, mean: float, interval: tuple[float, float] | None) -> str:
        """Return the word "difference" and its value, or "no difference".

        >>> from truefit._metrics.metric import get_metric
        >>> text = MetricText.of(get_metric("error", "classification"))
        >>> text.named_difference(0.0, (0.0, 0.0)), text.named_difference(0.011, (0.002, 0.02))
        ('no difference', 'difference +1.1 points (+0.2 to +2.0)')
        """
        text = self.difference(mean, interval)
        return text if text == "no difference" else f"difference {text}"

    def between(self, interval: tuple[float, float]) -> str:
        """Return the two ends of an interval."""
        return f"{self.value(interval[0])} to {self.value(interval[1])}"

    def named(self, value: float) -> str:
        """Return the metric's name and a value: "error 3.2%"."""
        return f"{self.name} {self.value(value)}"

    def of_value(self, value: float) -> str:
        """Return the metric with its article and a value."""
        return f"{'an' if self.name.startswith(_AN) else 'a'} {self.name} of {self.value(value)}"


def _fixed(hundredths: float) -> str:
    """Return a percentage with one decimal, below 1 with two."""
    text = f"{hundredths:.1f}" if abs(hundredths) >= 1 else f"{hundredths:.2f}"
    if float(text) == 0:
        return "0"
    return text.removesuffix("0").removesuffix(".") if abs(hundredths) < 1 else text


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(0.0263), percent(0.003), percent(1.0), percent(0.0)
    ('2.6%', '0.3%', '100%', '0%')
    """
    return "100%" if share == 1 else f"{_fixed(100 * share)}%"


def threshold_text(threshold: float) -> str:
    """Return a threshold with three digits; one just above 1, by which no row is positive, would be 1.

    >>> threshold_text(0.25), threshold_text(1.0000000000000002)
    ('0.25', 'above 1')
    """
    return f"{threshold:.3g}" if threshold <= 1 else "above 1"


def points(share: float) -> str:
    """Return a difference of shares in percentage points, such as "2.6 points"."""
    return f"{_fixed(100 * share)} points"


def number(value: float) -> str:
    """Return a number with three significant digits.

    >>> number(54.996), number(0.00123456), number(123456.0), number(0.0)
    ('55.0', '0.00123', '123,000', '0')
    """
    if value == 0 or abs(value) < 1e-4:
        return "0" if value == 0 else f"{value:.2e}"
    rounded = float(f"{value:.3g}")
    if abs(rounded) >= 100:
        return f"{rounded:,.0f}"
    return f"{rounded:#.3g}"


def interval_name(level: float) -> str:
    """Return the header of a column of intervals."""
    return f"{level:.0%} confidence interval"


def whole_percent(share: float) -> str:
    """Return a share in whole percent, clipped to 0 and 100."""
    return f"{min(max(share, 0.0), 1.0):.0%}"


def seconds(value: float) -> str:
    """Return a duration.

    >>> seconds(0.0004), seconds(0.21), seconds(83.0), seconds(432.0)
    ('under 1 ms', '0.21 s', '83 s', '7.2 min')
    """
    if value < 0.001:
        return "under 1 ms"
    if value >= 120:
        return f"{value / 60:.2g} min" if value < 6000 else f"{value / 60:,.0f} min"
    if value >= 10:
        return f"{value:.0f} s"
    return f"{1000 * value:.0f} ms" if value < 0.1 else f"{value:.2g} s"


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence, such as "a, b and c"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def new_rows(data: Data) -> str:
    """Return the rows that an estimate is for: of groups or of a period that no training row is of."""
    if data.time is not None:
        return "the next period"
    return "new rows" if data.groups is None else "rows of new groups"


def all_candidates(count: int, what: str = "candidates") -> str:
    """Return "both candidates" or, such as, "all 9 candidates"."""
    return f"both {what}" if count == 2 else f"all {count:,} {what}"


def searched_text(searched: int, count: int, what: str = "candidates") -> str:
    """Return what a search was among, where some candidates may have been stopped before it.

    >>> searched_text(9, 9), searched_text(4, 72, "settings")
    ('all 9 candidates', 'the 4 settings that were searched (of 72)')
    """
    return (
        all_candidates(count, what)
        if searched == count
        else f"the {searched:,} {what} that were searched (of {count:,})"
    )


def counted(count: int, noun: str) -> str:
    """Return a number with its noun, such as "1 fold" or "12,000 rows"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
