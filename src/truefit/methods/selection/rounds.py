"""Rounds: in which order a race goes through its splits, so that races that run together share their fits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from truefit.methods.splitting.splits import Split, Splits
from truefit.methods.splitting.triangle import has_triangle

#: The places of the splits that are fitted together, round by round.
Rounds = list[list[int]]

#: With more splits than this several make up a round, so that each round is work enough for all workers.
MOST_ROUNDS = 10


def one_round(splits: Sequence[Split]) -> Rounds:
    """Return all splits at once: nobody is dropped."""
    return [list(range(len(splits)))]


def rounds_of(splits: Sequence[Split]) -> Rounds:
    """Return one split after the other."""
    return _in_blocks([[place] for place in range(len(splits))])


def inner_rounds(splits: Splits, inner: Sequence[Sequence[Split]]) -> list[Rounds]:
    """Return the rounds of the races without each of the outer splits.

    With the folds of one partition, the fit without the folds a and b serves the race without a, where b validates, and
    the other way round. So folds meet as players of a tournament do: in each round everybody has one partner, or rests.
    """
    if not has_triangle(splits):
        return [rounds_of(group) for group in inner]
    k = len(splits) // splits.repeats
    found = []
    for fold in range(len(splits)):
        own = fold % k
        # The splits of a fold's race are the other folds in ascending order.
        met = [partners[own] for partners in tournament(k)]
        found.append(_in_blocks([[] if other is None else [other - (other > own)] for other in met]))
    return found


def tournament(players: int) -> list[list[int | None]]:
    """For each round the partner of each player, each pair once; None for one who rests.

    Examples
    --------
    >>> tournament(4)
    [[3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1]]
    >>> tournament(3)[0]
    [None, 2, 1]
    """
    circle = players - 1 + players % 2  # all sit in a circle but the last of an even number, in its middle
    rounds: list[list[int | None]] = []
    for turn in range(circle):
        partners: list[int | None] = [(turn - player) % circle for player in range(circle)]
        alone = next(player for player, partner in enumerate(partners) if player == partner)
        if players > circle:
            partners[alone] = circle
            partners.append(alone)
        else:
            partners[alone] = None
        rounds.append(partners)
    return rounds


def _in_blocks(rounds: Rounds) -> Rounds:
    count = min(len(rounds), MOST_ROUNDS)
    ends = [len(rounds) * block // count for block in range(count + 1)]
    return [[place for places in rounds[start:end] for place in places] for start, end in pairwise(ends)]
