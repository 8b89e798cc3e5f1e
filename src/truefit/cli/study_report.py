"""The report of a study: its data and pictures as plain types, which a store keeps and a page is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More classes than this make a table of mistakes that nobody reads.
MOST_CLASSES = 12


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
    pictures: dict[str, list[list[str]]] = {}
    for section, caption, draw, described in _pictures(study):
        from truefit.plots.svg import to_svg

        svg = to_svg(draw(), title=caption, description=described())
        pictures.setdefault(section, []).append([svg, caption])
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


def _pictures(study: Any) -> Iterator[tuple[str, str, Callable[[], Axes], Callable[[], str]]]:
    """Section, caption, how it is drawn, and what is to be seen in words, of each picture that there is."""
    metric = study.to_dict()["metric"]
    assessment = study.assessment
    if assessment is not None:
        caption = f"The {metric} of every candidate, with its interval. Where intervals overlap, it may be chance."
        yield "which", caption, assessment.plot, assessment.summary
    if study.comparison is not None:
        caption = f"How much each candidate's {metric} differs from that of {study.best}, on the same folds."
        yield "which", caption, study.comparison.plot, study.comparison.summary
    if study.honest is not None:
        caption = f"The {metric} of what was chosen without a fold, on that fold."
        yield "how_good", caption, study.honest.plot, study.honest.summary
    if study.perturbation is not None:
        caption = "Agreement with the labels as more and more of them are disturbed: it should fall with the noise."
        yield "fit", caption, study.perturbation.plot, study.perturbation.summary
    if study.bias_variance is not None:
        caption = "What the expected loss is made of."
        yield "fit", caption, study.bias_variance.plot, study.bias_variance.summary
    if study.curves is not None:
        caption = f"The {metric} on rows left out, as the model is fitted on more rows; bands are two standard errors."
        yield "more_data", caption, study.curves.plot, study.curves.summary
