"""Next steps: what to try, each with the number that speaks for it."""

from __future__ import annotations

from truefit.methods.study.does_it_fit import Fit, fit_of, memorised, variance_share
from truefit.methods.study.findings import Findings
from truefit.methods.study.more_data import more_of, spoken_curve
from truefit.methods.words import listed, seconds, whole_percent

#: A model that takes so many times as long is worth a thought where another does as well.
_SLOWER = 5.0
#: Fewer rows than this for each column invite a model to follow chance.
_ROWS_PER_COLUMN = 20


def next_steps_of(found: Findings) -> list[str]:
    """Return what to try next."""
    fit = fit_of(found)
    return [
        *_after_guessing(found, fit),
        *_suspects(found),
        *_simpler(found, fit),
        *_steadier(found, fit),
        *_fewer_columns(found, fit),
        *_richer(found, fit),
        *_together(found),
        *_more_rows(found),
        *_quicker(found, fit),
    ]


def _after_guessing(found: Findings, fit: Fit) -> list[str]:
    if fit.kind != "guessing":
        return []
    best, guess = found.spoken.value(found.value(found.best)), found.guess
    against = "" if guess is None else f" against {found.spoken.value(guess)} for guessing"
    return [
        f"Look for other features first: the best of {len(found.names)} candidates has {found.spoken.name} {best}"
        f"{against}, so these columns hold little about the target."
    ]


def _suspects(found: Findings) -> list[str]:
    # Those that say nothing take nothing away either.
    told = (each.column for each in found.suspects if each.kind != "constant")
    columns = list(dict.fromkeys(column for column in told if column is not None))
    if not columns:
        return []
    return [
        f"Check {listed(columns)} first, and study the table again without {'it' if len(columns) == 1 else 'them'} if "
        f"{'it is' if len(columns) == 1 else 'they are'} not known when a prediction is needed: the "
        f"{found.spoken.value(found.estimate)} above would not hold."
    ]


def _not_worse(found: Findings, name: str) -> str:
    pair = found.pairs.get(name)
    if pair is None or pair.found is None:
        return found.spoken.signed(found.value(name) - found.value(found.best))
    return found.spoken.difference(pair.found.mean, pair.interval(found.level))


def _simpler(found: Findings, fit: Fit) -> list[str]:
    if fit.kind not in ("overfits", "memorises") or fit.instead is None:
        return []
    mine, its = memorised(found, found.best), memorised(found, fit.instead)
    if mine is None or its is None:
        return []
    return [
        f"Consider {fit.instead}, the simpler model, or {found.best} with more regularisation: {fit.instead} cannot be "
        f"told apart from it (difference {_not_worse(found, fit.instead)}) and memorises less ({whole_percent(its)} of "
        f"the noise against {whole_percent(mine)})."
    ]


def _steadier(found: Findings, fit: Fit) -> list[str]:
    share = variance_share(found)
    if fit.kind not in ("unsteady", "overfits") or share is None or share < _ROWS_PER_COLUMN / 100:
        return []
    return [
        f"Make {found.best} steadier, by stronger regularisation or by averaging several of it: {share:.0%} of its "
        "error is variance, which averaging can lower."
    ]


def _fewer_columns(found: Findings, fit: Fit) -> list[str]:
    per_column = found.data.n / max(found.columns, 1)
    if fit.kind not in ("unsteady", "overfits") or per_column >= _ROWS_PER_COLUMN:
        return []
    return [
        f"Try fewer features: there are only {per_column:.0f} rows for each of the {found.columns:,} columns, and the "
        "model follows chance in them."
    ]


def _richer(found: Findings, fit: Fit) -> list[str]:
    if fit.kind != "underfits" or found.best not in found.training:
        return []
    own = found.spoken.of_value(found.training[found.best])
    return [f"Try a richer model, less regularisation or further features: even on its training rows it has {own}."]


def _together(found: Findings) -> list[str]:
    result, interval = found.cross_test, found.interval
    if result is None or found.honest is None or interval is None:
        return []
    gain = found.sign * (found.estimate - result.estimate)
    if gain <= 0.25 * abs(interval[1] - interval[0]):
        return []
    return [
        f"Consider Agghoo ({'AgghooClassifier' if found.task == 'classification' else 'AgghooRegressor'}, or --agghoo "
        f"beside --save) over these candidates: {found.spoken.name} {found.spoken.value(result.estimate)} against "
        f"{found.spoken.value(found.estimate)} for choosing a single model."
    ]


def _more_rows(found: Findings) -> list[str]:
    more, spoken = more_of(found), spoken_curve(found)
    if more.outlook not in ("yes", "perhaps"):
        return []
    sure = "would" if more.outlook == "yes" else "may"
    return [
        f"Get more rows: {more.rows:,} more of the same kind {sure} lower the {spoken.name} from "
        f"{spoken.value(more.now)} to about {spoken.value(more.then)} ({spoken.between((more.low, more.high))})."
    ]


def _quicker(found: Findings, fit: Fit) -> list[str]:
    own = found.seconds[found.best]
    quick = [
        name for name in found.ties if name not in found.dummies and own > _SLOWER * max(found.seconds[name], 1e-4)
    ]
    if not quick or own < 0.1 or fit.kind == "guessing" or fit.instead is not None:
        return []
    name = quick[0]
    return [
        f"If training time matters, {name} takes {seconds(found.seconds[name])} a fit against {seconds(own)}, and "
        f"cannot be told apart from {found.best} (difference {_not_worse(found, name)})."
    ]
