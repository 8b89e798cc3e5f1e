"""Count the files of truefit that a call passes: those with a function on the call stack at a milestone.

The milestones are where a call leaves truefit: a table is read, an estimator is fitted or predicts, the store runs a
statement, a figure is drawn, a page is rendered. Run ``python -m benchmarks.files_on_the_way``.
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

_ROOT = str(Path(truefit.__file__).parent)
#: Names of the functions outside of truefit that are milestones, by the package they are in.
_MILESTONES = {
    "sklearn": ("fit", "predict", "predict_proba", "decision_function"),
    "pandas": ("read_csv", "read_parquet"),
    "jinja2": ("render",),
    "matplotlib": ("savefig", "print_figure"),
}


class Passed:
    """Collects the files on the call stack at each milestone, and all files in which a function ran."""

    def __init__(self) -> None:
        self.on_the_way: set[str] = set()
        self.entered: set[str] = set()

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """Look at one event of ``sys.setprofile``."""
        if event == "call":
            path = frame.f_code.co_filename
            if path.startswith(_ROOT):
                self.entered.add(os.path.relpath(path, _ROOT))
            elif any(frame.f_code.co_name in names and f"/{name}/" in path for name, names in _MILESTONES.items()):
                self._mark(frame)
        elif event == "c_call" and "sqlite3" in type(getattr(argument, "__self__", None)).__module__:
            self._mark(frame)

    def _mark(self, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code.co_filename.startswith(_ROOT):
                self.on_the_way.add(os.path.relpath(frame.f_code.co_filename, _ROOT))
            frame = frame.f_back

    def run(self, call: Callable[[], Any]) -> None:
        """Make a call under the profiler."""
        sys.setprofile(self.profile)
        try:
            call()
        finally:
            sys.setprofile(None)


def _report(what: str, passed: Passed) -> None:
    print(f"{what}: {len(passed.on_the_way)} files on the way, {len(passed.entered)} in which any function ran")
    for name in sorted(passed.on_the_way):
        print(f"  {name}")


def _study(table: Path, folder: Path) -> None:
    from truefit._cli.__main__ import main

    sys.argv = ["truefit", "study", str(table), "--target", "target", "--workers", "1"]
    sys.argv += ["--store", str(folder / "study.db"), "--out", str(folder / "page.html")]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise


def main() -> None:
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame = load_breast_cancer(as_frame=True).frame
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        frame.to_csv(folder / "table.csv", index=False)
        model, X, y = make_pipeline(StandardScaler(), LogisticRegression()), frame.drop(columns="target"), frame.target
        assessed, studied = Passed(), Passed()
        with truefit.Engine(str(folder / "assess.db")) as engine:
            assessed.run(lambda: truefit.assess(model, X, y, engine=engine))
        studied.run(lambda: _study(folder / "table.csv", folder))
    _report("assess, from the call to the store", assessed)
    _report("study, from a CSV file to the page", studied)


if __name__ == "__main__":
    main()
