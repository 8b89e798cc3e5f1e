"""The fuzzer: seeded tables, files and options through truefit's functions and its command.

A case is drawn from its seed alone. It passes where it returns a result that can be printed, or where it is refused by
an exception of truefit's own whose text is short and holds no traceback; through the command, where the exit code is
0, 2, or 1 with a sentence. ``python -m tests.faults.fuzz --seed 17`` runs one case and says what it is;
``--seeds 0:3000`` runs many and counts.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import inspect
import io
import json
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.faults.fuzz_files import draw_file
from tests.faults.fuzz_tables import Drawn, Rng, draw_table, in_container

import truefit
from truefit._core.errors import TruefitError
from truefit._core.validation import checked_table

#: Seconds that a case may take before it counts as hanging, without waits for a processor.
LIMIT = 60
#: Characters that an error may have: a few sentences.
LONGEST = 1500
#: Share of the cases that go through the command.
COMMANDS = 0.3

Way = Literal["function", "command"]


@dataclass(frozen=True)
class Verdict:
    """What became of a case."""

    seed: int
    way: Way
    words: str
    outcome: str
    seconds: float
    #: What is wrong, with a traceback where there is one; None where nothing is.
    fault: str | None = None


class Hang(BaseException):
    """The case ran past its limit. No Exception: nothing in between may take it for an error of a fit."""


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "dummy": DummyClassifier,
    "logistic": lambda: LogisticRegression(max_iter=50),
    "naive Bayes": GaussianNB,
    "tree": lambda: DecisionTreeClassifier(max_depth=3),
    "knn": lambda: KNeighborsClassifier(3),
    "imputed": lambda: make_pipeline(SimpleImputer(), GaussianNB()),
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "dummy": DummyRegressor,
    "ridge": Ridge,
    "least squares": LinearRegression,
    "tree": lambda: DecisionTreeRegressor(max_depth=3),
    "knn": lambda: KNeighborsRegressor(3),
    "imputed": lambda: make_pipeline(SimpleImputer(), Ridge()),
}
#: Metrics by whether the target is a quantity; the last is of neither.
METRICS = {
    False: ["auc", "log_loss", "brier", "f1", "balanced_accuracy", "error", "recall_macro", "mse", "?"],
    True: ["rmse", "mae", "r2", "neg_mean_squared_error", "mse", "error", "?"],
}
#: Names of default candidates that take little time.
NAMED = ("dummy", "linear", "naive_bayes", "knn", "tree")


def draw_case(seed: int, folder: Path) -> tuple[Way, list[str], Callable[[], str]]:
    """Draw a case: which way it goes, what it is in words, and what runs it and returns its outcome in a word."""
    rng = np.random.default_rng([seed, 17])
    if rng.random() < COMMANDS:
        words, arguments = draw_command(rng, folder)
        return "command", words, lambda: run_command(arguments)
    drawn = in_container(draw_table(rng), rng)
    name, call = draw_call(rng, drawn)
    return "function", [*drawn.words, name], call


def run_case(seed: int, *, limit: int = LIMIT) -> Verdict:
    """Run the case of a seed, and say whether it is as it should be."""
    start = _seconds()
    with tempfile.TemporaryDirectory() as folder:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # else a table would depend on whether warnings are errors
                way, words, call = draw_case(seed, Path(folder))
        except Exception as error:
            raise RuntimeError(f"The fuzzer itself fails at seed {seed}") from error
        outcome, fault = "fault", None
        with _limited(limit), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                outcome = call()
            except Hang:
                fault = f"no end after {limit} seconds"
            except TruefitError as error:
                outcome = type(error).__name__
                fault = _bad_text(str(error))
            except Exception:
                fault = traceback.format_exc()
    fault = fault or _own_warning(caught)
    return Verdict(seed, way, "; ".join(words), outcome, _seconds() - start, fault)


def _seconds() -> float:
    """Return the time without that spent waiting for a processor: a busy machine is no bug."""
    try:
        waited = int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except OSError:  # another system than Linux does not say
        waited = 0.0
    return time.perf_counter() - waited


@contextlib.contextmanager
def _limited(seconds: int) -> Iterator[None]:
    end = _seconds() + seconds

    def stop(*_: Any) -> None:
        left = end - _seconds()
        if left <= 0:
            raise Hang
        signal.alarm(max(1, round(left)))

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    # Where compiled code does not come back, no handler runs: the stack is shown, and the process ends.
    faulthandler.dump_traceback_later(10 * seconds, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _bad_text(text: str) -> str | None:
    """Say what is wrong with the text of an error, if anything is."""
    if "Traceback" in text:
        return f"a traceback in the text: {text}"
    if not text.strip():
        return "an error without a text"
    return f"an error of {len(text)} characters: {text}" if len(text) > LONGEST else None


def _own_warning(caught: list[warnings.WarningMessage]) -> str | None:
    """Say what truefit's own code did that it was warned of; estimators may warn, and truefit warns its users."""
    home = str(Path(truefit.__file__).parent)
    for each in caught:
        if each.filename.startswith(home) and not issubclass(each.category, UserWarning):
            return f"{each.filename}:{each.lineno}: {each.category.__name__}: {each.message}"
    return None


