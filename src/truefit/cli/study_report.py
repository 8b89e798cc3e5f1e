"""The report of a study: its data and pictures as plain types, which a store keeps and a page is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def study_page(study: Any, made: Mapping[str, Any], *, title: str | None = None) -> str:
    """Draw and render a study as one self-contained HTML page.

    Parameters
    ----------
    study : Study
    made : mapping
        ``command``, ``data``, ``versions`` and what else it takes to make it again.
    title : str, optional
    """
    return page_of(study_report(study, title=title), made)


def study_report(study: Any, *, title: str | None = None) -> dict[str, Any]:
    """Return all that a page is made of, as plain JSON types: the result, and its pictures by section."""
    pictures: dict[str, list[list[str | None]]] = {}
    for picture in _pictures(study):
        pictures.setdefault(picture.section, []).append([picture.caption, *_drawn(picture)])
    return {
        "kind": "study",
        "version": 1,
        "title": title or "Study",
        "headline": " ".join(answer["headline"] for answer in study.to_dict()["answers"][:2]),
        "summary": study.summary(),
        "result": study.to_dict(),
        "pictures": pictures,
    }


def page_of(report: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    """Render what ``study_report`` returned, now or long ago."""
    from truefit.report.page import render_page
    from truefit.report.study_page import study_page_content

    return render_page(
        study_page_content(report["result"], title=report["title"], pictures=report["pictures"], made=made)
    )


def _drawn(picture: _Picture) -> tuple[str, str | None]:
    """Return a picture twice: as wide as a column of text, and for a phone."""
    from truefit.plots.canvas import NARROW, canvas
    from truefit.plots.svg import to_svg

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
        from truefit.plots.confusion import confusion

        counts = _of(assessment.confusion(), best)
        if len(counts) <= MOST_CLASSES:
            labels = [str(label) for label in counts.index]
            caption = f"Where {best} errs: true classes down, predicted ones across, {unseen}."
            draw = partial(confusion, counts.to_numpy(), labels)
            yield _Picture("how_good", caption, draw, counts.to_string(), fixed=True)
        return
    from truefit.plots.predicted import predicted_vs_true

    found = _of(assessment.predictions, best)
    caption = f"Predictions of {best} over the true values, {unseen}."
    draw = partial(predicted_vs_true, found["y"].to_numpy(), found["prediction"].to_numpy())
    yield _Picture("how_good", caption, draw, caption, fixed=True)


def _of(found: Any, name: str) -> Any:
    return found[name] if isinstance(found, dict) else found
