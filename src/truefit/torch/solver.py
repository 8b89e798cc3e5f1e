"""StackedNetworksSolver: all fits of one architecture and config as one computation."""

from __future__ import annotations

import gc
import logging
import math
import time
import warnings
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from sklearn.utils.validation import check_array, validate_data

from truefit._core.data import Data
from truefit._core.errors import Failure
from truefit._core.fingerprint import Fingerprint
from truefit._core.outcome import Outcome, Predictions
from truefit._core.parameters import fit_metadata, seeded
from truefit._core.protocols import Fit, Job, Response
from truefit._core.stages import AtStage
from truefit._core.typing import Array
from truefit._solvers.paths.stages import StagesSolver
from truefit._solvers.plain import WrongAnswer, checked, fit_plain
from truefit.torch.config import TrainingConfig, on_device
from truefit.torch.estimators import TorchClassifier, TorchRegressor, outputs_for, seed_of, targets_for
from truefit.torch.head import Head, head_of
from truefit.torch.stack import CannotStack, Member, Stack, Stage, check_stackable, has_batch_statistics
from truefit.torch.training import batch_bounds, not_finite

_logger = logging.getLogger(__name__)

#: Members that are trained together on a CPU, where other workers may take the next ones.
CPU_MEMBERS = 8
#: Numbers in a batch of a convolutional network up to which a stack is faster on a CPU.
CPU_INPUTS = 8192
#: Weights of a network up to which a stack is faster on a CPU, whose caches hold no more of them.
CPU_WEIGHTS = 250_000

#: Architectures that could not be stacked in this process, with a warning.
_refused: set[bytes] = set()
_MOST_REFUSED = 1000


class StackedNetworksSolver:
    """Trains networks that differ in rows, labels or seeds only as one stack: their weights get one more axis.

    The stages of a training run are one member, which predicts after each. Members are shuffled and initialised by
    their own seeds, so the predictions are those of one-by-one training up to rounding: about 1e-14 in float64; in
    float32 rounding grows with the steps, as it does from one device to another. Random numbers that a network draws
    in training, as dropout does, differ from those of one-by-one training.

    On a GPU a step is recorded once as a CUDA graph and then replayed, for a single member too. A group that does not
    fit into the device's memory is halved until it does. Networks that cannot be stacked are trained one by one, with
    one warning that gives the reason.
    """

    name = "stacked networks"

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job for each group of networks that can be stacked."""
        if not _readable(data.X):
            return []
        families = _Families(data)
        groups: dict[tuple[Hashable, ...], dict[Hashable, list[Fit]]] = defaultdict(lambda: defaultdict(list))
        for fit in fits:
            place = families.place(fit)
            if place is not None:
                group, member = place
                groups[group][member].append(fit)
        jobs = []
        for group, members in groups.items():
            runs = list(members.values())
            gpu = group[-1] == "cuda"
            # Alone on a CPU there is nothing to gain.
            if not gpu and len(runs) == 1:
                continue
            step = len(runs) if gpu else CPU_MEMBERS
            for start in range(0, len(runs), step):
                part = runs[start : start + step]
                if gpu or len(part) > 1:
                    jobs.append(Job(self, tuple(fit for run in part for fit in run), work=len(part)))
        return jobs

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Train the members together; one by one where that fails."""
        try:
            runs = _runs_of(job.fits, data)
            found = _together(runs, data)
        except (Exception, SystemExit) as error:
            found = _one_by_one(job.fits, data)
            if any(outcome.error is None for outcome in found.values()):
                _warn_once(job.fits[0], error)
        return [found[fit.key] for fit in job.fits]


