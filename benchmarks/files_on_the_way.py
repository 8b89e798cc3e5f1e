"""Count the files of truefit that a call passes. Run ``python -m benchmarks.files_on_the_way``.

Each call is made twice, so that imports are done, and counted the second time. There are two ways to count:

- *entered*: files in which any function ran;
- *on the stack*: files with a function on the call stack where the call leaves truefit: a table is read, an
  estimator is fitted or predicts, the store runs a statement, a figure is drawn, a page is rendered.

The calls are ``assess`` (until the last write to the store), a study of all default candidates from a CSV file to its
page, and the way of one fit: the same for one candidate and a baseline, with nothing but the search, its nested
estimate, the checks and the page. Templates of the page count as files.

Version 0.2.0 had 134 files entered on the way of one fit, 201 in a study of all, counted in the same way.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

import truefit
from truefit import Engine, assess

_ROOT = str(Path(truefit.__file__).parent)
#: Names of the functions outside of truefit where a call leaves it, by the package they are in.
_OUTSIDE = {
    "sklearn": ("fit", "predict", "predict_proba", "decision_function"),
    "pandas": ("read_csv", "read_parquet"),
    "jinja2": ("render",),
    "matplotlib": ("savefig", "print_figure"),
}
#: What a study runs beside the search and its nested estimate.
_OPTIONAL = (
    *("shuffled", "cross_test", "ensemble", "training_error", "perturbation", "bias_variance", "learning_curve"),
    "refinement",
)


class Passed:
    """Collects the files that a call passes."""

    def __init__(self) -> None:
        self.on_stack: set[str] = set()
        self.entered: set[str] = set()
        self.until_stored: set[str] = set()

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """Look at one event of ``sys.setprofile``."""
        path, name = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and path.startswith(_ROOT):
            self.entered.add(os.path.relpath(path, _ROOT))
        elif event == "call" and any(name in names and f"/{package}/" in path for package, names in _OUTSIDE.items()):
            self._add_stack(frame)
        elif event == "c_call" and "sqlite3" in type(getattr(argument, "__self__", None)).__module__:
            self._add_stack(frame)
            self.until_stored = set(self.entered)

    def _add_stack(self, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code.co_filename.startswith(_ROOT):
                self.on_stack.add(os.path.relpath(frame.f_code.co_filename, _ROOT))
            frame = frame.f_back

    @classmethod
    def second(cls, call: Callable[[int], Any]) -> Passed:
        """Make a call twice, the second time under the profiler."""
        passed = cls()
        call(1)
        sys.setprofile(passed.profile)
        try:
            call(2)
        finally:
            sys.setprofile(None)
        return passed


def _report(what: str, files: set[str]) -> None:
    print(f"{what}: {len(files)} files")
    print(*(f"  {name}" for name in sorted(files)), sep="\n", flush=True)


@contextlib.contextmanager
def _own_output() -> Iterator[None]:
    """Give standard output back at the end: the command line reserves it for the rest of the process."""
    own, stream = os.dup(1), sys.stdout
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    try:
        yield
    finally:
        os.dup2(own, 1)
        os.close(own)
        sys.stdout = stream


def _study(folder: Path, number: int, models: Sequence[str] = ()) -> None:
    from truefit.__main__ import main

    name = "_".join([*models, str(number)])
    sys.argv = ["truefit", "study", str(folder / "table.csv"), "--target", "target", "--no-tune", "--workers", "1"]
    sys.argv += ["--store", str(folder / f"{name}.db"), "--out", str(folder / f"{name}.html"), "--quiet"]
    sys.argv += [f"--model={model}" for model in models]
    sys.stdout.flush()
    with _own_output():
        try:
            main()
        except SystemExit as ended:
            if ended.code:
                raise


@contextlib.contextmanager
def _without_optional_parts() -> Iterator[None]:
    from truefit._study import plan

    def nothing(self: object) -> Iterator[Any]:
        yield from ()

    with contextlib.ExitStack() as stack:
        for part in _OPTIONAL:
            stack.enter_context(patch.object(plan._SelectionRun, f"run_{part}", nothing))
        yield


def main() -> None:
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression

    X, y = load_breast_cancer(return_X_y=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        load_breast_cancer(as_frame=True).frame.to_csv(folder / "table.csv", index=False)
        engines = {number: Engine(str(folder / f"assess{number}.db"), progress=False) for number in (1, 2)}
        assessed = Passed.second(
            lambda number: assess(LogisticRegression(max_iter=10_000), X, y, engine=engines[number])
        )
        for engine in engines.values():
            engine.close()
        _report("assess, from the call to the store: a function runs in", assessed.until_stored)
        with _without_optional_parts():
            one = Passed.second(lambda number: _study(folder, number, ("linear", "dummy")))
        _report("one candidate and a baseline, from a CSV file to the page: on the call stack are", one.on_stack)
        _report("one candidate and a baseline, from a CSV file to the page: a function runs in", one.entered)
        studied = Passed.second(lambda number: _study(folder, number))
    _report("all candidates and methods, from a CSV file to the page: on the call stack are", studied.on_stack)
    _report("all candidates and methods, from a CSV file to the page: a function runs in", studied.entered)


if __name__ == "__main__":
    main()
