"""Tables of a study's page, from its plain data: numbers in the unit of the metric, as in the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from truefit._methods.diagnostic_tables import Table
from truefit._methods.text import MetricText, counted, interval_name, number, percent, searched_text

Part = Mapping[str, Any]

#: Results of a paired test in words.
VERDICTS: Final = {
    "worse": "significantly worse",
    "better": "significantly better",
    "tie": "no significant difference",
    "equivalent": "equivalent",
}
#: Parts with notes, by section; those of learning curves are with each curve.
_NOTED: Final = {
    "which": ("assessment", "comparison"),
    "how_good": ("honest", "cross_test"),
    "fit": ("perturbation", "bias_variance"),
}


def tables_of(study: Part, section: str) -> list[Table]:
    """Return the tables of one section: ``which``, ``how_good``, ``fit``, ``more_data`` or ``columns``."""
    made = {
        "which": (_candidates, _settings, _dropped),
        "how_good": (_estimates, _outer_folds, intervals_table),
        "fit": (_noise, _bias_and_variance),
        "more_data": (_learning_curve,),
        "columns": (_columns,),
    }[section]
    tables = [make(study) for make in made]
    return [table for table in tables if table is not None and table["rows"]]


def notes_of(study: Part, section: str) -> list[str]:
    """Return the notes of the methods behind one section, once each: with a capital, except for a candidate's name."""
    if section == "columns":
        return []  # in the sentences
    if section == "more_data":
        curves = [(curve["name"], text) for curve in _curves(study) for text in (curve["refused"], *curve["warnings"])]
        notes = [f"{name}: {text}" for name, text in curves if text]
    else:
        parts = [study["parts"].get(part, {}) for part in _NOTED[section]]
        notes = [note for part in parts for note in part.get("notes") or ()]
    names = tuple(each["name"] for each in estimators_of(study))
    return [note if note.startswith(names) else note[:1].upper() + note[1:] for note in dict.fromkeys(notes)]


def metric_text(study: Part) -> MetricText:
    """Return how values of the study's metric are written."""
    return MetricText(study["metric_name"], study["percent"])


def new_rows_of(study: Part) -> str:
    """Return the rows that the estimates are for."""
    if is_in_time(study):
        return "the next period"
    return "new rows" if study.get("groups") is None else "rows of new groups"


def is_in_time(study: Part) -> bool:
    """Whether rows are in time order; reports of earlier versions do not say."""
    return "time" in study.get("roles", ())


def fold_of(study: Part) -> str:
    """Return what a test set is called."""
    return "period" if is_in_time(study) else "fold"


def targets_of(study: Part) -> str:
    """Return what the values of the target are called."""
    return "labels" if study["task"] == "classification" else "targets"


def baseline_text(study: Part) -> str:
    """Return what the baseline does."""
    return f"always predicts the {'majority class' if study['task'] == 'classification' else 'mean'}"


def estimators_of(study: Part) -> list[Part]:
    """Return the candidates that were assessed; none where the study came to none."""
    return list(study["parts"]["assessment"]["estimators"]) if "assessment" in study["parts"] else []


def _candidates(study: Part) -> Table | None:
    found = estimators_of(study)
    if not found:
        return None
    assessment, best = study["parts"]["assessment"], study["best"]
    fmt, interval = metric_text(study), interval_name(study["level"])
    pairs = _pairs(study)
    columns = ["candidate", fmt.name, interval]
    meanings = {
        fmt.name: f"Estimates the {assessment['estimand']}.",
        interval: "Of each candidate's own value, all drawn on one scale (▸: outside of it). Whether two candidates "
        "differ is decided by the paired test, not by whether their intervals overlap.",
    }
    rows = [[each["name"], each["estimate"], each["interval"]] for each in _best_first(found, study)]
    texts = _texts(fmt, columns, rows, fmt.name, interval)
    if pairs:
        difference, verdict = f"difference{' (points)' if fmt.percent else ''}", f"compared with {best}"
        columns += [difference, "p", verdict]
        adjustment = study["parts"]["comparison"].get("adjustment")
        adjusted = "" if adjustment is None else f", adjusted {adjustment}"
        meanings |= {
            difference: f"Its {fmt.name} minus that of {best}, on the same {fold_of(study)}s.",
            "p": f"p-value of the paired test of this difference{adjusted}.",
            verdict: f"Result of the paired test at the {1 - study['level']:.2g} significance level.",
        }
        for row in rows:
            pair = pairs.get(row[0])
            end = "selected" if row[0] == best else None
            row += [None, None, end] if pair is None else [
                pair["difference"], pair["p_adjusted"], VERDICTS.get(pair["verdict"], pair["verdict"])
            ]  # fmt: skip
        texts["p"] = ["" if row[4] is None else "< 0.001" if row[4] < 0.001 else f"{row[4]:.3f}" for row in rows]
        texts[difference] = ["" if row[3] is None else fmt.signed(row[3]) for row in rows]
    complete = "All candidates" if not study["dropped"] else f"Candidates that completed every {fold_of(study)}"
    return {
        "columns": columns,
        "rows": rows,
        "texts": texts,
        "caption": f"{complete}: {assessment['design']}",
        "highlight": [i for i, row in enumerate(rows) if row[0] == best],
        "drawn": {"value": fmt.name, "interval": interval},
        "meanings": meanings,
    }


