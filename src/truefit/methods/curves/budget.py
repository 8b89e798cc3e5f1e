"""Budget: what a learning curve may cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from truefit.core.errors import InvalidInput
from truefit.methods.capacity.bound import number
from truefit.methods.splitting.splits import is_whole

_PARTS = ("rows", "seconds", "money", "price_per_row")


@dataclass(frozen=True)
class Budget:
    """Limits on rows, on the seconds spent in fits, and on money at a price per row.

    Examples
    --------
    >>> Budget.of({"money": 500, "price_per_row": 0.25}).most_rows
    2000
    >>> Budget.of(1000).words(1000)
    'The budget of 1,000 rows is spent.'
    """

    rows: int | None = None
    seconds: float | None = None
    money: float | None = None
    price_per_row: float | None = None

    @classmethod
    def of(cls, given: Any) -> Budget:
        """Read what was given: None, a number of rows, or a mapping."""
        if given is None:
            return cls()
        if is_whole(given):
            given = {"rows": given}
        if not isinstance(given, Mapping) or set(given) - set(_PARTS):
            raise InvalidInput(
                f"The 'budget' parameter must be a number of rows, or a dict with some of {', '.join(_PARTS)}. "
                f"Got {given!r} instead."
            )
        if ("money" in given) != ("price_per_row" in given):
            raise InvalidInput(f"A budget in money needs both 'money' and 'price_per_row'. Got {dict(given)!r}.")
        values = {name: number(f"budget[{name!r}]", value, above=0.0) for name, value in given.items()}
        rows = values.pop("rows", None)
        return cls(None if rows is None else int(rows), **values)

    @property
    def most_rows(self) -> float:
        """Rows that may be used; infinite where they are not limited."""
        most = np.inf if self.rows is None else float(self.rows)
        if self.money is not None and self.price_per_row is not None:
            # A price such as 0.1 is no exact number: 10 rows for 1 are 10.
            most = min(most, np.floor(self.money / self.price_per_row + 1e-9))
        return most if np.isinf(most) else int(most)

    def too_long(self, seconds: float) -> bool:
        """Whether fits of so many seconds are too many."""
        return self.seconds is not None and seconds > self.seconds

    def words(self, rows: int) -> str:
        """Say that so many rows are all that may be used."""
        if self.rows is not None and rows >= self.rows:
            return f"The budget of {self.rows:,} rows is spent."
        return f"The budget of {self.money:g} is spent: {rows:,} rows at {self.price_per_row:g} each."
