"""Tables of a study's page on its columns and its prediction intervals, from plain data: nothing heavy is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truefit._methods.text import MetricText, counted, number, percent


def columns_table(study: Mapping[str, Any], fmt: MetricText, interval: str) -> dict[str, Any] | None:
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


def _ends(each: Mapping[str, Any]) -> list[float] | None:
    return None if each["low"] is None else [each["low"], each["high"]]


def intervals_table(study: Mapping[str, Any]) -> dict[str, Any] | None:
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