def draw_call(rng: Rng, drawn: Drawn) -> tuple[str, Callable[[], str]]:
    """Draw a function with its learners and options."""
    name = str(rng.choice(list(FUNCTIONS), p=[0.34, 0.12, 0.12, 0.14, 0.12, 0.11, 0.05]))
    suits = rng.random() < 0.95
    makers = REGRESSORS if drawn.is_quantity == suits else CLASSIFIERS
    own = [str(rng.choice(list(makers))) for _ in range(int(rng.integers(1, 3)))]
    suited = rng.random() < 0.55
    options: dict[str, Any] = {"random_state": 0}
    n = int(drawn.X.shape[0]) if hasattr(drawn.X, "shape") else len(drawn.X)
    if rng.random() < 0.1:
        options["sample_weight"] = rng.choice([0.0, 1.0, 2.0], n)
    if rng.random() < 0.1:
        options["groups"] = rng.integers(0, 4, n)
    options |= FUNCTIONS[name][1](rng)
    if rng.random() < 0.25 and "metric" in inspect.signature(FUNCTIONS[name][0]).parameters:
        options["metric"] = str(rng.choice(METRICS[drawn.is_quantity]))
    on_error = str(rng.choice(["raise", "record"]))
    shown = rng.random() < 0.05

    def call() -> str:
        models = {f"{each} {i}": makers[each]() for i, each in enumerate(own)}
        if suited:  # as the command has them: with what the columns need in front
            models = suited_models(drawn.X, drawn.y)
        with truefit.Engine(on_error=on_error, progress=False) as engine:
            result = FUNCTIONS[name][0](models, drawn.X, drawn.y, engine=engine, **options)
            _look_at(result, draw=shown)
        return "result"

    plain = {option: value for option, value in options.items() if option not in ("sample_weight", "groups")}
    learners = "suited learners" if suited else ", ".join(own)
    return f"{name} of {learners} with {plain}, on_error={on_error}", call


def suited_models(X: Any, y: Any) -> dict[str, Any]:
    """Return two of the learners that a command would take."""
    from truefit._methods.selection.default_candidates import default_candidates
    from truefit.sources.table import infer_task

    known = default_candidates(checked_table(X), infer_task(y).task)
    return {name: known[name] for name in ("dummy", "tree") if name in known}


def _look_at(result: Any, *, draw: bool) -> None:
    """Print a result in every way there is; JSON as the command writes it."""
    for each in result.values() if isinstance(result, dict) else [result]:
        repr(each)
        each.summary()
        json.dumps(each.to_dict())
        if draw:
            import matplotlib.pyplot as plt

            each.plot()
            plt.close("all")


