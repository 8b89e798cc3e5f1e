"""Stack: networks of one architecture and config, trained as one computation."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.func import functional_call, vmap

from truefit._core.typing import Array
from truefit.torch.config import OPTIMIZERS, TrainingConfig, on_device
from truefit.torch.head import Head
from truefit.torch.training import batch_bounds, epoch_seed, orders, own_random_numbers, seed_all, weighted_mean

#: Bytes of inputs of all members together that are predicted at once.
_ANSWER_BYTES = {"cpu": 32 << 20, "cuda": 1 << 30}
#: Epochs whose orders are made at once, and the most numbers in them: on a GPU many small calls cost more than one.
_EPOCHS_AHEAD, _ORDERS_AHEAD = 16, 1 << 23
#: Optimizers that update each weight by itself, so that a stack of weights is updated as its members would be.
ELEMENTWISE = tuple(OPTIMIZERS.values())


class CannotStack(Exception):
    """The reason why networks cannot be trained as one."""


@dataclass(frozen=True, eq=False)
class Member:
    """One network to be trained: its seed, rows and targets, and the rows to predict."""

    seed: int
    rows: npt.NDArray[np.intp]
    target: Array
    weight: Array | None
    queried: npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Stage:
    """Predictions of the members after an epoch, and their training losses in it."""

    epoch: int
    answers: Array | None
    losses: Array


def check_stackable(config: TrainingConfig) -> None:
    """Refuse a config that treats a stack differently from its members."""
    if config.optimizer not in ELEMENTWISE:
        raise CannotStack(f"{config.optimizer.__name__} is not known to treat each weight by itself")
    odd = sorted(set(config.optimizer_params) & {"dampening", "differentiable", "foreach", "fused", "capturable"})
    if odd:
        raise CannotStack(f"the optimizer is set up with {', '.join(odd)}")


def has_batch_statistics(module: Any) -> bool:
    """Whether the training output of a row depends on the other rows of its batch."""
    found = [part for part in module.modules() if isinstance(part, torch.nn.modules.batchnorm._BatchNorm)]
    if not all(part.track_running_stats for part in found):
        raise CannotStack("batch normalisation without running statistics predicts by the other rows of the batch")
    return bool(found)


class Stack:
    """Members with a leading axis of their own in every weight, all in one tensor.

    All must take the same number of steps in an epoch. Where their last batches differ in size, they are padded with
    rows of weight 0, which would change batch statistics: members with such layers must have equally many rows.

    ``modules`` are the members' initial networks, and ``X`` all rows, on the device. After each of the epochs in
    ``stages`` the members predict. With ``hold_weights`` the weights of a stage are available until the next one.
    """

    def __init__(
        self,
        config: TrainingConfig,
        modules: Sequence[Any],
        head: Head,
        X: torch.Tensor,
        members: Sequence[Member],
        *,
        stages: Sequence[int],
        hold_weights: bool = False,
    ) -> None:
        self.config, self.head, self.stages = config, head, sorted(stages)
        self._device, self._X, self._count = config.device, X, len(members)
        self._hold_weights = hold_weights
        self._lay_out_rows(members)
        self._lay_out_weights(modules)
        self._prepare(len(self.stages))

    # Laying out

    def _lay_out_rows(self, members: Sequence[Member]) -> None:
        device, bounds = self._device, [batch_bounds(len(member.rows), self.config.batch_size) for member in members]
        if len({len(each) for each in bounds}) > 1:
            raise ValueError("members of a stack must take equally many steps")
        self._steps = len(bounds[0])
        self._batch = bounds[0][0][1] if self._steps > 1 else max(len(member.rows) for member in members)
        lasts = [each[-1][1] - each[-1][0] for each in bounds]
        self._last = max(lasts)
        uneven = len(set(lasts)) > 1
        width = (self._steps - 1) * self._batch + self._last
        self._rows = on_device(_padded([member.rows for member in members], width), device)
        self._targets = on_device(_padded([member.target for member in members], width), device)
        weighted = members[0].weight is not None
        self._weights: torch.Tensor | None = None
        if weighted or uneven:
            kind = self.config.numpy_dtype
            ones = [np.ones(len(m.rows), kind) if m.weight is None else m.weight.astype(kind) for m in members]
            self._weights = on_device(_padded(ones, width, fill=0), device)
        self._weighted = weighted
        self._sizes = torch.tensor([len(member.rows) for member in members], device=device)
        self._seeds = torch.tensor([member.seed for member in members], device=device)
        self._drawn = members[0].seed
        self._lasts = torch.tensor(lasts, dtype=self.config.dtype, device=device)
        most = max(len(member.queried) for member in members)
        self._queried = on_device(_padded([member.queried for member in members], most), device) if most else None

    def _lay_out_weights(self, modules: Sequence[Any]) -> None:
        device = self._device
        states = [dict(module.named_parameters()) | dict(module.named_buffers()) for module in modules]
        trained = {name for name, value in modules[0].named_parameters() if value.requires_grad}
        self._parameters: dict[str, torch.Tensor] = {}
        self._buffers: dict[str, torch.Tensor] = {}
        for name, first in states[0].items():
            stacked = torch.empty((len(modules), *first.shape), dtype=first.dtype, device=device)
            for place, state in enumerate(states):
                stacked[place].copy_(state[name].detach())
            (self._parameters if name in trained else self._buffers)[name] = stacked
        for value in self._parameters.values():
            value.requires_grad_()
        self._module = modules[0].to(device)

    def _prepare(self, answered: int) -> None:
        device, config = self._device, self.config
        self._place = torch.zeros(1, dtype=torch.int64, device=device)
        self._losses = torch.zeros(self._count, dtype=config.dtype, device=device)
        self._answers: torch.Tensor | None = None
        self._batches = self._deal_out(self._rows.new_tensor(range(self._rows.shape[1])).expand_as(self._rows))
        self._step = GraphReplay(self._make_step(last=False))
        self._last_step = GraphReplay(self._make_step(last=True))
        self._answer = GraphReplay(self._make_answer())
        self._optimizer: Any = None
        if device.type == "cpu":
            self._optimizer = config.make_optimizer(list(self._parameters.values()))
            return
        self._follow_gradients()
        self._optimizer = config.make_optimizer(list(self._parameters.values()), **self._on_gpu())
        if config.schedule is None or isinstance(self._optimizer.param_groups[0]["lr"], torch.Tensor):
            self._record(answered)

    def _on_gpu(self) -> dict[str, Any]:
        """Return options of the optimizer with which its steps can be recorded: the learning rate is on the device."""
        config, single = self.config, self.config.dtype == torch.float32
        sgd = config.optimizer is OPTIMIZERS["sgd"]
        if sgd and not single:
            return {"foreach": True}  # with a learning rate that is fixed in what is recorded
        # The fused optimizers hold the learning rate in float32.
        fused = single and config.optimizer is not OPTIMIZERS["rmsprop"]
        rate = torch.tensor(config.lr, dtype=config.dtype, device=self._device)
        return {"lr": rate, "fused" if fused else "foreach": True} | ({} if sgd else {"capturable": True})

    def _follow_gradients(self) -> None:
        """Lay the weights out in memory as their gradients are, so that these need not be copied in each step."""
        buffers = {name: value.clone() for name, value in self._buffers.items()}
        self._last_step()
        for name, value in buffers.items():
            self._buffers[name].copy_(value)
        for name, value in self._parameters.items():
            if value.grad is not None and value.grad.stride() != value.stride():
                laid = torch.empty_strided(value.shape, value.grad.stride(), dtype=value.dtype, device=value.device)
                self._parameters[name] = laid.copy_(value.detach()).requires_grad_()
            value.grad = None

    def _record(self, answered: int) -> None:
        """Record the steps as CUDA graphs, and restore the state."""
        held = {name: value.detach().clone() for name, value in self._state().items()}
        todo = [self._step, self._last_step] if self._steps > 1 else [self._last_step]
        todo += [self._answer] if self._queried is not None and answered > 1 else []
        stream = torch.cuda.Stream(self._device)
        stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(stream):  # libraries select their algorithms in the first step
            self._place.zero_()
            for work in todo:
                work()
        torch.cuda.current_stream(self._device).wait_stream(stream)
        pool = torch.cuda.graph_pool_handle()
        self._place.zero_()
        for state in self._optimizer.state.values():
            if "step" in state:
                state["step"] = state["step"].to(self.config.dtype)  # in float32 powers of it would be too coarse
        for work in todo:
            work.record(pool)
        with torch.no_grad():
            for name, value in self._state().items():
                value.copy_(held[name])
        for state in self._optimizer.state.values():
            for value in state.values():
                if isinstance(value, torch.Tensor):
                    value.zero_()
        self._losses.zero_()

    def _state(self) -> dict[str, torch.Tensor]:
        return self._parameters | self._buffers

    # Training

    def _make_step(self, *, last: bool) -> Callable[[], None]:
        weighted = self._weights is not None and (last or self._weighted)
        counts = self._lasts if last else float(self._batch)

        def loss_of(weights: Any, buffers: Any, x: torch.Tensor, t: torch.Tensor, w: torch.Tensor | None) -> Any:
            losses = self.head.losses(functional_call(self._module, (weights, buffers), (x,)), t)
            return losses.mean() if w is None else weighted_mean(losses, w)

        together = vmap(loss_of, in_dims=(0, 0, 0, 0, 0 if weighted else None), randomness="different")

        def step() -> None:
            self._module.train()
            rows, t, *w = [part.last if last else part.at(self._place) for part in self._batches]
            losses = together(self._parameters, self._buffers, self._X[rows], t, w[0] if weighted else None)
            parameters = list(self._parameters.values())
            found = torch.autograd.grad(losses.sum(), parameters, allow_unused=True)
            for value, gradient in zip(parameters, found, strict=True):
                value.grad = gradient
            if self._optimizer is not None:
                for value in parameters:
                    if value.grad is not None and value.grad.stride() != value.stride():
                        value.grad = torch.empty_like(value).copy_(value.grad)
                self._optimizer.step()
            self._losses += losses.detach() * counts
            self._place += 1

        return step

    def _make_answer(self) -> Callable[[], None]:
        def answer_of(weights: Any, buffers: Any, x: torch.Tensor) -> torch.Tensor:
            return self.head.answer(functional_call(self._module, (weights, buffers), (x,)))

        together = vmap(answer_of, randomness="different")
        row_bytes = max(1, self._X[:1].numel() * self._X.element_size() * self._count)
        length = max(1, _ANSWER_BYTES[self._device.type] // row_bytes)

        def answer() -> None:
            assert self._queried is not None
            self._module.eval()
            with torch.no_grad():
                for start in range(0, self._queried.shape[1], length):
                    part = slice(start, min(start + length, self._queried.shape[1]))
                    found = together(self._parameters, self._buffers, self._X[self._queried[:, part]])
                    if self._answers is None:
                        shape = (self._count, self._queried.shape[1], *found.shape[2:])
                        self._answers = torch.empty(shape, dtype=found.dtype, device=self._device)
                    self._answers[:, part] = found

        return answer

    def _train_epoch(self, epoch: int) -> None:
        for group in self._optimizer.param_groups:
            if isinstance(group["lr"], torch.Tensor):
                group["lr"].fill_(self.config.lr_at(epoch))
            else:
                group["lr"] = self.config.lr_at(epoch)
        for held, new in zip(self._batches, self._deal_out(self._order(epoch)), strict=True):
            held.take(new)
        self._losses.zero_()
        self._place.zero_()
        seed_all(self._device, epoch_seed(self._drawn, epoch))
        for _ in range(self._steps - 1):
            self._step()
        self._last_step()

    def _order(self, epoch: int) -> torch.Tensor:
        """Return the order of an epoch; those of several are made at once."""
        width = self._rows.shape[1]
        ahead = min(_EPOCHS_AHEAD, max(1, _ORDERS_AHEAD // (self._count * width)))
        place = (epoch - 1) % ahead
        if place == 0:
            epochs = torch.arange(epoch, epoch + ahead, device=self._device)
            self._orders = orders(self._seeds, epochs, self._sizes, width)
        return self._orders[place]

    def _deal_out(self, order: torch.Tensor) -> list[_Batches]:
        """Deal rows, targets and weights out to batches, each member's in its own order."""
        places = order if self._targets.ndim == 2 else order[..., None].expand_as(self._targets)
        shuffled = [self._rows.gather(1, order), self._targets.gather(1, places)]
        if self._weights is not None:
            shuffled.append(self._weights.gather(1, order))
        return [_Batches.of(each, self._steps, self._batch) for each in shuffled]

    def run(self) -> Iterator[Stage]:
        """Train to the last stage, and yield each when its predictions have arrived; the next one is then running."""
        try:
            with own_random_numbers(self._device, self._drawn):
                yield from self._run()
        finally:
            # A graph that is freed while another is recorded would invalidate that one.
            for work in (self._step, self._last_step, self._answer):
                work.forget()

    def _run(self) -> Iterator[Stage]:
        # Two of each: while one is read, the next stage goes into the other.
        transfers = [_HostTransfer(), _HostTransfer()]
        copies = 2 if self._hold_weights else 0
        self._held_weights = [
            {k: torch.empty_like(v).detach() for k, v in self._state().items()} for _ in range(copies)
        ]
        stages, waiting = set(self.stages), False
        for epoch in range(1, self.stages[-1] + 1):
            self._train_epoch(epoch)
            answers = None
            if epoch in stages and self._queried is not None:
                self._answer()
                answers = self._answers
            transfers[epoch % 2].send(epoch, answers, self._losses / self._sizes)
            if waiting:
                yield self._received(transfers[1 - epoch % 2])
            if epoch in stages and self._hold_weights:
                torch._foreach_copy_(
                    list(self._held_weights[epoch % 2].values()), [v.detach() for v in self._state().values()]
                )
            waiting = True
        yield self._received(transfers[self.stages[-1] % 2])

    def _received(self, transfer: _HostTransfer) -> Stage:
        stage = transfer.receive()
        self._reached = stage.epoch
        return stage

    def weights(self, member: int) -> dict[str, torch.Tensor]:
        """Return a copy of a member's weights and buffers at the latest stage."""
        return {name: value[member].clone() for name, value in self._held_weights[self._reached % 2].items()}