@dataclass(frozen=True, eq=False)
class _Run:
    """The fits of one member: one, or the stages of its training."""

    fits: Sequence[Fit]
    member: Member
    classes: Array | None

    @property
    def stages(self) -> list[int]:
        return [_stage_of(fit) for fit in self.fits]

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of classes and of target columns; 0 for what there is none of."""
        classes = 0 if self.classes is None else len(self.classes)
        return classes, 0 if classes or self.member.target.ndim == 1 else self.member.target.shape[1]


class _Families:
    """Groups fits; what depends on an estimator or on a training set alone is computed once."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._known: dict[int, tuple[Any, tuple[bytes, TrainingConfig] | None]] = {}
        self._classes: dict[bytes, int] = {}
        self._paying: dict[Hashable, bool] = {}

    def place(self, fit: Fit) -> tuple[tuple[Hashable, ...], Hashable] | None:
        """Return the group and the member that a fit belongs to, or None if it is for other solvers."""
        inner = _network_of(fit.estimator)
        if inner is None or fit.model is not None or not _can_answer(inner, fit, self._data):
            return None
        if id(inner) not in self._known:
            self._known[id(inner)] = (inner, _family_of(inner))  # held, so that its id stays its own
        family = self._known[id(inner)][1]
        if family is None or family[0] in _refused or _stage_of(fit) > family[1].max_epochs:
            return None
        digest, config = family
        steps = len(batch_bounds(len(fit.train), config.batch_size))
        count = self._count(fit)
        if config.device.type == "cpu" and not self._pays(digest, config, count):
            return None
        return (digest, count, steps, str(config.device), config.device.type), (digest, fit.train_key, _seed_of(fit))

    def _pays(self, digest: bytes, config: TrainingConfig, classes: int) -> bool:
        """Whether a stack is faster on a CPU: large networks and large convolutions are not."""
        if (digest, classes) not in self._paying:
            shape = tuple(self._data.X.shape[1:])
            inputs = (config.batch_size or self._data.n) * math.prod(shape)
            try:
                module = config.build(shape, outputs_for(classes, 0), 0)
                weights = sum(value.numel() for value in module.parameters())
                convolves = any(isinstance(part, torch.nn.modules.conv._ConvNd) for part in module.modules())
                pays = weights <= CPU_WEIGHTS and (inputs <= CPU_INPUTS or not convolves)
            except Exception as error:
                _logger.debug("%s was not built, so its fits are not stacked: %r", config.module, error)
                pays = False  # training it one by one raises the error
            self._paying[digest, classes] = pays
        return self._paying[digest, classes]

    def _count(self, fit: Fit) -> int:
        """Return the number of classes among the training rows."""
        if self._data.task != "classification":
            return 0
        if fit.train_key not in self._classes:
            labels = self._data.codes if fit.y is None else fit.y
            assert labels is not None
            self._classes[fit.train_key] = len(np.unique(labels[fit.train.index]))
        return self._classes[fit.train_key]


def _network_of(estimator: Any) -> Any:
    inner = estimator.estimator if type(estimator) is AtStage else estimator
    return inner if type(inner) in (TorchClassifier, TorchRegressor) else None


def _stage_of(fit: Fit) -> int:
    return int(fit.estimator.stage if type(fit.estimator) is AtStage else fit.estimator.max_epochs)


def _seed_of(fit: Fit) -> Any:
    path = "estimator__random_state" if type(fit.estimator) is AtStage else "random_state"
    return dict(fit.seeds).get(path, _network_of(fit.estimator).random_state)


def _can_answer(inner: Any, fit: Fit, data: Data) -> bool:
    labels = type(inner) is TorchClassifier
    offered: tuple[Response, ...] = ("predict", "predict_proba") if labels else ("predict",)
    kind = "classification" if labels else "regression"
    return data.task == kind and all(ask.response in offered for ask in fit.asks)


def _family_of(inner: Any) -> tuple[bytes, TrainingConfig] | None:
    try:
        config = TrainingConfig.of(inner)
        check_stackable(config)
        return Fingerprint(clone(inner).set_params(random_state=None)).digest, config
    except Exception as error:
        _logger.debug("Fits of %s are not stacked: %r", type(inner).__name__, error)
        return None  # training it one by one raises the error


def _readable(X: Any) -> bool:
    if isinstance(X, np.ndarray):
        return X.dtype.kind in "biuf" and X.ndim >= 2
    return hasattr(X, "iloc") and all(getattr(kind, "kind", "O") in "biuf" for kind in X.dtypes)


def _runs_of(fits: Sequence[Fit], data: Data) -> list[_Run]:
    members: dict[Hashable, list[Fit]] = defaultdict(list)
    for fit in fits:
        members[fit.train_key, _seed_of(fit)].append(fit)
    return [_run_of(each, data) for each in members.values()]


def _run_of(fits: Sequence[Fit], data: Data) -> _Run:
    first = fits[0]
    index = first.train.index
    y = (data.y if first.y is None else first.y)[index]
    classes = None
    if data.task == "classification":
        classes, y = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise CannotStack("a training set has rows of one class only")
    metadata = fit_metadata(first.estimator, data, index)
    if not set(metadata) <= {"sample_weight"}:
        raise CannotStack(f"fit takes {', '.join(sorted(metadata))}")
    queried = [ask.rows.index for fit in fits for ask in fit.asks]
    union = np.unique(np.concatenate(queried)) if queried else np.zeros(0, dtype=np.intp)
    return _Run(fits, Member(seed_of(_seed_of(first)), index, y, metadata.get("sample_weight"), union), classes)