def _agghoo(models: dict[str, Any], X: Any, y: Any, *, engine: Any, metric: str | None = None, **options: Any) -> Any:
    from sklearn.base import is_classifier

    weights = {name: options.pop(name) for name in ("sample_weight", "groups") if name in options}
    kind = truefit.AgghooClassifier if is_classifier(next(iter(models.values()))) else truefit.AgghooRegressor
    fitted = kind(list(models.items()), cv=2, random_state=0, engine=engine)
    return truefit.cross_test(fitted, X, y, metric=metric, **options, **weights)


def _study(models: dict[str, Any], X: Any, y: Any, *, metric: str | None = None, **options: Any) -> Any:
    return truefit.study(X, y, models, metric=metric, **options)


def _folds(rng: Rng) -> int:
    return int(rng.choice([2, 3, 3, 5, 0, 1, 61], p=[0.4, 0.25, 0.15, 0.15, 0.01, 0.01, 0.03]))


def _assess_options(rng: Rng) -> dict[str, Any]:
    design = str(rng.choice(["kfold", "holdout", "threeway", "nested", "loo", "bootstrap", ".632", ".632+"]))
    options = {"design": design if rng.random() < 0.5 else "kfold", "cv": _folds(rng)}
    if options["design"] in ("bootstrap", ".632", ".632+"):
        options["repeats"] = 4
    if rng.random() < 0.2:
        options["interval"] = str(rng.choice(["pooled", "bayle", "corrected_t", "triangle", "nested_cv"]))
    return options


def _perturb_options(rng: Rng) -> dict[str, Any]:
    kind = str(rng.choice(["auto", "auto", "label", "random", "boundary", "feature", "target"]))
    levels = [[0.1, 0.4], [0.0, 1.0], [], [float("nan")]][int(rng.choice(4, p=[0.85, 0.05, 0.05, 0.05]))]
    return {"levels": levels, "repeats": 2, "cv": [2, None][int(rng.integers(2))], "perturbation": kind}


def _curve_options(rng: Rng) -> dict[str, Any]:
    schedules: list[Any] = ["adaptive", "paper", [12, 20, 28], [], [4], [1000]]
    schedule = schedules[int(rng.choice(6, p=[0.5, 0.2, 0.2, 0.03, 0.04, 0.03]))]
    return {"schedule": schedule, "cv": _folds(rng)}


Function = tuple[Callable[..., Any], Callable[[Rng], dict[str, Any]]]
FUNCTIONS: dict[str, Function] = {
    "assess": (truefit.assess, _assess_options),
    "compare": (truefit.compare, lambda rng: {"cv": _folds(rng), "repeats": 1}),
    "perturb": (truefit.perturb, _perturb_options),
    "learning_curve": (truefit.learning_curve, _curve_options),
    "bias_variance": (truefit.bias_variance, lambda rng: {"rounds": int(rng.choice([2, 5, 0], p=[0.3, 0.65, 0.05]))}),
    "cross_test": (_agghoo, lambda rng: {"cv": _folds(rng)}),
    "study": (_study, lambda rng: {"budget": 2, "cv": _folds(rng)}),
}


def draw_command(rng: Rng, folder: Path) -> tuple[list[str], list[str]]:
    """Write a file and draw a command line about it: what it is in words, and its arguments."""
    path, words = draw_file(rng, folder)
    arguments = draw_arguments(rng, path, folder)
    return [*words, f"truefit {' '.join(arguments)}".replace(str(folder), ".")], arguments


