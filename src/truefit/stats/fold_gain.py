"""What the models of folds lack of the model that is trained on all rows, told by the models of fewer rows still."""

from __future__ import annotations

import math

from truefit.core.errors import InvalidInput


def change_to_all_rows(without_one: float, without_two: float, folds: int) -> float:
    r"""Change of a score from models without one of K folds to the model of all rows.

    Scores go on with the number of rows :math:`m` as :math:`a + b\,m^{-1/2}`, of which the score of models without one
    fold and that of models without two give :math:`a` and :math:`b`.

    The power matters little over so short a way: with 5 folds the change is 0.68 of that from two folds left out to
    one, and 0.60 or 0.78 of it were the power 1 or next to 0.

    Parameters
    ----------
    without_one, without_two : float
        Mean score, on the same rows, of models that were trained without one fold and without two.
    folds : int
        How many folds there are, 3 or more.

    Examples
    --------
    >>> print(f"{change_to_all_rows(0.20, 0.24, 5):.4f}")
    -0.0273
    """
    if folds < 3:
        raise InvalidInput(
            f"The 'folds' parameter of change_to_all_rows must be 3 or more: two are left out. Got {folds} instead."
        )
    one, two = math.sqrt(folds / (folds - 1)), math.sqrt(folds / (folds - 2))
    return (one - 1) / (two - one) * (without_one - without_two)