def _together(runs: Sequence[_Run], data: Data) -> dict[str, Outcome]:
    inner = _network_of(runs[0].fits[0].estimator)
    config = TrainingConfig.of(inner)
    X = on_device(np.ascontiguousarray(check_array(data.X, dtype=config.numpy_dtype, allow_nd=True)), config.device)
    group = _Group(inner, config, X, data)
    found: dict[str, Outcome] = {}
    for part in group.parts(runs):
        found |= _halved(group, part)
    return found


def _halved(group: _Group, runs: Sequence[_Run]) -> dict[str, Outcome]:
    """Train a group, or its halves where it does not fit into memory; a single member without a stack."""
    try:
        return group.train(runs)
    except (torch.cuda.OutOfMemoryError, MemoryError):
        pass  # handled outside, so that the traceback frees the tensors on the device
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if len(runs) == 1:
        return _one_by_one(runs[0].fits, group.data)
    middle = len(runs) // 2
    return _halved(group, runs[:middle]) | _halved(group, runs[middle:])


class _Group:
    """The common properties of all members."""

    def __init__(self, inner: Any, config: TrainingConfig, X: torch.Tensor, data: Data) -> None:
        self.inner, self.config, self.X, self.data = inner, config, X, data
        self._shape = tuple(X.shape[1:])

    def _build(self, run: _Run) -> Any:
        return self.config.build(self._shape, outputs_for(*run.sizes), run.member.seed)

    def parts(self, runs: Sequence[_Run]) -> Iterable[Sequence[_Run]]:
        """Return the members that can be in one stack: with batch statistics those of one size."""
        if not has_batch_statistics(self._build(runs[0])):
            return [runs]
        sizes: dict[int, list[_Run]] = defaultdict(list)
        for run in runs:
            sizes[len(run.member.rows)].append(run)
        return list(sizes.values())

    def train(self, runs: Sequence[_Run]) -> dict[str, Outcome]:
        """Train the members, and return their outcomes."""
        begun = time.perf_counter()
        modules = [self._build(run) for run in runs]
        classes, columns = runs[0].sizes
        head = head_of(modules[0], self.X[:2].cpu(), classes=classes, columns=columns, loss=self.inner.loss)
        members = [replace(run.member, target=targets_for(head, run.member.target, self.config)) for run in runs]
        stages = sorted({stage for run in runs for stage in run.stages})
        hold_weights = any(fit.keep_model for run in runs for fit in run.fits)
        stack = Stack(self.config, modules, head, self.X, members, stages=stages, hold_weights=hold_weights)
        recorders = [_MemberRecorder(run, head, self) for run in runs]
        for stage in stack.run():
            for place, recorder in enumerate(recorders):
                recorder.take(stage, place, stack)
        seconds = time.perf_counter() - begun
        unit = seconds / sum(stage for run in runs for stage in run.stages)
        return {outcome.key: outcome for recorder in recorders for outcome in recorder.outcomes(unit)}


