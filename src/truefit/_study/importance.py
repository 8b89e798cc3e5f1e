"""Which columns the selected model of a study needs: the measurement, and the answer in sentences."""

from __future__ import annotations

from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from truefit._core.data import Data
from truefit._methods.importance.plan import ImportanceConfig, importance_plan
from truefit._methods.importance.result import Importance
from truefit._methods.subplans import with_kept_models
from truefit._methods.text import MetricText, counted, listed
from truefit._study.answers import Answer
from truefit._study.config import StudyConfig
from truefit._study.evidence import StudyEvidence

if TYPE_CHECKING:
    from truefit._api.engine import Engine

QUESTION: Final = "Which columns matter?"
#: The answer names at most this many columns.
_NAMED: Final = 3
#: Share of a time budget that is left for the importances, where they are wanted.
SHARE: Final = 0.15


def measured_importance(
    engine: Engine,
    config: StudyConfig,
    best: str,
    kept: dict[bytes, Any],
    *,
    repeats: int = 5,
    correlated: float | None = 0.8,
    seconds: float | None = None,
) -> Importance:
    """Measure the importances for the selected model on the folds of the study: at most one refit per fold.

    See ``with_kept_models`` for ``kept``.
    """
    data: Data = config.data
    end = None if seconds is None else monotonic() + seconds
    plan = importance_plan(
        ImportanceConfig(
            best, config.candidates.estimators[best], config.splits, config.metric, repeats, correlated, config.level,
            config.random_state, stop=partial(_passed, end),
        ),
        data,
    )  # fmt: skip
    return engine.run(with_kept_models(plan, kept), data, seconds=seconds, description="importance")


def _passed(end: float | None) -> bool:
    return end is not None and monotonic() > end


def columns_answer(found: StudyEvidence) -> Answer:
    """Say which columns the selected model needs."""
    result = found.importance
    assert result is not None
    fmt, table = MetricText.of(found.metric), result.table
    needed = table[table["important"]]
    if not len(needed):
        headline = f"None alone: no column's importance is significantly above 0 for {found.best}."
    else:
        names = [str(name) for name in needed.index]
        shown = [*names[:_NAMED], f"{len(names) - _NAMED:,} more"] if len(names) > _NAMED else names
        headline = f"{listed(shown)}."
    first, line = str(table.index[0]), table.iloc[0]
    ends = f"{fmt.signed(line['low'])} to {fmt.signed(line['high'])}"
    verb = "lowers" if result.greater_is_better else "raises"
    sentences = [
        f"Permuting {first} on held-out rows {verb} the {fmt.name} of {found.best} from {fmt.value(result.estimate)} "
        f"by {fmt.change(line['importance'])} ({found.level:.0%} interval {ends}); permuting all columns together by "
        f"{fmt.change(result.everything)}."
    ]
    if len(needed):
        verb = "has" if len(needed) == 1 else "have"
        sentences.append(f"{len(needed):,} of {counted(len(table), 'column')} {verb} an interval above 0.")
    sentences += [note[:1].upper() + note[1:] for note in result.notes[1:]]
    return Answer(QUESTION, headline, tuple(sentences), "columns")