def _kind(study: Part) -> str:
    """Return what is selected among."""
    return "settings" if study.get("settings") else "candidates"


def _pairs(study: Part) -> dict[str, Part]:
    """Return each other candidate's paired comparison with the selected one."""
    compared = study["parts"].get("comparison")
    if compared is None:
        return {}
    return {pair["candidate"]: pair for pair in compared["differences"] if pair["reference"] == study["best"]}


def _best_first(found: Sequence[Part], study: Part) -> list[Part]:
    """Order candidates: the selected one, then from the best on, those without a value last."""
    sign = -1 if study["greater_is_better"] else 1

    def rank(each: Part) -> tuple[bool, bool, float]:
        value = each["estimate"]
        return value is None, each["name"] != study["best"], 0.0 if value is None else sign * value

    return sorted(found, key=rank)


def _settings(study: Part) -> Table | None:
    """Every setting of a tuned study, by family and score; those that were stopped early last."""
    settings = study.get("settings") or ()
    if not settings:
        return None
    sign = -1 if study["greater_is_better"] else 1
    fmt, folds = metric_text(study), f"{fold_of(study)}s completed"
    families = list(dict.fromkeys(each["family"] for each in settings))

    def rank(each: Part) -> tuple[int, int, float]:
        value = each["estimate"]
        return families.index(each["family"]), -each["folds"], 0.0 if value is None else sign * value

    columns = ["family", "setting", fmt.name, folds]
    ordered = sorted(settings, key=rank)
    rows = [[each["family"], each["text"], each["estimate"], each["folds"]] for each in ordered]
    return {
        "columns": columns,
        "rows": rows,
        "texts": _texts(fmt, columns, rows, fmt.name),
        "caption": f"All {len(rows):,} settings of the {len(families)} families",
        "highlight": [place for place, each in enumerate(ordered) if each["selected"]],
        "meanings": {fmt.name: "By cross-validation; none for a setting that was stopped before the last fold."},
        "folded": True,
    }


def _dropped(study: Part) -> Table:
    return {
        "columns": ["candidate", f"{fold_of(study)}s completed", "reason"],
        "rows": [[each["name"], each["after"], each["reason"]] for each in study["dropped"]],
        "caption": f"Candidates stopped before the last {fold_of(study)}",
    }


def _estimates(study: Part) -> Table:
    parts, best = study["parts"], study["best"]
    fmt, interval = metric_text(study), interval_name(study["level"])
    own = {each["name"]: each for each in estimators_of(study)}
    count, searched = study["candidates"], study.get("searched", study["candidates"])
    rows: list[list[Any]] = []
    if "honest" in parts:
        nested = parts["honest"]
        what = (
            f"nested cross-validation over {searched_text(searched, count, _kind(study))}"
            if count > 1
            else "cross-validation"
        )
        rows.append([what, nested["estimate"], nested["interval"], "report this one"])
    else:
        what = "selection repeated on bootstrap samples" if count > 1 else "cross-validation"
        rows.append([what, study["estimate"], study["interval"], "report this one"])
    test = study.get("test")
    if test is not None and test["estimate"] is not None:
        agrees = {True: "agrees with the estimate", False: "differs from the estimate", None: "evaluated once"}
        what = f"{best} on the separate test set ({test['rows']:,} rows)"
        rows.append([what, test["estimate"], test["interval"], agrees[test["agrees"]]])
    if best in own and count > 1:
        biased = f"optimistically biased: the best of {searched}"
        rows.append([f"{best}: its own CV score", own[best]["estimate"], own[best]["interval"], biased])
    if study.get("shuffled") is not None:
        rows.append([f"{best}: shuffled cross-validation", study["shuffled"], None, "ignores time"])
    if "cross_test" in parts:
        cross = parts["cross_test"]
        rows.append(
            ["Agghoo (aggregated hold-out)", cross["estimate"], cross["interval"], "averages the models of all folds"]
        )
    if "averaged" in parts:
        averaged = parts["averaged"]
        use = "not better by more than one standard error"
        if averaged["recommended"] or averaged["difference"] is None:
            use = "recommended" if averaged["recommended"] else "not compared with the selected model"
        what = f"ensemble: weighted average of {len(averaged['members'])} settings"
        rows.append([what, averaged["estimate"], averaged["interval"], use])
    if study["baseline"] is not None:
        interval_of = {own[name]["estimate"]: own[name]["interval"] for name in study["baselines"] if name in own}
        rows.append(["baseline", study["baseline"], interval_of.get(study["baseline"]), baseline_text(study)])
    columns = ["estimate", fmt.name, interval, "use"]
    return {
        "columns": columns,
        "rows": rows,
        "texts": _texts(fmt, columns, rows, fmt.name, interval),
        "caption": f"Estimates of the {fmt.name} on {new_rows_of(study)}",
        "highlight": [0],
        "drawn": {"value": fmt.name, "interval": interval},
    }


