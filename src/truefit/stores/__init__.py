"""Where outcomes are kept between fits, and between runs."""

from truefit.stores.memory import MemoryStore
from truefit.stores.sqlite import SqliteStore

__all__ = ["MemoryStore", "SqliteStore"]
