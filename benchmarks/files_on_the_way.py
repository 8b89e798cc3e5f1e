"""Count the files of truefit that a call passes. Run ``python -m benchmarks.files_on_the_way``.

Each call is made twice, so that imports are done, and counted the second time, in two ways:

- *entered*: files in which any function ran, for ``assess`` until the last write to the store;
- *on the stack*: files with a function on the call stack where the call leaves truefit: a table is read, an
  estimator is fitted or predicts, the store runs a statement, a figure is drawn, a page is rendered.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

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
    print(*(f"  {name}" for name in sorted(files)), sep="\n")


def _study(folder: Path, number: int) -> None:
    from truefit.__main__ import main

    sys.argv = ["truefit", "study", str(folder / "table.csv"), "--target", "target", "--no-tune", "--workers"]
    sys.argv += ["1"]
    sys.argv += ["--store", str(folder / f"study{number}.db"), "--out", str(folder / f"page{number}.html"), "--quiet"]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise


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
        studied = Passed.second(lambda number: _study(folder, number))
        for engine in engines.values():
            engine.close()
    _report("assess, from the call to the store, entered", assessed.until_stored)
    _report("study, from a CSV file to the page, on the stack", studied.on_stack)
    _report("study, from a CSV file to the page, entered by any of its methods", studied.entered)


if __name__ == "__main__":
    main()
