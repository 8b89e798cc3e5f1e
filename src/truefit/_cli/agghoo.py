"""truefit agghoo."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from truefit._cli.app import command
from truefit._cli.inputs import check_choice, label_of
from truefit._cli.messages import echo
from truefit._cli.options import CommandConfig, FoldsOption, MetricOption, PlotOption, PositiveOption
from truefit._cli.outputs import check_distinct, check_picture, write_picture
from truefit._cli.saved_model import check_model_file, write_model
from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    from truefit._core.validation import Task
    from truefit._methods.agghoo.cross_test import Correction
    from truefit._study.result import Study
    from truefit.sources.table import Table


@command
def agghoo(
    config: CommandConfig,
    cv: FoldsOption = 5,
    aggregate: Annotated[
        str | None,
        typer.Option(help="For classes: soft (default, if every model has probabilities) or vote. For numbers: mean."),
    ] = None,
    path: Annotated[
        str, typer.Option(help="Stages of one training run as candidates: auto, none, or a number of stages.")
    ] = "auto",
    metric: MetricOption = None,
    correction: Annotated[
        str | None, typer.Option(help="learning_curve: correct the estimate for the smaller training sets.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help=r"Save the fitted model to this .skops file. Needs truefit\[skops].")
    ] = None,
    plot: PlotOption = None,
    kind: Annotated[
        str | None, typer.Option(help="Plot: validation, members or estimates. Default: one point per test set.")
    ] = None,
    pos_label: PositiveOption = None,
) -> None:
    """Aggregated hold-out: average the best model of each split, and estimate its error. Default: several models.

    Example: truefit agghoo breast_cancer --model linear --model tree --model knn --save model.skops
    """
    from truefit._api.cross_test import cross_test
    from truefit._methods.agghoo.cross_test import check_correction

    check_picture(plot, config.files)
    check_distinct(plot, save)
    check_choice("--kind", kind, ("validation", "members", "estimates"))
    if save is not None:
        check_model_file(save, config.files)
    check_correction(correction, True)
    config.refuse_time("Agghoo would average models trained on the first periods only.")
    stages = stages_of(path)
    table, task, models = config.load(config.model)
    with config.engine(on_error="record") as engine:
        fitted = make_agghoo(
            task, models, cv=cv, path=stages, aggregate=aggregate, scoring=metric, random_state=config.seed,
            engine=engine,
        )  # fmt: skip
        fitted.fit(table.X, table.y, **table.roles)
        result = cross_test(
            fitted, table.X, table.y, cv=cv, metric=metric, correction=cast("Correction | None", correction),
            level=config.level, pos_label=label_of(pos_label, table), random_state=config.seed,
            **table.roles,
        )  # fmt: skip
        config.store_result(engine, result, table)
        found = described(fitted, result) | {"fits": engine.stats.to_dict()}
        config.show(engine, found, lambda: echo(f"{selection_text(fitted)}\n\n{result.summary()}"))
        if save is not None:
            write_model(fitted, save, table=table, promise=result.promise)
        if plot is not None:
            title = "Agghoo" if kind == "validation" else result.title
            draw = fitted.plot if kind == "validation" else partial(result.plot, kind=kind)  # type: ignore[arg-type]
            write_picture(plot, draw, title=title)


def make_agghoo(task: Task, models: dict[str, Any], *, aggregate: str | None, **options: Any) -> Any:
    """Return the estimator for the task."""
    from truefit.estimators.agghoo import AgghooClassifier, AgghooRegressor

    kind = AgghooClassifier if task == "classification" else AgghooRegressor
    if aggregate is None and task == "classification" and not all(hasattr(m, "predict_proba") for m in models.values()):
        aggregate = "vote"
    if aggregate is not None:
        options["aggregate"] = aggregate
    return kind(list(models.items()), **options)


def aggregate_of(
    study: Study, models: dict[str, Any], table: Table, pos_label: Any, *, intervals: bool = False, **options: Any
) -> Any:
    """Fit Agghoo over the candidates of a study, as it was cross-tested there; the fits are those of the study.

    With ``intervals`` it is fitted without each fold too.
    """
    from truefit._metrics.metric import get_metric

    tested = study.cross_test
    members = {name: models[name] for name in (study.assessment.names if tested is None else tested.candidates)}
    aggregate = None if tested is None else tested.aggregate
    scoring = get_metric(study.metric, study.task, pos_label=pos_label)
    model = make_agghoo(study.task, members, aggregate=aggregate, path=None, scoring=scoring, **options)
    if intervals:
        fitted = study.interval_model(model, name="Agghoo")
        parts = [fitted.estimator, fitted.estimator_, *fitted.members_]
    else:
        fitted = model.fit(table.X, table.y, **table.roles)
        parts = [fitted]
    for each in parts:  # a saved model cannot contain the scoring function: the name replaces it
        each.set_params(scoring=study.metric)
    return fitted


def stages_of(text: str) -> str | int | None:
    """Parse the value of ``--path``.

    Examples
    --------
    >>> stages_of("auto"), stages_of("none"), stages_of("30")
    ('auto', None, 30)
    """
    if text in ("auto", "none"):
        return None if text == "none" else text
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise InvalidInput(f"--path must be auto, none or a positive number of stages. Got {text!r} instead.")


def selection_text(fitted: Any) -> str:
    """Return what was selected on each split, as lines of text."""
    selected = fitted.selection_
    table = selected.assign(candidate=[fitted.candidates_[place] for place in selected["candidate"]])
    shown = table[["candidate", "validation_score"]].to_string(float_format="{:.4g}".format, justify="left")
    return f"Selected on each split, by {fitted.score_name_}:\n{shown}"


def described(fitted: Any, result: Any) -> dict[str, Any]:
    """Return the selection and the cross-test as plain JSON types."""
    rows = fitted.selection_.astype(object).where(fitted.selection_.notna(), None).iterrows()
    return {
        "kind": "agghoo",
        "version": 1,
        "selection": [
            {
                "split": int(split),
                "candidate": fitted.candidates_[row["candidate"]],
                "stage": None if row["stage"] is None else int(row["stage"]),
                "validation_score": float(row["validation_score"]),
            }
            for split, row in rows
        ],
        "mean_validation_score": fitted.mean_validation_score_,
        "cross_test": result.to_dict(),
    }
