"""Round: one call of a process executor's map, from the first job to the last outcome."""

from __future__ import annotations

import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache

from truefit._core.errors import ExecutorError
from truefit._core.outcome import Failure, Outcome
from truefit._core.protocols import Job
from truefit._executors.channel import DONE, LOADED, NO_DATA, READY, STARTED, Message
from truefit._executors.crew import Crew
from truefit._executors.hand import Errand, Hand
from truefit._executors.limits import KILLS, Limits, limit_in_words, limit_of
from truefit._executors.memory import exceeded, exceeds
from truefit._executors.packing import Packer, unpacked_outcomes

#: A job whose classes are being imported has this long to start before its limit counts.
_UNPACKING_SECONDS = 60.0
#: Seconds of work that wait at a worker, so that it need not wait for us; and how many jobs that may be.
_AHEAD_SECONDS, _AHEAD_JOBS = 0.02, 32
#: Longer jobs are handed out one at a time: the next may find another worker free.
_LONG_SECONDS = 0.5
_DRAIN_SECONDS = 0.2
#: How often the memory of workers is measured. A process fills some 100 MB in this time.
_MEMORY_SECONDS = 0.05


class Round:
    """Feeds workers and listens to them."""

    def __init__(self, crew: Crew, jobs: Iterable[Job], orders: Callable[[], bytes], limits: Limits) -> None:
        self.crew = crew
        self.limits = limits
        self.timeout = limits.timeout
        self._orders = cache(orders)  # not before there is a job: it ships the data
        self._dismissals = crew.dismissals
        self._source = iter(jobs)
        self._numbers = itertools.count()
        self._packer = Packer()
        self._again: deque[Errand] = deque()
        self._finished: deque[list[Outcome]] = deque()
        self._ahead = 0
        self._slowest = 0.0
        self._heard = time.monotonic()
        self._measured = 0.0

    def outcomes(self) -> Iterator[list[Outcome]]:
        """Yield the outcomes of each job."""
        try:
            while True:
                self._check_open()
                if self.limits.late:
                    self._drain()
                    break
                self._feed()
                if self._finished:
                    yield self._finished.popleft()
                    # What waits at the workers lasts a while, so we need not listen after every outcome.
                    if time.monotonic() - self._heard > _AHEAD_SECONDS / 4:
                        self._listen(0.0)
                elif any(hand.errands for hand in self.crew.hands):
                    self._listen(self._patience())
                else:
                    return
            while self._finished:
                yield self._finished.popleft()
        except ExecutorError:
            while self._finished:
                yield self._finished.popleft()
            raise
        except (GeneratorExit, Exception):
            # Short jobs are soon done, which is sooner than new workers. An interrupt, though, may come in the middle
            # of a message.
            self._drain()
            raise
        finally:
            self.crew.stop_busy()

    def _check_open(self) -> None:
        if self.crew.dismissals != self._dismissals:
            raise ExecutorError(
                "An executor must stay open while its map is under way. It was closed. Exhaust or close the iterator "
                "before the executor."
            )

    def _feed(self) -> None:
        # What is finished and not yet looked at counts as work at hand: jobs are not taken before their time.
        while len(self._finished) <= self.crew.workers * (1 + self._ahead):
            free = self._free_hand()
            if free is None and not self.crew.has_room:
                return
            errand = self._next()
            if errand is None:
                return
            if free is None or ((errand.kills or free.errands) and self.crew.has_room):
                free = self.crew.start()
            if errand.kills and free.errands:
                self._again.appendleft(errand)
                return
            free.alone = errand.kills > 0
            free.give(errand, self._orders())
            if len(free.errands) == 1:
                self._await_start(free)

    def _free_hand(self) -> Hand | None:
        room = [
            hand
            for hand in self.crew.hands
            if not hand.errands or (hand.loaded and not hand.alone and len(hand.errands) <= self._ahead)
        ]
        return min(room, key=lambda hand: len(hand.errands), default=None)

    def _next(self) -> Errand | None:
        if self._again:
            return self._again.popleft()
        for job in self._source:
            packed = self._packer.pack(job)
            if not isinstance(packed, Failure):
                return Errand(next(self._numbers), job, packed)
            self._finished.append(job.failed(packed))
        return None

    def _listen(self, wait: float) -> None:
        self._heard = time.monotonic()
        for hand in self.crew.heard(wait):
            for message in hand.channel.messages():
                self._take(hand, message)
            if hand.channel.ended:
                self._mourn(hand)
        if self.timeout is not None:
            self._check_clocks(self.timeout)
        if self.limits.memory is not None:
            self._check_memory(self.limits.memory)

    def _take(self, hand: Hand, message: Message) -> None:
        if message.kind == READY:
            hand.greet()
        elif message.kind == LOADED:
            self.crew.welcome(hand)
            self._await_start(hand)
        elif message.kind == STARTED:
            hand.clock = time.monotonic()
        elif message.kind == DONE:
            errand = hand.errands.popleft()
            hand.jobs_done += 1
            self._finished.append(unpacked_outcomes(message.body, errand.job))
            self._learn(message.seconds)
            hand.alone = False
            self._await_start(hand)
        elif message.kind == NO_DATA:
            raise ExecutorError(
                "A worker must be able to load the data. It could not. Check that what the table holds can be "
                "pickled, and that the file of a mapped X is not changed or removed during the run; or run with "
                f"workers=1. The worker says:\n{bytes(message.body).decode(errors='replace')}"
            )

    def _await_start(self, hand: Hand) -> None:
        hand.clock = time.monotonic() + _UNPACKING_SECONDS if hand.loaded and hand.errands else None

    def _learn(self, seconds: float) -> None:
        # The slowest of late counts: a short job must not wait behind a long one.
        self._slowest = max(seconds, 0.9 * self._slowest, 1e-6)
        few = math.ceil(_AHEAD_SECONDS / self._slowest)
        self._ahead = 0 if self._slowest > _LONG_SECONDS else min(few, _AHEAD_JOBS)

    def _patience(self) -> float:
        longest = 1.0 if self.limits.memory is None else _MEMORY_SECONDS
        now = time.monotonic()
        if self.limits.deadline is not None:
            longest = min(longest, max(self.limits.deadline - now, 0.001))
        if self.timeout is None:
            return longest
        left = [
            hand.clock + limit_of(hand.errands[0].job, self.timeout) - now
            for hand in self.crew.hands
            if hand.errands and hand.clock is not None
        ]
        return min([longest, *(max(seconds, 0.001) for seconds in left)])

    def _check_clocks(self, timeout: float) -> None:
        now = time.monotonic()
        for hand in list(self.crew.hands):
            if hand.clock is None or not hand.errands:
                continue
            if now - hand.clock > limit_of(hand.errands[0].job, timeout):
                late = hand.errands.popleft()
                self._again.extendleft(reversed(hand.errands))
                self.crew.lose(hand)
                self._finished.append(late.job.failed(_timeout(late.job, timeout)))

    def _check_memory(self, limit: int) -> None:
        now = time.monotonic()
        if now - self._measured < _MEMORY_SECONDS:
            return
        self._measured = now
        for hand in list(self.crew.hands):
            if not (hand.loaded and hand.errands) or not exceeds(hand.process.pid, limit):
                continue
            large = hand.errands.popleft()
            self._again.extendleft(reversed(hand.errands))
            self.crew.lose(hand)
            if hand.jobs_done and not large.kills:
                # Some of the memory may be left from earlier fits: a new worker shows what this one needs by itself.
                large.kills += 1
                self._again.appendleft(large)
            else:
                self._finished.append(large.job.failed(exceeded(limit)))

    def _mourn(self, hand: Hand) -> None:
        self._again.extendleft(reversed(hand.errands))
        self.crew.bury(hand)
        if not (hand.loaded and hand.errands):
            return
        # Results come in order, so the first that has none was running; those behind it are not touched.
        suspect = self._again.popleft()
        suspect.kills += 1
        if suspect.kills < KILLS:
            self._again.appendleft(suspect)
        else:
            self._finished.append(suspect.job.failed(_death(hand.fate())))

    def _drain(self) -> None:
        deadline = time.monotonic() + _DRAIN_SECONDS
        with suppress(ExecutorError):
            while any(hand.errands for hand in self.crew.hands) and (left := deadline - time.monotonic()) > 0:
                self._listen(left)


def _timeout(job: Job, timeout: float) -> Failure:
    return Failure(
        "timeout",
        f"A fit must end within its time limit of {limit_in_words(job, timeout)}. It did not, and was stopped with "
        "its worker. Give a larger timeout, or make the fit cheaper.",
    )


def _death(fate: str) -> Failure:
    text = f"A fit must leave its worker alive. It killed {KILLS} in turn, the last with {fate}."
    if "SIGKILL" in fate:
        text += " The system stops processes in this way when memory runs out: try fewer workers."
    return Failure("died", text)
