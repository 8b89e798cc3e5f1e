"""A seed, from whatever says one."""

from __future__ import annotations

from typing import Any

import numpy as np

from truefit._core.errors import InvalidInput


def seed_of(random_state: Any) -> int | None:
    """Return a seed as an int; a generator is drawn from once."""
    if random_state is None:
        return None
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    raise InvalidInput(
        f"The 'random_state' parameter must be None, an int or a RandomState. Got {random_state!r} instead."
    )
