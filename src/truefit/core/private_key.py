"""Private keys: those of fits that cannot be known by content."""

from __future__ import annotations

import itertools

_PRIVATE = "private-"
_numbers = itertools.count()


def private_key() -> str:
    """Return a key that no other fit of this process has."""
    return f"{_PRIVATE}{next(_numbers)}"


def is_private(key: str) -> bool:
    """Whether the fit cannot be known by content: never shared, never stored."""
    return key.startswith(_PRIVATE)