def _outer_folds(study: Part) -> Table | None:
    nested = study["parts"].get("honest")
    if nested is None or study["candidates"] < 2:
        return None
    fmt, fold = metric_text(study), fold_of(study)
    columns = [f"outer {fold}", "selected model", fmt.name]
    spans = nested.get("periods") or []
    names = [f"{each['from']} to {each['to']}" for each in spans] or [
        f"fold {place}" for place in range(1, len(nested["chosen"]) + 1)
    ]
    rows = [list(each) for each in zip(names, nested["chosen"], nested["scores"], strict=True)]
    return {
        "columns": columns,
        "rows": rows,
        "texts": _texts(fmt, columns, rows, fmt.name),
        "caption": f"Nested cross-validation by outer {fold}",
        "meanings": {
            "selected model": f"Selected on the {'other folds' if not spans else 'periods before'}.",
            fmt.name: f"Of the selected model on the held-out rows of this {fold}.",
        },
    }


def _noise(study: Part) -> Table | None:
    found = study["parts"].get("perturbation")
    if found is None:
        return None
    targets, interval = targets_of(study), interval_name(found["level"])
    share = MetricText("memorised noise", percent=True)
    agreement = MetricText("accuracy" if study["task"] == "classification" else "correlation", targets == "labels")
    training = f"training {agreement.name}"
    # The same numbers as in the table of candidates, not those of the folds of the noise.
    scores, held_out = (
        {each["name"]: each["estimate"] for each in estimators_of(study)},
        metric_text(study),
    )
    columns = ["candidate", share.name, interval, "decrease rate", training, f"held-out {held_out.name}"]
    meanings = {
        share.name: f"Share of the injected noise in the {targets} that the model memorises: 0% none, 100% all of it.",
        "decrease rate": f"{training.capitalize()} lost per unit of injected noise: 1 is ideal, 0 memorises.",
        training: f"On the training rows, with the original {targets}.",
        columns[-1]: "By cross-validation, as in the table of all candidates.",
    }
    rows = []
    for each in found["estimators"]:
        own, *ends = (_as_share(each[key]) for key in ("memorisation", "memorisation_low", "memorisation_high"))
        interval_of = None if None in ends or ends[0] == ends[1] else ends
        rows.append([each["name"], own, interval_of, each["estimate"], each["training"], scores.get(each["name"])])
    texts = _texts(held_out, columns, rows, columns[-1])
    texts |= _texts(share, columns, rows, share.name, interval) | _texts(agreement, columns, rows, training)
    return {
        "columns": columns,
        "rows": rows,
        "texts": texts,
        "caption": f"Injected noise in the {targets}",
        "drawn": {"value": share.name, "interval": interval, "ends": [0, 1]},
        "highlight": [i for i, row in enumerate(rows) if row[0] == study["best"]],
        "meanings": meanings,
        "places": {"decrease rate": 2},
    }


def _as_share(value: float | None) -> float | None:
    """Clip an estimate of a share to 0 and 1."""
    return None if value is None else min(max(value, 0.0), 1.0)


def _bias_and_variance(study: Part) -> Table | None:
    found = study["parts"].get("bias_variance")
    if found is None:
        return None
    bias = "bias" if found["noise_known"] else "bias and noise"
    fmt = MetricText("expected loss", percent=found["loss"] == "0-1")
    columns = ["candidate", fmt.name, bias, "variance"]
    rows = [[each["name"], each["estimate"], each["bias"], each["variance"]] for each in found["estimators"]]
    return {
        "columns": columns,
        "rows": rows,
        "texts": _texts(fmt, columns, rows, *columns[1:]),
        "caption": f"Bias and variance of the {found['loss']} loss, from {found['rounds']:,} bootstrap samples",
        "meanings": {
            fmt.name: "Of a model fitted on a sample like this one, on new rows, on average over samples.",
            bias: "Loss of the average of many such models: high for a model that is too simple, or noise in the "
            "target.",
            "variance": "Loss from differences between the models: high for a model that is too flexible, or few rows."
            + " Below 0: some models are right where most are wrong." * any((row[3] or 0) < 0 for row in rows),
        },
    }


