"""Networks: all members of a cross-test at once, beside one after the other as one writes it by hand.

Run with ``python -m benchmarks.networks [--members 25] [--epochs 100] [--cases mlp-64 ...]`` where torch is installed;
meant for a GPU. Both train the same architecture with the same optimizer on the same device from one copy of X on it,
and look at their validation rows after each epoch.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from truefit import AgghooClassifier, Engine, cross_test
from truefit.torch import MLP, ConvNet, TorchClassifier
from truefit.torch.config import TrainingConfig
from truefit.torch.head import Head
from truefit.torch.stack import Member, Stack

ROWS = 3500
TRAIN, VALIDATION = 2240, 560


@dataclass(frozen=True)
class Case:
    """An architecture, and how it is trained."""

    name: str
    shape: tuple[int, ...]
    module: Any
    params: dict[str, Any]
    batch: int


CASES = [
    Case("mlp-64", (784,), MLP, {"hidden": (256,)}, 64),
    Case("mlp-256", (784,), MLP, {"hidden": (256,)}, 256),
    Case("cnn-28", (3, 28, 28), ConvNet, {}, 64),
    Case("cnn-64", (3, 64, 64), ConvNet, {}, 64),
]


def table(case: Case) -> tuple[Any, Any, list[tuple[Any, Any]]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, *case.shape)).astype(np.float32)
    y = (X.reshape(ROWS, -1)[:, :100].mean(axis=1) + 0.05 * rng.normal(size=ROWS) > 0).astype(np.int64)
    splits = []
    for _ in range(100):
        order = rng.permutation(ROWS)
        splits.append((np.sort(order[:TRAIN]), np.sort(order[TRAIN : TRAIN + VALIDATION])))
    return X, y, splits


def by_hand(case: Case, X: Any, y: Any, split: tuple[Any, Any], epochs: int, seed: int) -> Any:
    """Train one network as one writes it by hand, its table already on the device; return its validation losses."""
    device = X.device
    torch.manual_seed(seed)
    shape = {"in_features": 784} if case.module is MLP else {"in_shape": case.shape}
    module = case.module(**shape, out_features=1, **case.params).to(device)
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-3)
    train, held = (torch.as_tensor(rows, device=device) for rows in split)
    found = []
    for _ in range(epochs):
        module.train()
        order = train[torch.randperm(len(train), device=device)]
        for start in range(0, len(order), case.batch):
            rows = order[start : start + case.batch]
            loss = functional.binary_cross_entropy_with_logits(module(X[rows])[:, 0], y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        module.eval()
        with torch.no_grad():
            output = module(X[held])[:, 0]
            found.append(functional.binary_cross_entropy_with_logits(output, y[held]).item())
    return found


def stacked(case: Case, X: Any, y: Any, splits: Any, epochs: int, device: Any) -> Any:
    """Train all networks as one, from the building of the modules to the validation answers on the host."""
    estimator = TorchClassifier(
        case.module, module_params=case.params, batch_size=case.batch, max_epochs=epochs, device=device
    )
    recipe, head = TrainingConfig.of(estimator), Head("binary", 0)
    members = [Member(i, train, y[train].astype(np.float32), None, held) for i, (train, held) in enumerate(splits)]
    modules = [recipe.build(case.shape, 1, i) for i in range(len(splits))]
    stack = Stack(recipe, modules, head, X, members, stages=range(1, epochs + 1))
    return [stage.answers for stage in stack.run()]


def whole(case: Case, X: Any, y: Any, epochs: int) -> Any:
    """Cross-test Agghoo on 5 folds with 5 inner splits each: 25 networks, each epoch a candidate."""
    network = TorchClassifier(case.module, module_params=case.params, batch_size=case.batch, max_epochs=epochs)
    return cross_test(AgghooClassifier(network), X, y, cv=5, inner_cv=5, baseline=False, engine=Engine())


def seconds_of(work: Any, device: Any) -> float:
    """Seconds of one call, all work on the device included."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def ceilings(device: Any) -> tuple[float, float]:
    """Measure bytes per second of a copy and operations per second of a product of float32."""
    a, b = torch.empty(2**28, device=device).normal_(), torch.empty(2**28, device=device)
    m, n = torch.randn(8192, 8192, device=device), torch.randn(8192, 8192, device=device)
    for _ in range(3):
        b.copy_(a)
        m @ n
    copies = sorted(seconds_of(lambda: b.copy_(a), device) for _ in range(20))[10]
    products = sorted(seconds_of(lambda: m @ n, device) for _ in range(10))[5]
    return 2 * a.numel() * 4 / copies, 2 * 8192**3 / products


