"""The triangle: with the folds of one partition, every pair of folds left out is one fit that two folds share."""

from __future__ import annotations

import numpy as np

from truefit.core.rows import Rows
from truefit.methods.splitting.splits import Split, Splits


def has_triangle(splits: Splits) -> bool:
    """Whether leaving out a second fold leaves rows to train on, and the same ones from either side."""
    return splits.partition and len(splits) >= 3 * splits.repeats


def pair_splits(n: int, splits: Splits) -> list[list[Split]]:
    """For each fold, a split per other fold of its partition: trained without both, tested on the other.

    The training rows of a pair are one object, whichever of the two is tested on.
    """
    pairs: dict[tuple[int, int], Rows] = {}
    tests = [split.test for split in splits]
    per_repeat = len(splits) // splits.repeats
    found = []
    for a, left_out in enumerate(tests):
        start = a - a % per_repeat
        group = []
        for b in range(start, start + per_repeat):
            if b == a:
                continue
            pair = (min(a, b), max(a, b))
            if pair not in pairs:
                pairs[pair] = Rows.without(n, np.concatenate([left_out.listed, tests[b].listed]))
            group.append(Split(pairs[pair], tests[b], a // per_repeat))
        found.append(group)
    return found


def seen_from_the_other(splits: Splits) -> list[list[tuple[int, int]]]:
    """For each fold, where ``pair_splits`` has the pairs tested on it: the other fold, and the place among its own."""
    per_repeat = len(splits) // splits.repeats
    found = []
    for a in range(len(splits)):
        start = a - a % per_repeat
        others = (b for b in range(start, start + per_repeat) if b != a)
        found.append([(b, a - start - (a > b)) for b in others])
    return found
