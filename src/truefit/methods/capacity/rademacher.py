"""Rademacher complexity: how well a learner fits labels that mean nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.errors import FitError, InvalidInput
from truefit.core.job import Plan
from truefit.core.outcome import Outcome, reasons
from truefit.core.rows import Rows
from truefit.core.task import Ask, FitTask
from truefit.core.tokens import mix, row_tokens, table_blocks
from truefit.methods.candidates import Candidates
from truefit.methods.result import Result
from truefit.methods.splitting.splits import is_whole
from truefit.plots.folds import fold_scores
from truefit.plots.forest import forest
from truefit.stats.intervals import t_interval

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Signs = npt.NDArray[np.int64]


def random_signs(X: Any, rounds: int, random_state: int | None) -> list[Signs]:
    """Return random signs for each row, drawn from the row's content: the same rows get the same ones in any order.

    Examples
    --------
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> signs, again = random_signs(X, 1, None)[0], random_signs(X[::-1], 1, None)[0]
    >>> bool((signs == again[::-1]).all()), sorted(set(signs.tolist()))
    (True, [-1, 1])
    """
    tokens = row_tokens(table_blocks(X)[0])
    if len(tokens) < 2:
        raise InvalidInput(f"Random signs need at least 2 rows. Got {len(tokens)}.")
    found: list[Signs] = []
    number = 0
    while len(found) < rounds:
        salt = np.frombuffer(blake2b(f"signs {random_state} {number}".encode(), digest_size=16).digest(), dtype="<u8")
        bits = mix(tokens, np.broadcast_to(salt, tokens.shape))[:, 0] & np.uint64(1)
        number += 1
        if bits.any() and not bits.all():  # a classifier has to be shown two classes
            found.append(2 * bits.astype(np.int64) - 1)
    return found


def rademacher_plan(
    candidates: Candidates, data: Data, signs: Sequence[Signs], *, level: float, labelled: bool
) -> Plan[RademacherComplexity]:
    """Fit every candidate on all rows to each set of signs, and see how many it repeats; the true labels too."""
    rows = Rows.all(data.n)
    asks = (Ask(rows),)
    targets: list[npt.NDArray[Any] | None] = [*signs, *([None] if labelled else [])]
    outcomes = yield [FitTask(estimator, rows, asks, y=y) for _, estimator in candidates for y in targets]
    failures = [outcome.error for outcome in outcomes if outcome.error is not None]
    if failures:
        # Signs that a learner cannot be fitted to are no random ones: the rest alone would not be honest.
        raise FitError(
            f"{len(failures)} of {len(outcomes)} fits failed, and the complexity needs them all. {reasons(failures)}",
            failures,
        )
    found = {}
    for place, name in enumerate(candidates.names):
        own = outcomes[place * len(targets) : (place + 1) * len(targets)]
        agreed = [np.mean(_predicted(outcome, data) == y) for outcome, y in zip(own, signs, strict=False)]
        wrong = float(np.mean(_predicted(own[-1], data) != data.y)) if labelled else None
        found[name] = Measured(2 * np.asarray(agreed) - 1, wrong, level)
    return RademacherComplexity(found, rows=data.n, level=level, single=candidates.single)


def _predicted(outcome: Outcome, data: Data) -> npt.NDArray[Any]:
    return outcome.answer(data, Rows.all(data.n))


@dataclass(frozen=True)
class Measured:
    """The correlations of one learner with random signs, and its error on the true labels."""

    correlations: npt.NDArray[np.float64]
    training_error: float | None
    level: float

    @property
    def value(self) -> float:
        """Mean correlation."""
        return float(self.correlations.mean())

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """Interval of the mean over the rounds; None where all rounds came out alike."""
        if len(self.correlations) < 2 or np.ptp(self.correlations) == 0:
            return None
        low, high = t_interval(self.correlations, self.level)
        return max(low, -1.0), min(high, 1.0)


class RademacherComplexity(Result):
    """How well learners fit random signs: 0 as well as chance, 1 all of them.

    With one estimator each number is a float, with several a dict by name.

    Notes
    -----
    The complexity of a class of functions is a supremum over its members. A learner that does not minimise the training
    error (because it is regularised, or searches greedily) does not reach it, and what is measured is a lower estimate.
    """

    title = "Rademacher complexity"

    def __init__(self, found: dict[str, Measured], *, rows: int, level: float, single: bool) -> None:
        self.names = list(found)
        self.rows = rows
        self.level = level
        self.rounds = len(next(iter(found.values())).correlations)
        self._found = found
        self._single = single

    def _one_or_all(self, name: str) -> Any:
        by_name = {each: getattr(self._found[each], name) for each in self.names}
        return by_name[self.names[0]] if self._single else by_name

    @property
    def value(self) -> Any:
        """Mean over the rounds of 2·accuracy − 1 on the signs."""
        return self._one_or_all("value")

    @property
    def interval(self) -> Any:
        """Interval of the mean over the rounds, or None where all came out alike."""
        return self._one_or_all("interval")

    @property
    def correlations(self) -> Any:
        """2·accuracy − 1 of each round."""
        return self._one_or_all("correlations")

    @property
    def training_error(self) -> Any:
        """Error on the true labels of the learner fitted to them; None where none were given."""
        return self._one_or_all("training_error")

    def __float__(self) -> float:
        if not self._single:
            raise TypeError("Of several estimators there is not one number. Use .value[name].")
        return float(self.value)

    @property
    def reading(self) -> str:
        """What the number says, in words."""
        return " ".join(self._reading(name) for name in self.names)

    def _reading(self, name: str) -> str:
        value = self._found[name].value
        return (
            f"Fitted to random signs {name} repeats {(1 + value) / 2:.0%} of them, where chance would give 50%: its "
            f"empirical Rademacher complexity is {value:.3g}, of at most 1."
        )

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per estimator."""
        import pandas as pd

        lines = []
        for name in self.names:
            each = self._found[name]
            low, high = each.interval or (float("nan"), float("nan"))
            error = float("nan") if each.training_error is None else each.training_error
            lines.append({"estimator": name, "estimate": each.value, "low": low, "high": high, "training_error": error})
        return pd.DataFrame(lines).set_index("estimator")

    def summary(self) -> str:
        """Return the complexities, and what to know about them."""
        lines = [f"Empirical Rademacher complexity on {self.rows:,} rows, {self.rounds} rounds of random signs"]
        for name in self.names:
            interval = self._found[name].interval
            text = "the same in all rounds" if interval is None else "{:.3g} to {:.3g}".format(*interval)
            about = text if interval is None else f"{self.level:.0%} interval over the rounds {text}"
            lines.append(f"  {self._reading(name)} ({about})")
        lines.append("Note: a learner that does not minimise its training error shows less than its class could fit.")
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rounds of one estimator, or the complexities of several with their intervals."""
        label = "correlation with random signs"
        if self._single:
            return fold_scores(self.names, [self.correlations], xlabel=label, ax=ax)
        ends = [self._found[name].interval or (np.nan, np.nan) for name in self.names]
        lows, highs = zip(*ends, strict=True)
        return forest(self.names, [self._found[name].value for name in self.names], lows, highs, xlabel=label, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "rademacher complexity",
            "version": 1,
            "rows": self.rows,
            "rounds": self.rounds,
            "level": self.level,
            "estimators": [
                {
                    "name": name,
                    "estimate": each.value,
                    "interval": None if each.interval is None else list(each.interval),
                    "training_error": each.training_error,
                    "correlations": each.correlations.tolist(),
                }
                for name, each in self._found.items()
            ],
        }


def check_rounds(rounds: Any) -> int:
    """Return the number of rounds, or say what is wrong with it."""
    if not is_whole(rounds) or rounds < 1:
        raise InvalidInput(f"The 'rounds' parameter must be a whole number of at least 1. Got {rounds!r} instead.")
    return int(rounds)
