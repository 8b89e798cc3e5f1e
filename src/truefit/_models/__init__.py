"""Model files: what skops wrote, read without running anything that the file's author chose.

``archive`` bounds what is read, ``types`` lists what may be in it, ``names`` compares the two before anything is made,
``build`` makes the objects, ``settings`` and ``compiled`` check what they hold.
"""

from __future__ import annotations

from truefit._models.load import LoadedModel, load_model, not_allowed_in

__all__ = ["LoadedModel", "load_model", "not_allowed_in"]
