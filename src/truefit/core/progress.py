"""Progress: how far a run is, as its listeners are told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of fits at one moment of a run.

    Attributes
    ----------
    done, total : int
        Fits that are answered, and fits asked for so far; adaptive methods ask for more as they go.
    run, shared, stored, failed : int
        How the fits that are done were answered: fitted now, asked for by somebody else as well, found in the
        store, or not at all.
    elapsed : float
        Seconds since the run began.
    left : float or None
        Seconds that it may still take; None while there is nothing to tell it from.
    description : str
        What is being done, in a few words.

    Examples
    --------
    >>> Progress(done=3, total=10, run=2, shared=1, stored=0, failed=0, elapsed=1.5, left=3.5).description
    ''
    """

    done: int
    total: int
    run: int
    shared: int
    stored: int
    failed: int
    elapsed: float
    left: float | None
    description: str = ""
