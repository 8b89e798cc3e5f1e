"""Cost: what the study takes, told from the repetitions that are done."""

from __future__ import annotations

import numpy as np

REPETITIONS, OF_MANY_FITS = 500, 200


def core_seconds(settings, lines, methods):
    """Return seconds spent, seconds of the whole study, and how many methods of settings have not run yet."""
    spent = whole = 0.0
    unknown = 0
    for setting in settings:
        for method in methods:
            if method.kind != setting.kind:
                continue
            seconds = [line.seconds for line in lines.get((setting.name, method.name), ())]
            if not seconds:
                unknown += 1
                continue
            spent += sum(seconds)
            # The first repetition in a process pays for imports and caches; the median does not.
            whole += float(np.median(seconds)) * method.repetitions(setting.n, REPETITIONS, OF_MANY_FITS)
    return spent, whole, unknown
