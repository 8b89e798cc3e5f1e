"""Model files: what skops wrote, read without running anything that the file's author chose.

``archive`` bounds what is read, ``types`` compares it with the list of what may be in it before anything is made,
``build`` makes the objects, and ``compiled`` checks what they hold.
"""

from __future__ import annotations

from truefit._models.load import NOTES_VERSION, LoadedModel, load_model, not_allowed_in

__all__ = ["NOTES_VERSION", "LoadedModel", "load_model", "not_allowed_in"]