@dataclass(frozen=True, eq=False)
class _Batches:
    """One column of all members, batch by batch: the full ones in one tensor with the batch first, and the last."""

    full: torch.Tensor
    last: torch.Tensor

    @classmethod
    def of(cls, values: torch.Tensor, steps: int, batch: int) -> _Batches:
        whole = (steps - 1) * batch
        full = values[:, :whole].reshape(len(values), steps - 1, batch, *values.shape[2:]).transpose(0, 1)
        return cls(full.contiguous(), values[:, whole:].contiguous())

    def at(self, place: torch.Tensor) -> torch.Tensor:
        """Return a batch by its number, which is on the device."""
        return self.full.index_select(0, place)[0]

    def take(self, other: _Batches) -> None:
        """Copy other values into these tensors."""
        self.full.copy_(other.full)
        self.last.copy_(other.last)


class _HostTransfer:
    """Copies the numbers of a stage to the host, while the device continues."""

    def __init__(self) -> None:
        self._epoch = 0
        self._sent: list[torch.Tensor] = []
        self._there: dict[tuple[int, ...], torch.Tensor] = {}
        self._event: Any = None

    def send(self, epoch: int, answers: torch.Tensor | None, losses: torch.Tensor) -> None:
        """Start the copy."""
        self._epoch = epoch
        self._sent = [self._copy_to_host(values) for values in (losses, answers) if values is not None]
        if losses.device.type == "cuda":
            self._event = self._event or torch.cuda.Event()
            self._event.record()

    def _copy_to_host(self, values: torch.Tensor) -> torch.Tensor:
        if values.device.type == "cpu":
            return values.clone()
        shape = tuple(values.shape)
        if shape not in self._there:  # page-locked memory is slow to get
            self._there[shape] = torch.empty(shape, dtype=values.dtype, pin_memory=True)
        return self._there[shape].copy_(values, non_blocking=True)

    def receive(self) -> Stage:
        """Wait for the copy, and return it."""
        if self._event is not None:
            self._event.synchronize()
        losses, *answers = (values.numpy().copy() if self._event else values.numpy() for values in self._sent)
        return Stage(self._epoch, answers[0] if answers else None, losses)


class GraphReplay:
    """A function that is called many times, recorded as a CUDA graph or not."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work: Any = work
        self._graph: Any = None

    def record(self, pool: Any) -> None:
        """Record it, without running it."""
        graph = torch.cuda.CUDAGraph()
        collecting = gc.isenabled()
        gc.disable()
        try:
            with torch.cuda.graph(graph, pool=pool):
                self._work()
        finally:
            if collecting:
                gc.enable()
        self._graph = graph

    def forget(self) -> None:
        """Free the graph and the function."""
        self._graph = self._work = None

    def __call__(self) -> None:
        """Call it once."""
        if self._graph is None:
            self._work()
        else:
            self._graph.replay()


def _padded(columns: Sequence[Array], width: int, *, fill: Any = None) -> Array:
    """Return columns as one table; what is missing repeats the first value of the column, or is ``fill``."""
    first = columns[0]
    table = np.empty((len(columns), width, *first.shape[1:]), dtype=first.dtype)
    for line, column in zip(table, columns, strict=True):
        line[: len(column)] = column
        line[len(column) :] = (column[0] if len(column) else 0) if fill is None else fill
    return table
