"""The report of a study as plain types, for the page, the store and the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from truefit._cli.messages import echo, print_table, results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from truefit._study.result import Study

#: More classes than this make a table of mistakes that nobody reads.
MOST_CLASSES = 32


class _Picture(NamedTuple):
    """A picture to be drawn: where it belongs, its caption, how it is drawn, and what is to be seen, in words."""

    section: str
    caption: str
    draw: Callable[..., Axes]
    described: str
    #: Whether it has a shape of its own, also on a phone.
    fixed: bool = False


def study_report(study: Any, *, title: str | None = None) -> dict[str, Any]:
    """Return all that a page is made of, as plain JSON types: the result, and its pictures by section."""
    pictures: dict[str, list[list[str | None]]] = {}
    for picture in _pictures(study):
        pictures.setdefault(picture.section, []).append([picture.caption, *_draw(picture)])
    return {
        "kind": "study",
        "version": 1,
        "title": title or "Study",
        "headline": " ".join(answer["headline"] for answer in study.to_dict()["answers"][:2]),
        "summary": study.summary(),
        "result": study.to_dict(),
        "pictures": pictures,
    }


def render_study(report: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    """Render what ``study_report`` returned, now or long ago."""
    from truefit._report.page import render_page
    from truefit._report.study_page import study_page_content

    return render_page(
        study_page_content(report["result"], title=report["title"], pictures=report["pictures"], made=made)
    )


def _draw(picture: _Picture) -> tuple[str, str | None]:
    """Return a picture twice: as wide as a column of text, and for a phone."""
    from truefit._plots.canvas import NARROW, canvas
    from truefit._plots.svg import to_svg

    wide = picture.draw()
    svg = to_svg(wide, title=picture.caption, description=picture.described)
    if picture.fixed:
        return svg, None
    figure: Any = wide.get_figure()
    narrow = picture.draw(ax=canvas(NARROW, float(figure.get_size_inches()[1])))
    return svg, to_svg(narrow, title=picture.caption, description=picture.described)


def _pictures(study: Any) -> Iterator[_Picture]:
    """All pictures that there is something for, in the order of the page."""
    assessment, best = study.assessment, study.best
    if assessment is not None:
        metric = assessment.metric
        caption = f"The {metric} of every candidate, with its interval. Where intervals overlap, it may be chance."
        yield _Picture("which", caption, assessment.plot, assessment.summary())
    if study.comparison is not None:
        caption = (
            f"How much each candidate differs from {best} in {study.comparison.metric}, on the same folds. A diamond: "
            "told apart from it, the number of comparisons allowed for."
        )
        yield _Picture("which", caption, study.comparison.plot, study.comparison.summary())
    if study.honest is not None:
        caption = f"The {study.honest.metric} of what was chosen without a fold, on that fold."
        yield _Picture("how_good", caption, study.honest.plot, study.honest.summary())
    if assessment is not None:
        yield from _mistakes(assessment, best)
    if study.perturbation is not None:
        targets = "labels" if study.perturbation.task == "classification" else "targets"
        caption = f"What becomes of each model as more and more {targets} are disturbed: it should fall with the noise."
        yield _Picture("fit", caption, study.perturbation.plot, study.perturbation.summary())
    if study.bias_variance is not None:
        caption = "What the expected loss is made of."
        yield _Picture("fit", caption, study.bias_variance.plot, study.bias_variance.summary())
    if study.curves is not None:
        caption = "The error on rows left out as the model is fitted on more rows; bands are two standard errors."
        yield _Picture("more_data", caption, study.curves.plot, study.curves.summary())


def _mistakes(assessment: Any, best: str) -> Iterator[_Picture]:
    """Draw where the winner errs: classes that it confuses, or its predictions over the true values."""
    unseen = "each row predicted by a model that had not seen it"
    if assessment.task == "classification":
        from truefit._plots.confusion import confusion

        counts = _of(assessment.confusion(), best)
        if len(counts) <= MOST_CLASSES:
            labels = [str(label) for label in counts.index]
            caption = f"Where {best} errs: true classes down, predicted ones across, {unseen}."
            draw = partial(confusion, counts.to_numpy(), labels)
            yield _Picture("how_good", caption, draw, counts.to_string(), fixed=True)
        return
    from truefit._plots.regression import predicted_vs_true

    found = _of(assessment.predictions, best)
    caption = f"Predictions of {best} over the true values, {unseen}."
    draw = partial(predicted_vs_true, found["y"].to_numpy(), found["prediction"].to_numpy())
    yield _Picture("how_good", caption, draw, caption, fixed=True)


def _of(found: Any, name: str) -> Any:
    return found[name] if isinstance(found, dict) else found


def study_text(result: Study) -> dict[str, Any]:
    """Return the answers, what else there is to say, and the candidates, as plain JSON types."""
    columns, rows = _lines(result)
    return {
        "summary": result.summary(),
        "answers": [[each.question, each.headline, list(each.sentences)] for each in result.answers],
        "notes": [[title, texts] for title, texts in result.notes.items() if texts],
        "heading": result.assessment.heading,
        "columns": columns,
        "rows": rows,
        "best": result.best,
    }


def _lines(result: Study) -> tuple[list[str], list[list[str]]]:
    """Return the table of the candidates as text, the chosen one first."""
    columns = [
        "model",
        result.metric_text.name,
        f"{result.level:.0%} interval",
        "training rows",
        "seconds a fit",
        "verdict",
    ]
    rows, spoken = [], result.metric_text
    for name, line in result.table.iterrows():
        ends = "none" if math.isnan(line["low"]) else spoken.between((line["low"], line["high"]))
        own = "" if math.isnan(line["training"]) else spoken.value(line["training"])
        value = spoken.value(line["estimate"])
        rows.append([str(name), value, ends, own, f"{line['fit_seconds']:.2g}", line["verdict"]])
    return columns, rows


def print_study(text: Mapping[str, Any]) -> None:
    """Print what ``study_text`` returned, now or long ago: with rich on a terminal, plainly elsewhere."""
    if not results().isatty():
        echo(text["summary"] + "\n")
        echo(_plain_table(text["heading"], [text["columns"], *text["rows"]]) + "\n")
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(file=results())
    answers = [(question, headline, sentences) for question, headline, sentences in text["answers"]]
    answers += [(title, "", [f"• {note}" for note in notes]) for title, notes in text["notes"]]
    for title, headline, lines in answers:
        console.print(Text(title, style="dim"))
        if headline:
            console.print(Text(headline, style="bold"))
        for line in lines:
            console.print(Padding(Text(line), (0, 0, 0, 2)))
        console.print()
    columns, rows = text["columns"], text["rows"]
    chosen = [place for place, row in enumerate(rows) if row[0] == text["best"]]
    print_table(columns, rows, right=range(1, len(columns) - 1), bold=chosen, title=text["heading"])


def _plain_table(heading: str, lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    return "\n".join([heading, *(f"  {text.rstrip()}" for text in texts)])
