"""BaseEngine: plans request fits, the engine answers each distinct one once, from the store or by running it."""

from __future__ import annotations

import logging
import time
import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal, TypeVar

from truefit._core.data import Data
from truefit._core.errors import BudgetSpent, ExecutorError, Interrupted
from truefit._core.identity import Keys
from truefit._core.outcome import Outcome, StoredPredictions
from truefit._core.protocols import Executor, Fit, Job, Plan, Progress, Solver, Store, is_private
from truefit._engine.batch import FitBatch, JobQueue, JobTimes, KeySet, PlanRun, Stats, WantedFit

logger = logging.getLogger(__name__)

R = TypeVar("R")
Listener = Callable[[Progress], None]
OnError = Literal["raise", "record"]

_MODELS_CACHED = 4
#: Outcomes that go into the store together: a closed form has those of all rows, which would be there twice.
_STORED_AT_ONCE = 1000
_SECONDS_BETWEEN_EVENTS = 0.1


class BaseEngine:
    """Drives plans to their results.

    Solvers claim fits in their order; the last takes all that is left. ``scratch`` makes a store for fits that cannot
    be identified by content. ``serial_executor`` runs in this process what workers must not run, because they have
    other code. ``listener`` is called with the progress.
    """

    def __init__(
        self,
        *,
        store: Store,
        executor: Executor,
        solvers: Sequence[Solver],
        scratch: Callable[[], Store],
        serial_executor: Executor | None = None,
        on_error: OnError = "raise",
        listener: Listener | None = None,
    ) -> None:
        self.stats = Stats()
        self._store = store
        self._executor = executor
        self._solvers = tuple(solvers)
        self._scratch = scratch
        self._serial_executor = serial_executor
        #: Whether outcomes are used by several calls; an engine that was made for one call sets it to False.
        self.reused = True
        self._warned: set[str] = set()
        self._on_error = on_error
        self._listener = listener
        self._times = JobTimes()
        self._fitted_here = KeySet()
        self._models: OrderedDict[str, Any] = OrderedDict()

    @property
    def store(self) -> Store:
        """Where outcomes are kept."""
        return self._store

    def run(
        self,
        plan: Plan[R],
        data: Data,
        *,
        seconds: float | None = None,
        description: str = "",
        on_error: OnError | None = None,
    ) -> R:
        """Drive one plan to its result; ``on_error`` is for this plan, in place of the engine's own."""
        (result,) = self.run_all([(plan, data)], seconds=seconds, description=description, on_error=on_error)
        if isinstance(result, BaseException):
            raise result
        return result  # type: ignore[no-any-return]

    def run_all(
        self,
        plans: Sequence[tuple[Plan[Any], Data]],
        *,
        seconds: float | None = None,
        description: str = "",
        on_error: OnError | None = None,
    ) -> list[Any]:
        """Drive several plans at once, their open tasks merged; return their results, or the errors that ended them."""
        runs = [PlanRun(plan, data) for plan, data in plans]
        call = _Call(self, seconds, description, on_error or self._on_error)
        if seconds is not None and runs:
            self._start_workers(runs[0].data)
        try:
            for run in runs:
                run.start()
            while open_runs := [run for run in runs if not run.finished]:
                call.answer(open_runs)
        except KeyboardInterrupt as interrupt:
            raise Interrupted(self._how_to_resume()) from interrupt
        except ExecutorError as error:
            raise ExecutorError(f"{error} {self._what_is_kept(call)}") from error
        finally:
            for run in runs:
                run.plan.close()
            call.end()
        return [run.error if run.error is not None else run.result for run in runs]

    def _how_to_resume(self) -> str:
        path = getattr(self._store, "path", None)
        if path is None:
            return (
                "Interrupted. Finished fits are lost: there is no store. Use a store to resume after an interruption."
            )
        count = getattr(self._store, "count_fits", None)
        return f"Interrupted. Finished fits are in {path}{'' if count is None else f' ({count():,})'}. Rerun to resume."

    def _what_is_kept(self, call: _Call) -> str:
        path = getattr(self._store, "path", None)
        where = (
            "in this engine's memory: pass store=engine.store to a new Engine" if path is None else f"in {path}: rerun"
        )
        return f"{call.done:,} of {call.counts.asked:,} fits are done and stored {where} to resume."

    # What follows is how one batch is answered; _Call calls it.

    def _executor_for(self, *, with_deadline: bool) -> Executor:
        return self._executor

    def _start_workers(self, data: Data) -> None:
        """Start what a run with a deadline will need: the time counts."""

    def _keys(self, data: Data, *, with_deadline: bool) -> Keys:
        elsewhere = with_deadline or self._executor is not self._serial_executor
        return Keys(data, shared=self.reused or elsewhere, stored=getattr(self._store, "durable", True))

    def _warn_once(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            warnings.warn(text, RuntimeWarning, stacklevel=2)

    def _remember_model(self, key: str, model: Any) -> None:
        self._models[key] = model
        self._models.move_to_end(key)
        while len(self._models) > _MODELS_CACHED:
            self._models.popitem(last=False)

    def _claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """Return the jobs that answer fits: all of them, but for those that leave out each row, of which some may."""
        jobs: list[Job] = []
        left = [fit for fit in fits if not fit.each_left_out]
        together = [fit for fit in fits if fit.each_left_out]
        for solver in self._solvers:
            offered = left + together if together and getattr(solver, "leaves_out_each", False) else left
            if kinds := getattr(solver, "kinds", ()):
                accepted = {*kinds, *getattr(solver, "wrappers", ())}
                offered = [fit for fit in offered if type(fit.estimator) in accepted]
            claimed = solver.claim(offered, data) if offered else []
            jobs.extend(claimed)
            taken = {fit.key for job in claimed for fit in job.fits}
            if taken:
                left, together = ([fit for fit in some if fit.key not in taken] for some in (left, together))
        assert not left, "the last solver takes all"
        return jobs


class _Call:
    """One call of ``run_all``: its deadline, its progress, and the rounds it goes through."""

    def __init__(self, engine: BaseEngine, seconds: float | None, description: str, on_error: OnError) -> None:
        self.engine = engine
        self.description = description
        self.on_error = on_error
        self.started = time.monotonic()
        self.deadline = None if seconds is None else self.started + seconds
        self.counts = Stats()
        self._reported = 0.0
        self._keys: dict[int, Keys] = {}

    @cached_property
    def scratch(self) -> Store:
        """Where outcomes are kept that must not be stored."""
        return self.engine._scratch()

    @property
    def done(self) -> int:
        """Fits that are answered."""
        return self.counts.run + self.counts.refitted + self.counts.shared + self.counts.stored

    def _count(self, **counts: int) -> None:
        for stats in (self.engine.stats, self.counts):
            for name, count in counts.items():
                setattr(stats, name, getattr(stats, name) + count)

    def answer(self, runs: Sequence[PlanRun]) -> None:
        """Answer all open tasks, then let every plan go on."""
        by_data: dict[int, list[PlanRun]] = {}
        for run in runs:
            self.description = run.description or self.description
            by_data.setdefault(id(run.data), []).append(run)
        for group in by_data.values():
            data = group[0].data
            if id(data) not in self._keys:
                self._keys[id(data)] = self.engine._keys(data, with_deadline=self.deadline is not None)
            self._answer_batch(FitBatch(self._keys[id(data)], group))
        for run in runs:
            if run.failure is not None:
                run.throw_failure()
            elif run.outcomes.ready < len(run.outcomes) or (self._expired() and run.best_models.without_model()):
                if not self._expired() and run.fit_seconds is None:
                    raise ExecutorError(f"An executor must answer every job. {self.engine._executor!r} left some out.")
                message = f"Time budget exhausted: {run.outcomes.ready} of {len(run.outcomes)} fits are done."
                run.throw(BudgetSpent(message, run.outcomes))
            else:
                run.send()

    def _answer_batch(self, batch: FitBatch) -> None:
        self._count(asked=batch.asked)
        open_wants = self._restore(batch)
        self._report(force=True)
        self._execute([want.fit for want in open_wants], batch)
        best_models = [best for run in batch.runs if run.failure is None for best in run.best_models.without_model()]
        if best_models and not self._expired():
            self._refit_best_models([replace(best.fit, asks=(), keep_model=True) for best in best_models], batch)
        self._report(force=True)

    def _restore(self, batch: FitBatch) -> list[WantedFit]:
        """Deliver what the store or a model at hand can answer; return what has to be fitted."""
        keys = [key for key in batch.wants if not is_private(key)]
        found = self.engine._store.get(keys) if keys else {}
        open_wants = []
        for key, want in batch.wants.items():
            outcome = found.get(key)
            if outcome is None:
                open_wants.append(want)
                continue
            missing = batch.missing_asks(want, outcome)
            if missing:
                want.known = True
                want.fit = replace(want.fit, asks=missing, model=self.engine._models.get(key))
                open_wants.append(want)
                continue
            self._count(**{"shared" if key in self.engine._fitted_here else "stored": want.count})
            want.deliver(self._stored(outcome), self.engine._models.get(key))
        return open_wants

    def _execute(self, fits: Sequence[Fit], batch: FitBatch) -> None:
        jobs = {job.fits[0].key: job for job in self.engine._claim(fits, batch.data)}
        if fits and logger.isEnabledFor(logging.INFO):
            logger.info("%d of %d fits are to be run, %s.", len(fits), batch.asked, _by_solver(jobs.values()))
        for fit in fits:
            if fit.each_left_out and fit.key not in jobs:
                self._leave_open(batch.wants[fit.key])
        # With a time budget the order is that of the plan.
        queue = iter(jobs.values()) if self.deadline is not None else JobQueue(jobs.values(), self.engine._times)
        executor = self.engine._executor_for(with_deadline=self.deadline is not None)
        limit = batch.fit_seconds
        if (timeout := getattr(executor, "timeout", None)) is not None and limit is not None and timeout <= limit:
            limit = None  # past the executor's own limit a fit has failed
        queued = self._still_wanted(queue, batch)
        results = self._outcomes(executor, queued, batch.data, jobs, limit)
        with _closing(results):
            for outcomes in results:
                job = jobs[outcomes[0].key]
                error = outcomes[0].error
                if limit is not None and error is not None and error.kind == "timeout":
                    continue
                self.engine._times.learn(job, outcomes)
                if job.fits[0].each_left_out and not outcomes[0].answers:
                    self._leave_open(batch.wants[outcomes[0].key])
                else:
                    self._accept(outcomes, job, batch)
                if not any(run.failure is None for run in batch.runs):
                    break

    def _outcomes(
        self,
        executor: Executor,
        jobs: Iterable[Job],
        data: Data,
        by_key: Mapping[str, Job],
        fit_seconds: float | None = None,
    ) -> Iterator[list[Outcome]]:
        """Yield what an executor yields; what its workers refuse, having other code, is run in this process."""
        refused: list[Job] = []
        serial = self.engine._serial_executor
        # An executor that stops fits which take too much does what this process cannot do.
        limited = any(getattr(executor, limit, None) is not None for limit in ("timeout", "memory"))
        results = executor.map(jobs, data, deadline=self.deadline, fit_seconds=fit_seconds)
        with _closing(results):
            for outcomes in results:
                error = outcomes[0].error
                if error is None or error.kind != "other code" or serial is None or limited:
                    yield outcomes
                else:
                    self.engine._warn_once(f"{error.message} Until then these fits run in this process.")
                    refused.append(by_key[outcomes[0].key])
        if refused and serial is not None:
            yield from serial.map(refused, data, deadline=self.deadline)

    def _still_wanted(self, jobs: Iterable[Job], batch: FitBatch) -> Iterator[Job]:
        # The executor takes jobs as it can start them: what nobody waits for any more is not started.
        for job in jobs:
            if self._expired():
                return
            if any(batch.wants[fit.key].wanted() for fit in job.fits):
                yield job

    def _leave_open(self, want: WantedFit) -> None:
        """Deliver no answers for fits that no closed form answers: the plan requests them one by one, counted then."""
        self._count(asked=-want.count)
        want.deliver(Outcome(want.fit.key))

    def _accept(self, outcomes: Sequence[Outcome], job: Job, batch: FitBatch) -> None:
        engine = self.engine
        self._put(outcomes)
        wants = [batch.wants[outcome.key] for outcome in outcomes]
        for want, outcome in zip(wants, outcomes, strict=True):
            if outcome.error is not None:
                self._count(failed=1)
                if self.on_error == "raise":
                    want.fail(outcome.error)
            elif outcome.hidden_input is not None and engine.reused and not is_private(outcome.key):
                engine._warn_once(
                    f"{type(want.fit.estimator).__name__} {outcome.hidden_input}. That is not part of its identity, so "
                    "its fits are run each time, never stored. Pass what it needs as a parameter."
                )
            want.deliver(self._stored(outcome), outcome.model)
        refitted = min(sum(want.known for want in wants), job.work)
        shared = sum(want.count for want in wants) - job.work
        self._count(refitted=refitted, run=job.work - refitted, shared=shared)
        self._report()

    def _stored(self, outcome: Outcome) -> Outcome:
        """Return an outcome that holds no arrays, only where they are."""
        if outcome.error is not None:
            return outcome
        answers = StoredPredictions(self.engine._store if _storable(outcome) else self.scratch, outcome.key)
        return Outcome(outcome.key, answers, outcome.fit_seconds, outcome.solver, outcome.classes)

    def _put(self, outcomes: Sequence[Outcome]) -> None:
        """Put the outcomes of a job into their store."""
        engine = self.engine
        good = [outcome for outcome in outcomes if outcome.error is None]
        public = [outcome for outcome in good if _storable(outcome)]
        for start in range(0, len(public), _STORED_AT_ONCE):
            engine._store.put(public[start : start + _STORED_AT_ONCE])
        if len(public) < len(good):
            self.scratch.put([outcome for outcome in good if not _storable(outcome)])
        engine.stats.seconds += sum(outcome.fit_seconds for outcome in good)
        for outcome in public:
            engine._fitted_here.add(outcome.key)
            if outcome.model is not None:
                engine._remember_model(outcome.key, outcome.model)

    def _refit_best_models(self, fits: Sequence[Fit], batch: FitBatch) -> None:
        jobs = self.engine._claim(fits, batch.data)
        by_key = {job.fits[0].key: job for job in jobs}
        executor = self.engine._executor_for(with_deadline=self.deadline is not None)
        results = self._outcomes(executor, iter(jobs), batch.data, by_key)
        with _closing(results):
            for outcome in chain.from_iterable(results):
                want = batch.wants[outcome.key]
                self.engine.stats.refitted += 1
                self.engine.stats.seconds += outcome.fit_seconds
                if outcome.error is not None:
                    self.engine.stats.failed += 1
                    want.fail(outcome.error)
                    continue
                for run, i in want.positions:
                    keep, known = run.tasks[i].keep, run.outcomes[i]
                    if keep is not None and known is not None:
                        run.best_models.offer(keep, run.orders[i], want.fit, known, outcome.model)

    def _expired(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def _report(self, *, force: bool = False) -> None:
        if self.engine._listener is None:
            return
        now = time.monotonic()
        if not force and now - self._reported < _SECONDS_BETWEEN_EVENTS:
            return
        self._reported = now
        counts, elapsed = self.counts, now - self.started
        worked = self.done - counts.stored
        left = elapsed / worked * (counts.asked - self.done) if worked else None
        if self.deadline is not None:  # a plan with a deadline may request more, as long as there is time
            left = max(self.deadline - now, 0.0)
        run = counts.run + counts.refitted
        self.engine._listener(
            Progress(
                self.done, counts.asked, run, counts.shared, counts.stored, counts.failed,
                elapsed, left, self.description,
            )
        )  # fmt: skip

    def end(self) -> None:
        """Close the listener, if it can be closed."""
        close = getattr(self.engine._listener, "close", None)
        if close is not None:
            close()


def _by_solver(jobs: Iterable[Job]) -> str:
    counts = Counter(job.solver.name for job in jobs for _ in job.fits)
    return ", ".join(f"{count} by the solver {name!r}" for name, count in counts.most_common())


def _storable(outcome: Outcome) -> bool:
    return outcome.hidden_input is None and not is_private(outcome.key)


@contextmanager
def _closing(results: Iterator[Any]) -> Iterator[None]:
    """Close an iterator at the end, if it can be closed."""
    try:
        yield
    finally:
        if hasattr(results, "close"):
            results.close()