def _learning_curve(study: Part) -> Table | None:
    curves = _curves(study)
    if not curves:
        return None
    fmt, interval = MetricText.from_name(curves[0]["metric"]), interval_name(curves[0]["level"])
    if curves[0]["metric"] == study["metric"]:
        fmt = metric_text(study)
    rows = [[each[key] for key in ("name", "rows", "estimate", "interval", "source")] for each in study["forecasts"]]
    columns = ["candidate", "rows", fmt.name, interval, "source"]
    nested = any(each["name"].endswith(" (nested)") for each in study["forecasts"])
    return {
        "columns": columns,
        "rows": rows,
        "texts": _texts(fmt, columns, rows, fmt.name, interval),
        "caption": f"Learning curve: {fmt.name} by number of rows",
        "drawn": {"value": fmt.name, "interval": interval},
        "meanings": {
            **(
                {"candidate": "(nested): from nested cross-validation; the others from their own CV scores."}
                if nested
                else {}
            ),
            "rows": f"Rows that are split into folds; models are trained on {1 - 1 / study['folds']:.0%} of them.",
            "source": "Measured: by cross-validation. Extrapolated: by the relative change of the learning curve.",
        },
    }


def _columns(study: Part) -> Table | None:
    return columns_table(study, metric_text(study), interval_name(study["level"]))


def _curves(study: Part) -> list[Part]:
    found = study["parts"].get("curves")
    return [] if found is None else list(found["curves"].values())


def _texts(fmt: MetricText, columns: Sequence[str], rows: Sequence[Sequence[Any]], *names: str) -> dict[str, list[str]]:
    """Return the texts of columns of a metric's values or intervals."""
    return {name: [_text(fmt, row[columns.index(name)]) for row in rows] for name in names}


def _text(fmt: MetricText, value: Any) -> str:
    if value is None:
        return ""
    return fmt.between((value[0], value[1])) if isinstance(value, list | tuple) else fmt.value(value)


def columns_table(study: Part, fmt: MetricText, interval: str) -> Table | None:
    """Return the table of columns and of sets of correlated columns, from the plain data of a study."""
    found = study["parts"].get("importance")
    if found is None:
        return None
    columns = ["column", "importance", interval, "ranks"]
    rows: list[list[Any]] = []
    for each in found["columns"]:
        ranks = f"{each['rank_low']} to {each['rank_high']}" if each["rank_low"] != each["rank_high"] else each["rank"]
        rows.append([each["column"], each["importance"], _ends(each), str(ranks)])
    rows += [[f"together: {each['columns']}", each["importance"], _ends(each), ""] for each in found["sets"]]
    unit = " (points)" if fmt.percent else ""
    texts = [fmt.signed(row[1]) for row in rows]
    between = ["" if row[2] is None else f"{fmt.signed(row[2][0])} to {fmt.signed(row[2][1])}" for row in rows]
    change = "Decrease" if found["greater_is_better"] else "Increase"
    return {
        "columns": columns,
        "rows": rows,
        "texts": {"importance": texts, interval: between},
        "caption": f"Importance of each column of {found['name']}",
        "drawn": {"value": "importance", "interval": interval},
        "meanings": {
            "importance": f"{change} of the {fmt.name}{unit} on held-out rows when the values of the column are "
            f"permuted; on average over {found['folds']} folds and {counted(found['repeats'], 'permutation')}.",
            "ranks": "Ranks that are not significantly different.",
        },
    }


def _ends(each: Part) -> list[float] | None:
    return None if each["low"] is None else [each["low"], each["high"]]


def intervals_table(study: Part) -> Table | None:
    """Return the table of coverage by size of prediction, from the plain data of a study; None where it was not run."""
    found = study.get("intervals")
    if found is None:
        return None
    sets, level = found["size"] == "classes", f"{found['level']:.0%}"
    by = "predicted class" if sets else "prediction"
    size = "mean classes in a set" if sets else "mean width"
    return {
        "columns": [by, "rows", "covered", size],
        "rows": found["rows"],
        "texts": {
            "covered": [percent(row[2]) for row in found["rows"]],
            size: [number(row[3]) for row in found["rows"]],
        },
        "caption": f"{level} prediction {'sets' if sets else 'intervals'} on held-out rows",
        "meanings": {
            "covered": f"Share of rows whose {'set' if sets else 'interval'} holds the true value. The aim is "
            f"{level} of all new rows. Where it is less, do not trust the interval of such rows.",
        },
    }