def least(case: Case, members: int, epochs: int) -> tuple[float, float]:
    """Count the operations that the training must do, and the bytes it must move through device memory.

    Operations: products of forward and backward, no gradient for the input. Bytes: each step reads weights and both
    moments and writes them, writes and reads the gradient, and reads its rows once.
    """
    shape = {"in_features": 784} if case.module is MLP else {"in_shape": case.shape}
    module = case.module(**shape, out_features=1, **case.params)
    forward, backward, first = 0, 0, True

    def count(part: Any, inputs: Any, output: Any) -> None:
        nonlocal forward, backward, first
        work = 2 * part.weight[0].numel() * output.numel()
        forward += work
        backward += work if first else 2 * work
        first = False

    for part in module.modules():
        if isinstance(part, torch.nn.Linear | torch.nn.Conv2d):
            part.register_forward_hook(count)
    module(torch.zeros(1, *case.shape))
    sizes = sum(p.numel() for p in module.parameters())
    steps = -(-TRAIN // case.batch)
    row = int(np.prod(case.shape)) * 4
    operations = members * epochs * (TRAIN * (forward + backward) + VALIDATION * forward)
    bytes_moved = members * epochs * (steps * sizes * 4 * 8 + (TRAIN + VALIDATION) * row)
    return float(operations), float(bytes_moved)


def measured(case: Case, given: argparse.Namespace, speed: float, rate: float) -> dict[str, Any]:
    """Time a case both ways."""
    device = torch.device(given.device)
    X, y, splits = table(case)
    splits = splits[: given.members]
    x, t = torch.as_tensor(X, device=device), torch.as_tensor(y, dtype=torch.float32, device=device)
    by_hand(case, x, t, splits[0], 2, 0)
    stacked(case, x, y, splits, 2, device)
    alone = min(given.alone, given.members)
    times = [seconds_of(lambda i=i: by_hand(case, x, t, splits[i], given.epochs, i), device) for i in range(alone)]
    together = [
        seconds_of(lambda: stacked(case, x, y, splits, given.epochs, device), device) for _ in range(given.repeats)
    ]
    operations, moved = least(case, given.members, given.epochs)
    total, middle = float(np.sum(times)) * given.members / alone, float(np.median(together))
    line = {
        "case": case.name, "one_by_one": total, "trained_alone": alone, "stacked": middle, "stacked_all": together,
        "ratio": total / middle, "one_member": float(np.median(times)), "operations": operations, "bytes": moved,
        "floor": max(operations / rate, moved / speed),
    }  # fmt: skip
    print(
        f"{case.name:8} one by one {total:7.1f} s ({alone} of {given.members} trained)  together {middle:6.2f} s "
        f"({min(together):.2f} to {max(together):.2f})  ratio {line['ratio']:6.1f}  one member "
        f"{line['one_member']:5.2f} s  floor {line['floor']:5.2f} s",
        flush=True,
    )
    if given.whole:
        line["whole"] = min(seconds_of(lambda: whole(case, X, y, given.epochs), device) for _ in range(2))
        print(f"{case.name:8} cross_test of 5 × 5 splits, from call to result: {line['whole']:.2f} s", flush=True)
    return line


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--members", type=int, default=25)
    parser.add_argument("--alone", type=int, default=25, help="members that are really trained one by one")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--cases", nargs="*", default=[case.name for case in CASES])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--repeats", type=int, default=3, help="how often the stack is timed; the median counts")
    parser.add_argument("--precision", default="highest", help="of matrix products in float32: highest, or high (TF32)")
    parser.add_argument("--whole", action="store_true", help="time cross_test too, the engine included")
    parser.add_argument("--out")
    given = parser.parse_args()
    torch.set_float32_matmul_precision(given.precision)
    gpu = given.device.startswith("cuda")
    where = torch.cuda.get_device_name() if gpu else "CPU"
    speed, rate = ceilings(torch.device(given.device)) if gpu else (float("nan"), float("nan"))
    peaks = f"copy {speed / 1e12:.2f} TB/s, float32 product {rate / 1e12:.1f} TFLOP/s"
    print(f"{where}, torch {torch.__version__}, precision {given.precision}: {peaks}")
    lines = [measured(case, given, speed, rate) for case in CASES if case.name in given.cases]
    if given.out:
        found = {"device": where, "torch": torch.__version__, "bytes_s": speed, "flop_s": rate, "cases": lines}
        with open(given.out, "w") as file:
            json.dump(found, file)


if __name__ == "__main__":
    main()
