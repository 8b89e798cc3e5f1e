"""Answer: what a study says to one of its four questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Section = Literal["which", "how_good", "fit", "more_data"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, the answer in one short sentence, and the sentences behind it.

    ``section`` is the place in a report that shows the numbers.
    """

    question: str
    headline: str
    sentences: tuple[str, ...]
    section: Section

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "question": self.question,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "section": self.section,
        }
