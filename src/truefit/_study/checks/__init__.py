"""Checks of a study. To add one: write a class in a module of this package, describe it in docs/findings.md.

Table checks (TF1xx) run before any fit, result checks (TF2xx the results, TF3xx the run) at the end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from truefit._core.errors import InvalidInput
from truefit._core.finding import SEVERITIES, Finding
from truefit._study.checks import dependence, results, table
from truefit._study.checks.base import Check, CheckedTable, ResultCheck, TableCheck
from truefit._study.evidence import StudyEvidence

_MODULES: Final = (dependence, results, table)


def _checks() -> list[type[Check[Any]]]:
    defined = [each for module in _MODULES for each in vars(module).values()]
    return [each for each in defined if isinstance(each, type) and issubclass(each, Check) and each.code]


#: In the order of their codes.
CHECKS: Final = tuple(sorted(_checks(), key=lambda check: check.code))


def check_table(table: CheckedTable, ignore: Collection[str] = ()) -> list[Finding]:
    """Run all checks of the table, except those with a code to ignore."""
    return _findings(TableCheck, table, ignore)


def check_results(evidence: StudyEvidence, ignore: Collection[str] = ()) -> list[Finding]:
    """Run all checks of the results, except those with a code to ignore."""
    return _findings(ResultCheck, evidence, ignore)


def _findings(kind: type, subject: object, ignore: Collection[str]) -> list[Finding]:
    checks = [check() for check in CHECKS if issubclass(check, kind) and check.code not in ignore]
    return [finding for check in checks for finding in check.run(subject)]


def most_severe_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Order findings by severity, then by code."""
    return tuple(sorted(findings, key=lambda each: (-SEVERITIES.index(each.severity), each.code)))


def resolve_ignored(ignore: Any) -> frozenset[str]:
    """Return codes of checks to mute, given as one code or several.

    Examples
    --------
    >>> sorted(resolve_ignored(("TF104", "TF103"))), resolve_ignored("tf104")
    (['TF103', 'TF104'], frozenset({'TF104'}))
    """
    codes = [ignore] if isinstance(ignore, str) else list(ignore)
    known = [check.code for check in CHECKS]
    for code in codes:
        if not isinstance(code, str) or code.upper() not in known:
            raise InvalidInput(f"A finding to ignore must be one of {', '.join(known)}. Got {code!r} instead.")
    return frozenset(code.upper() for code in codes)
