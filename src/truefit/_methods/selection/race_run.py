"""One race: candidates on one list of splits, in rounds whose order lets races share fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, product

import numpy as np

from truefit._core.errors import Failure
from truefit._core.outcome import Outcome
from truefit._core.typing import Floats
from truefit._methods.selection.racing import DroppedCandidate, RaceStandings, chance_left
from truefit._methods.splitting.designs import has_triangle
from truefit._methods.splitting.splits import Split, Splits
from truefit._methods.text import MetricText
from truefit._stats.paired import PairedDifference

#: Positions of the splits that are fitted in each round.
Rounds = list[list[int]]

#: With more splits a round has several, so that it has work for all workers.
MOST_ROUNDS = 10


def one_round(splits: Sequence[Split]) -> Rounds:
    """Return all splits at once: no candidate is dropped."""
    return [list(range(len(splits)))]


def rounds_of(splits: Sequence[Split]) -> Rounds:
    """Return one split after the other."""
    return _in_blocks([[place] for place in range(len(splits))])


def inner_rounds(splits: Splits, inner: Sequence[Sequence[Split]]) -> list[Rounds]:
    """Return the rounds of the races without each of the outer splits.

    With the folds of one partition, the fit without the folds a and b serves the races without a and without b. So the
    folds are paired as in a round-robin tournament: in each round a fold has one partner, or none.
    """
    if not has_triangle(splits):
        return [rounds_of(group) for group in inner]
    k = len(splits) // splits.repeats
    found = []
    for fold in range(len(splits)):
        own = fold % k
        # The splits of a fold's race are the other folds in ascending order.
        partners = [pairing[own] for pairing in round_robin(k)]
        found.append(_in_blocks([[] if other is None else [other - (other > own)] for other in partners]))
    return found


def round_robin(folds: int) -> list[list[int | None]]:
    """Return for each round the partner of each fold, so that each pair meets once; None without a partner.

    >>> round_robin(4)
    [[3, 2, 1, 0], [1, 0, 3, 2], [2, 3, 0, 1]]
    >>> round_robin(3)[0]
    [None, 2, 1]
    """
    circle = folds - 1 + folds % 2  # the circle method: an even number has its last fold in the middle
    rounds: list[list[int | None]] = []
    for turn in range(circle):
        partners: list[int | None] = [(turn - fold) % circle for fold in range(circle)]
        alone = next(fold for fold, partner in enumerate(partners) if fold == partner)
        partners[alone] = circle if folds > circle else None
        rounds.append(partners + [alone] * (folds - circle))
    return rounds


def _in_blocks(rounds: Rounds) -> Rounds:
    count = min(len(rounds), MOST_ROUNDS)
    ends = [len(rounds) * block // count for block in range(count + 1)]
    return [[place for places in rounds[start:end] for place in places] for start, end in pairwise(ends)]


#: Placeholder for the fit of a candidate that was dropped before.
NOT_FITTED = Outcome("", error=Failure("not fitted", "The race dropped the candidate before this fit."))


class RaceRun:
    """The state of a race on one list of splits: the candidates still running, and the outcomes so far.

    ``rounds`` are the positions of the splits fitted in each round. Without ``standings`` no candidate is dropped, and
    those in ``spared`` never are. The attribute ``splits`` has the rungs after the splits: smaller training sets of the
    first one, in a race over sizes.
    """

    def __init__(
        self,
        splits: Sequence[Split],
        rounds: Rounds,
        candidates: int,
        standings: RaceStandings | None = None,
        spared: Sequence[int] = (),
    ) -> None:
        self._spared = frozenset(spared)
        self.running = list(range(candidates))
        self.dropped: list[DroppedCandidate] = []
        self._folds = len(splits)
        self._first = next(place for places in rounds for place in places)
        rungs = [] if standings is None else standings.rungs(splits[self._first])
        self.splits = [*splits, *rungs]
        self._standings = standings
        self._turns = [*([self._folds + rung] for rung in range(len(rungs))), *rounds]
        self._turn = 0
        self._seen: list[int] = []
        self._outcomes = [[NOT_FITTED] * len(self.splits) for _ in self.running]
        self._scores: dict[str, Floats] = {}

    @property
    def finished(self) -> bool:
        """Whether there are no more rounds."""
        return self._turn == len(self._turns)

    @property
    def on_rungs(self) -> bool:
        """Whether the next round is a rung."""
        return self._turn < len(self.splits) - self._folds

    def skip_rung(self) -> None:
        """Skip the next round if it is a rung."""
        self._turn += self.on_rungs

    def wanted(self) -> list[tuple[int, Split]]:
        """Candidates and splits to fit in the next round."""
        places = [] if self.finished else self._turns[self._turn]
        return [(candidate, self.splits[place]) for candidate in self.running for place in places]

    def take(self, outcomes: Sequence[Outcome], scores: Sequence[Mapping[str, float] | None]) -> None:
        """Record the outcomes of a round and their scores, None for a failed fit; drop candidates too far behind."""
        if self.finished:
            return
        places = self._turns[self._turn]
        for (candidate, place), outcome, scored in zip(product(self.running, places), outcomes, scores, strict=True):
            self._outcomes[candidate][place] = outcome
            for name, value in (scored or {}).items():
                self._all_scores(name)[candidate, place] = value
        if self._standings is not None and self.on_rungs:
            if self._turn > 0:
                self._drop_by_sizes(places[0], self._standings)
        elif self._standings is not None:
            self._seen += places
            if places and self._standings.race.first <= len(self._seen) < self._folds:
                self._drop_by_folds(self._standings)
        self._turn += 1

    def _all_scores(self, name: str) -> Floats:
        if name not in self._scores:
            self._scores[name] = np.full((len(self._outcomes), len(self.splits)), np.nan)
        return self._scores[name]

    @property
    def names(self) -> list[str]:
        """Names of the scores."""
        return list(self._scores)

    def table(self, names: Sequence[str], error_score: float = np.nan) -> dict[str, Floats]:
        """Scores by name, of shape (candidates, splits); ``error_score`` for fits that failed, NaN if not run."""
        tables = {name: self._all_scores(name)[:, : self._folds] for name in names}
        if np.isnan(error_score):
            return tables
        failed = np.array(
            [[each.error is not None and each is not NOT_FITTED for each in line] for line in self._lines]
        )
        return {name: np.where(failed, error_score, table) for name, table in tables.items()}

    @property
    def _lines(self) -> list[list[Outcome]]:
        """Outcomes of each candidate on the splits themselves, without the rungs."""
        return [line[: self._folds] for line in self._outcomes]

    def outcomes(self, candidate: int) -> list[Outcome]:
        """Outcomes of a candidate on each split; ``NOT_FITTED`` where there is none."""
        return self._outcomes[candidate][: self._folds]

    def fitted(self) -> list[Outcome]:
        """All outcomes on the splits themselves."""
        return [each for line in self._lines for each in line if each is not NOT_FITTED]

    def failures(self) -> list[Failure]:
        """Failures on the splits themselves."""
        return [each.error for each in self.fitted() if each.error is not None]

    @property
    def all_failed(self) -> bool:
        """Whether every remaining candidate has a failed fit, so that none can be selected."""
        return all(any(each.error is not None for each in self.outcomes(candidate)) for candidate in self.running)

    def fit_seconds(self) -> Floats:
        """Seconds of each fit, of shape (candidates, splits); NaN where there is none."""
        return np.array([[np.nan if each is NOT_FITTED else each.fit_seconds for each in line] for line in self._lines])

    def _drop_by_folds(self, standings: RaceStandings) -> None:
        scores = self._all_scores(standings.metric.name)[:, self._seen]
        leader = self._leader(scores.mean(axis=1), standings)
        if leader is None:
            return  # every candidate failed, which the search reports in the end
        splits = [self.splits[place] for place in self._seen]
        leaders_rows = self._row_values(leader, self._seen, standings)
        open_share = 1 - len(self._seen) / self._folds
        text = MetricText.of(standings.metric)
        reasons_to_drop = {}
        for candidate in self.running:
            if np.isnan(scores[candidate]).any():
                reasons_to_drop[candidate] = "a fit failed, or has no score"
                continue
            own = None if leaders_rows is None else self._row_values(candidate, self._seen, standings)
            if own is not None and leaders_rows is not None:
                behind = standings.by_rows(own, leaders_rows, open_share=open_share)
            else:
                behind = standings.by_scores(scores[candidate], scores[leader], splits, open_share=open_share)
            may_drop = candidate != leader and candidate not in self._spared
            if may_drop and behind is not None and standings.race.drops(behind):
                reasons_to_drop[candidate] = f"worse than the leader by {text.change(behind.mean)} ({_test(behind)})"
        self._drop(reasons_to_drop)

    def _drop_by_sizes(self, rung: int, standings: RaceStandings) -> None:
        """Learning curves are convex: they fall no faster from here on than since the rung before."""
        leader = self._leader(self._all_scores(standings.metric.name)[:, rung], standings)
        leaders_rows = None if leader is None else self._row_values(leader, [rung], standings)
        if leaders_rows is None:
            return
        before, now, whole = (len(self.splits[place].train) for place in (rung - 1, rung, self._first))
        reasons_to_drop = {}
        for candidate in self.running:
            if (
                candidate == leader
                or candidate in self._spared
                or any(self._outcomes[candidate][each].error for each in (rung - 1, rung))
            ):
                continue  # a learner may fail on few rows only
            earlier, own = (self._row_values(candidate, [place], standings) for place in (rung - 1, rung))
            if earlier is None or own is None:
                continue
            end = own - (earlier - own) * (whole - now) / (now - before)
            behind = standings.by_rows(end, leaders_rows)
            if behind is not None and standings.race.drops(behind):
                reasons_to_drop[candidate] = f"worse than the leader by its learning curve ({_test(behind)})"
        self._drop(reasons_to_drop)

    def _leader(self, means: Floats, standings: RaceStandings) -> int | None:
        signed = means * (1 if standings.metric.greater_is_better else -1)
        scored = [candidate for candidate in self.running if not np.isnan(signed[candidate])]
        return max(scored, key=lambda candidate: signed[candidate]) if scored else None

    def _row_values(self, candidate: int, places: Sequence[int], standings: RaceStandings) -> Floats | None:
        if not standings.compares_rows:
            return None
        line = self._outcomes[candidate]
        return standings.row_values([line[place] for place in places], [self.splits[place] for place in places])

    def _drop(self, reasons_to_drop: Mapping[int, str]) -> None:
        self.dropped += [
            DroppedCandidate(candidate, len(self._seen), reason) for candidate, reason in reasons_to_drop.items()
        ]
        self.running = [candidate for candidate in self.running if candidate not in reasons_to_drop]


def _test(behind: PairedDifference) -> str:
    p = chance_left(behind)
    return f"one-sided paired t-test, {'p < 0.001' if p < 0.001 else f'p = {p:.3f}'}"
