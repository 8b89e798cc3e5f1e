"""The positive class of two: said, not guessed."""

from __future__ import annotations

from typing import Any

from truefit.core.data import Data
from truefit.core.errors import InvalidInput


def positive_label(data: Data, pos_label: Any = None) -> Any:
    """Return the class that counts as positive: the one named, or 1 where that is a class.

    Raises
    ------
    InvalidInput
        Where no class is named and none is 1, the one named is no class, or there are more than two.

    Examples
    --------
    >>> positive_label(Data([[0], [1]], [0, 1], task="classification"))
    1
    >>> positive_label(Data([[0], [1]], ["no", "yes"], task="classification"), "yes")
    'yes'
    >>> positive_label(Data([[0], [1]], ["no", "yes"], task="classification"))
    Traceback (most recent call last):
    ...
    truefit.core.errors.InvalidInput: The positive class must be said. The classes are 'no', 'yes'; pass one of them ...
    """
    classes = [] if data.classes is None else data.classes.tolist()
    if len(classes) > 2:
        raise InvalidInput(
            f"A metric of a positive class is for 2 classes. The target has {len(classes)}. Use an average over the "
            "classes, such as 'f1_macro' or 'balanced_accuracy'."
        )
    listed = ", ".join(map(repr, classes))
    if pos_label is None and 1 not in classes:
        raise InvalidInput(f"The positive class must be said. The classes are {listed}; pass one of them as pos_label.")
    wanted = 1 if pos_label is None else pos_label
    if wanted not in classes:
        raise InvalidInput(f"The 'pos_label' parameter must be a class of y. Got {wanted!r}; the classes are {listed}.")
    return classes[classes.index(wanted)]
