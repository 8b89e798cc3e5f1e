"""Heat: candidates that run against each other on one list of splits, round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from truefit.core.outcome import Failure, Outcome
from truefit.methods.selection.behind import Yardstick
from truefit.methods.selection.race import Dropped, Race, chance
from truefit.methods.selection.rounds import Rounds
from truefit.methods.splitting.splits import Split, Splits

Floats = npt.NDArray[np.float64]

#: Stands for the fit of a candidate that was dropped before.
NOT_FITTED = Outcome("", error=Failure("not fitted", "The candidate was dropped before by the race."))


class Heat:
    """Candidates on one list of splits: who is still running, and what came of the fits so far.

    Attributes
    ----------
    running : list of int
        Candidates that have not been dropped.
    outcomes : list of lists of Outcome
        Of each candidate on each split; ``NOT_FITTED`` where there is none.
    scores : dict of (candidates, splits) arrays
        NaN where there is none, so that only who went through all splits has a mean.
    dropped : list of Dropped
    """

    def __init__(self, splits: Sequence[Split], rounds: Rounds, candidates: int) -> None:
        self.splits = splits
        self.rounds = rounds
        self.running = list(range(candidates))
        self.outcomes = [[NOT_FITTED] * len(splits) for _ in self.running]
        self.scores: dict[str, Floats] = {}
        self.dropped: list[Dropped] = []
        self._seen: list[int] = []

    def wanted(self, turn: int) -> list[tuple[int, int]]:
        """Candidates and places of splits that are to be fitted in a round."""
        places = self.rounds[turn] if turn < len(self.rounds) else []
        return [(candidate, place) for candidate in self.running for place in places]

    def take(self, turn: int, outcomes: Sequence[Outcome], scores: Sequence[Mapping[str, float] | None]) -> None:
        """Take what was wanted: the outcomes, and their scores by name; None for a fit that failed."""
        for (candidate, place), outcome, scored in zip(self.wanted(turn), outcomes, scores, strict=True):
            self.outcomes[candidate][place] = outcome
            for name, value in (scored or {}).items():
                self._table(name)[candidate, place] = value
        if turn < len(self.rounds):
            self._seen += self.rounds[turn]

    def _table(self, name: str) -> Floats:
        if name not in self.scores:
            self.scores[name] = np.full((len(self.outcomes), len(self.splits)), np.nan)
        return self.scores[name]

    def table(self, names: Sequence[str]) -> dict[str, Floats]:
        """Scores by name, all NaN for one that no fit has."""
        return {name: self._table(name) for name in names}

    def fit_seconds(self) -> Floats:
        """What each fit took, NaN where there is none."""
        return np.array(
            [[np.nan if outcome is NOT_FITTED else outcome.fit_seconds for outcome in line] for line in self.outcomes]
        )

    @cached_property
    def rows_once(self) -> bool:
        """Whether no row is tested twice but by another repeat of the whole partition."""
        if isinstance(self.splits, Splits) and self.splits.partition:
            return True
        tested = np.concatenate([split.test.index for split in self.splits])
        return len(np.unique(tested)) == len(tested)

    def drop(self, race: Race, yardstick: Yardstick) -> None:
        """Let go who is too far behind the leader on the splits seen so far."""
        seen = self._seen
        if len(seen) < race.first or len(seen) == len(self.splits) or len(self.running) < 2:
            return
        scores = self._table(yardstick.metric.name)[:, seen]
        means = scores.mean(axis=1) * (1 if yardstick.metric.greater_is_better else -1)
        if np.isnan(means[self.running]).all():
            return  # without a leader all go on, and the search says in the end what failed
        leader = max(self.running, key=lambda each: -np.inf if np.isnan(means[each]) else means[each])
        test = _Test(self, yardstick, leader, scores)
        for candidate in self.running:
            reason = "a fit failed, or has no score" if np.isnan(means[candidate]) else test.reason(race, candidate)
            if reason is not None:
                self.dropped.append(Dropped(candidate, len(seen), reason))
        gone = {each.candidate for each in self.dropped}
        self.running = [candidate for candidate in self.running if candidate not in gone]


class _Test:
    """Candidates of a heat against its leader."""

    def __init__(self, heat: Heat, yardstick: Yardstick, leader: int, scores: Floats) -> None:
        self._heat = heat
        self._yardstick = yardstick
        self._leader = leader
        self._scores = scores
        self._leaders_rows = self._told(leader) if yardstick.by_rows else None

    def _told(self, candidate: int) -> Floats | None:
        heat = self._heat
        outcomes = [heat.outcomes[candidate][place] for place in heat._seen]
        return self._yardstick.told(outcomes, [heat.splits[place] for place in heat._seen])

    def reason(self, race: Race, candidate: int) -> str | None:
        """Why a candidate is dropped; None if it goes on."""
        if candidate == self._leader:
            return None
        own = None if self._leaders_rows is None else self._told(candidate)
        if own is not None and self._leaders_rows is not None:
            behind = self._yardstick.by_values(own, self._leaders_rows)
        else:
            splits = [self._heat.splits[place] for place in self._heat._seen]
            behind = self._yardstick.by_scores(self._scores[candidate], self._scores[self._leader], splits)
        if behind is None or not race.drops(behind):
            return None
        return f"worse than the leader by {behind.mean:.3g} (p = {chance(behind):.2g})"
