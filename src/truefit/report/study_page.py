"""The study's page: a study's plain data, laid out as a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def study_content(
    study: Mapping[str, Any], *, title: str, figure_svg: str | None, made: Mapping[str, Any]
) -> dict[str, Any]:
    """Lay out what ``Study.to_dict`` gives for ``render_page``."""
    honest, candidates = study["honest"], study["candidates"]
    metric = candidates["metric"]
    names = [each["name"] for each in candidates["estimators"]]
    chosen = honest["chosen"]
    return {
        "version": 1,
        "title": title,
        "verdict": study["verdict"],
        "sections": [
            {
                "title": "Which model?",
                "lead": f"The {metric} of every candidate by {candidates['design']}, on the same folds.",
                "figure_svg": figure_svg,
                "table": {
                    "columns": ["candidate", metric, f"{candidates['level']:.0%} interval", "how"],
                    "rows": [
                        [each["name"], each["estimate"], each["interval"], each["method"] or each["reason"]]
                        for each in candidates["estimators"]
                    ],
                    "caption": f"Estimated: {candidates['estimand']}.",
                    "highlight": [names.index(study["best"])],
                },
                "notes": candidates["notes"],
            },
            {
                "title": "How good is it, really?",
                "lead": (
                    "The best of several estimates flatters its owner. So the choice is made anew without each fold, "
                    "and what was chosen is judged on that fold."
                ),
                "table": {
                    "columns": ["fold", "chosen without it", f"{metric} on it"],
                    "rows": [
                        [fold, name, score]
                        for fold, (name, score) in enumerate(zip(chosen, honest["scores"], strict=True), start=1)
                    ],
                    "caption": f"Estimated: {honest['estimand']}.",
                },
            },
        ],
        "made": made,
    }
