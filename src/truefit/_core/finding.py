"""A finding: something about a table or a result that a person should know before using the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

Severity = Literal["info", "warning", "error"]

#: From the least to the most severe.
SEVERITIES: Final[tuple[Severity, ...]] = ("info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check. The terminal, the page, JSON and ``study.findings`` all render this object.

    Attributes
    ----------
    code : str
        Stable identifier such as ``"TF101"``: cite a finding by it, or mute it.
    title : str
        What was found, in a few words.
    severity : "info", "warning" or "error"
        "error": the numbers of the study are probably wrong. "warning": they may mislead. "info": good to know.
    text : str
        What was measured, in one or two sentences with the numbers.
    evidence : mapping
        The numbers behind the text, as plain JSON types.
    advice : str
        What to do about it.
    docs : str
        Where the documentation explains this finding.

    Examples
    --------
    >>> text = "Column 'site' has the same value in every row."
    >>> found = Finding("TF104", "Constant columns", "info", text, {"columns": ["site"]}, "Drop it.")
    >>> found.docs
    'docs/findings.md#tf104'
    """

    code: str
    title: str
    severity: Severity
    text: str
    evidence: Mapping[str, Any]
    advice: str

    @property
    def docs(self) -> str:
        """Where the documentation explains this finding."""
        return f"docs/findings.md#{self.code.lower()}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self) | {"evidence": dict(self.evidence), "docs": self.docs}


def at_least(severity: str, threshold: str) -> bool:
    """Whether a severity reaches a threshold."""
    order: tuple[str, ...] = SEVERITIES
    return order.index(severity) >= order.index(threshold)