def draw_arguments(rng: Rng, path: Path, folder: Path) -> list[str]:
    """Draw a command line about a file."""
    commands = ["assess", "compare", "curve", "perturb", "agghoo", "study"]
    command = str(rng.choice(commands, p=[0.4, 0.15, 0.2, 0.1, 0.1, 0.05]))
    words = [command, str(path)]
    if rng.random() < 0.95:
        words += ["--target", str(rng.choice(["target", "c0", "tarGet"], p=[0.93, 0.04, 0.03]))]
    for name in rng.choice(NAMED, 2 if command in ("compare", "agghoo") else 1, replace=False):
        words += ["--model", str(name)]
    if command == "perturb":
        words += ["--levels", "0.1,0.4", "--repeats", "2", "--cv", "2"]
    elif rng.random() < 0.7:
        words += ["--cv", str(_folds(rng))]
    if command == "study":
        words += ["--budget", "2s", "--out", str(folder / "report.html")]
    if command in ("assess", "compare", "curve", "agghoo") and rng.random() < 0.2:
        words += ["--metric", str(rng.choice(METRICS[rng.random() < 0.3]))]
    if rng.random() < 0.1:
        words += ["--task", str(rng.choice(["classification", "regression", "clustering"]))]
    if rng.random() < 0.1:
        words += ["--store", str(folder / "runs.db")]
    if rng.random() < 0.05:
        words += ["--pos-label", "yes"]
    if command == "assess" and rng.random() < 0.1:
        words += ["--predictions", str(folder / "predictions.csv")]
    if rng.random() < 0.3:
        words.append("--json")
    return [*words, "--workers", "1"]


def run_command(arguments: list[str]) -> str:
    """Run a command line in this process, and return its exit code in words."""
    from typer.testing import CliRunner

    from truefit.__main__ import app

    # The command shows warnings itself; pytest's and ours are put back behind it.
    with warnings.catch_warnings():
        result = CliRunner().invoke(app, arguments)
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        raise error
    check_exit(result.exit_code, result.stdout, result.stderr, "--json" in arguments)
    return f"exit {result.exit_code}"


def check_exit(code: int, out: str, err: str, as_json: bool) -> None:
    """Raise where a command left otherwise than it may."""
    if code not in (0, 1, 2):
        raise AssertionError(f"exit code {code}: {err}")
    if "Traceback" in out + err:
        raise AssertionError(f"a traceback on the terminal: {err}")
    last = [line for line in err.splitlines() if line.startswith("Error: ")]
    if code == 1 and not last:
        raise AssertionError(f"exit code 1 without a sentence: {err}")
    if code == 2 and not last and "Usage:" not in err:
        raise AssertionError(f"exit code 2 without a sentence: {err}")
    if code and len(err[err.find("Error: ") :]) > LONGEST:
        raise AssertionError(f"an error of {len(err)} characters: {err}")
    if code == 0 and as_json:
        json.loads(out)


def faults_of(seeds: range) -> list[Verdict]:
    """Run many cases and return those that are not as they should be."""
    return [verdict for verdict in map(run_case, seeds) if verdict.fault is not None]


def told(verdicts: list[Verdict]) -> str:
    """Faults as text, each with how to see it again."""
    return "\n\n".join(
        f"python -m tests.faults.fuzz --seed {each.seed}\n{each.words}\n{each.fault}" for each in verdicts
    )


def main() -> int:
    """Run the cases that the command line names, and count their outcomes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, help="Run one case and say what it is.")
    parser.add_argument("--seeds", default="0:300", help="Run the cases FROM:TO.")
    chosen = parser.parse_args()
    first, last = (chosen.seed, chosen.seed + 1) if chosen.seed is not None else map(int, chosen.seeds.split(":"))
    counts: Counter[tuple[str, str]] = Counter()
    slowest: Verdict | None = None
    faults = 0
    for seed in range(first, last):
        silent = io.StringIO()
        with contextlib.redirect_stdout(silent):
            verdict = run_case(seed)
        counts[verdict.way, verdict.outcome] += 1
        slowest = verdict if slowest is None or verdict.seconds > slowest.seconds else slowest
        if verdict.fault is not None:
            faults += 1
            print(told([verdict]), end="\n\n", flush=True)
        elif chosen.seed is not None:
            print(verdict)
    for (way, outcome), count in sorted(counts.items()):
        print(f"{way:8}  {outcome:16}  {count:6}")
    assert slowest is not None
    print(f"{last - first} cases, {faults} faults; slowest: seed {slowest.seed}, {slowest.seconds:.1f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