@dataclass(eq=False)
class _MemberRecorder:
    """Records the predictions of one member, stage by stage, and its best models."""

    run: _Run
    head: Head
    group: _Group
    _found: dict[str, Outcome] = field(default_factory=dict)
    _losses: list[float] = field(default_factory=list)
    _best: dict[Hashable, tuple[float, Fit, dict[str, torch.Tensor], int]] = field(default_factory=dict)
    _diverged: int | None = None

    def __post_init__(self) -> None:
        self._by_stage: dict[int, list[Fit]] = defaultdict(list)
        for fit in self.run.fits:
            self._by_stage[_stage_of(fit)].append(fit)
        self._rows: dict[int, tuple[Any, Any, Any]] = {}
        classes = self.run.classes
        self._classes = classes.astype(str) if classes is not None and classes.dtype.kind == "O" else classes

    def take(self, stage: Stage, place: int, stack: Stack) -> None:
        """Answer the fits of a stage."""
        loss = float(stage.losses[place])
        if self._diverged is None and not np.isfinite(loss):
            self._diverged = stage.epoch
        self._losses.append(loss)
        for fit in self._by_stage.get(stage.epoch, ()):
            if self._diverged is not None:
                failure = Failure.of(not_finite(self._diverged))
                self._found[fit.key] = Outcome(fit.key, error=failure, solver=StackedNetworksSolver.name)
                continue
            outcome = self._answered(fit, None if stage.answers is None else stage.answers[place])
            self._found[fit.key] = outcome
            if outcome.error is None and fit.keep_model:
                self._offer(fit, outcome, stack, place)

    def _answered(self, fit: Fit, values: Array | None) -> Outcome:
        answers = []
        try:
            for ask in fit.asks:
                if len(ask.rows) == 0:
                    continue
                assert values is not None
                where, tokens = self._where(ask.rows)
                answers.append(self._answer(ask.response, tokens, values[where]))
        except WrongAnswer as error:
            return Outcome(fit.key, error=Failure("wrong answer", str(error)), solver=StackedNetworksSolver.name)
        return Outcome(fit.key, tuple(answers), 0.0, StackedNetworksSolver.name, self._classes)

    def _where(self, rows: Any) -> tuple[Any, Any]:
        if id(rows) not in self._rows:
            index = rows.index
            where = np.searchsorted(self.run.member.queried, index)
            self._rows[id(rows)] = (rows, where, self.group.data.tokens[index])  # held, so that its id stays its own
        return self._rows[id(rows)][1:]

    def _answer(self, response: Response, tokens: Any, values: Array) -> Predictions:
        values = checked(values, len(tokens), response)
        if response == "predict" and self._classes is not None:
            codes = values.argmax(axis=1).astype(np.min_scalar_type(len(self._classes) - 1))
            return Predictions(response, tokens, codes, coded=True)
        return Predictions(response, tokens, values)

    def _offer(self, fit: Fit, outcome: Outcome, stack: Stack, place: int) -> None:
        """Copy a model that is the best of its group so far; one without predictions in any case."""
        keep = fit.keep if fit.asks else None
        group: Hashable = fit.key if keep is None else keep.group
        loss = 0.0 if keep is None or keep.metric is None else float(keep.metric(outcome))
        loss = math.inf if math.isnan(loss) else loss
        held = self._best.get(group)
        if held is None or loss < held[0]:
            self._best.pop(group, None)  # free the old copy before the new one is made
            self._best[group] = (loss, fit, stack.weights(place), len(self._losses))

    def outcomes(self, unit: float) -> list[Outcome]:
        """Return an outcome for each fit; ``unit`` is the time of an epoch."""
        models = {fit.key: self._model(fit, weights, epochs) for _, fit, weights, epochs in self._best.values()}
        return [
            replace(self._found[fit.key], fit_seconds=unit * _stage_of(fit), model=models.get(fit.key))
            for fit in self.run.fits
        ]

    def _model(self, fit: Fit, weights: dict[str, torch.Tensor], epochs: int) -> Any:
        """Return a model as plain fitting returns it."""
        whole = seeded(fit.estimator, fit.seeds)
        model = whole.estimator if type(whole) is AtStage else whole
        module = self.group._build(self.run).to(self.group.config.device)
        names = dict(module.named_parameters()) | dict(module.named_buffers())
        with torch.no_grad():
            for name, value in weights.items():
                names[name].copy_(value)
        validate_data(model, self.group.data.take(fit.train.index[:1]), allow_nd=True, skip_check_array=True)
        if self.run.classes is not None:
            model.classes_ = self.run.classes
        model.adopt(module, self.head, self._losses[:epochs], self.group._shape)
        return whole.hold(model) if type(whole) is AtStage else model


def _one_by_one(fits: Sequence[Fit], data: Data) -> dict[str, Outcome]:
    """Train each member by itself; stages of a run are still one run."""
    found: dict[str, Outcome] = {}
    for job in StagesSolver().claim(fits, data):
        found |= {outcome.key: outcome for outcome in job.run(data)}
    return found | {fit.key: fit_plain(fit, data) for fit in fits if fit.key not in found}


def _warn_once(fit: Fit, error: BaseException) -> None:
    family = _family_of(_network_of(fit.estimator))
    if family is None or family[0] in _refused:
        return
    if len(_refused) >= _MOST_REFUSED:
        _refused.clear()
    _refused.add(family[0])
    name = getattr(family[1].module, "__qualname__", repr(family[1].module))
    reason = str(error).strip().partition("\n")[0]
    warnings.warn(
        f"Networks made by {name} are trained one by one, not together: {type(error).__name__}: {reason}", stacklevel=2
    )
