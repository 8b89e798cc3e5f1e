"""Results in a notebook: a plot is displayed once, and a result shows its page."""

from __future__ import annotations

import subprocess
import sys

import pytest

nbformat = pytest.importorskip("nbformat")
ExecutePreprocessor = pytest.importorskip("nbconvert.preprocessors").ExecutePreprocessor

SETUP = """
import warnings

warnings.simplefilter("error")
import numpy as np
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import truefit

X, y = make_classification(n_samples=150, n_features=5, random_state=0)
models = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier(max_depth=2, random_state=0)}
tree = models["tree"]
engine = truefit.Engine()
results = {}
"""

RESULTS = {
    "assess": "truefit.assess(models, X, y, cv=3, engine=engine)",
    "compare": "truefit.compare(models, X, y, cv=3, engine=engine)",
    "perturb": "truefit.perturb(models, X, y, repeats=2, engine=engine)",
    "bias_variance": "truefit.bias_variance(models, X, y, rounds=5, engine=engine)",
    "cross_test": "truefit.cross_test(truefit.AgghooClassifier(GaussianNB()), X, y, engine=engine)",
    "learning_curve": "truefit.learning_curve(GaussianNB(), X, y, engine=engine)",
    "extrapolate": "truefit.extrapolate([50, 100, 200, 400, 800], [0.31, 0.26, 0.22, 0.2, 0.18])",
    "complexity_curve": "truefit.complexity_curve(tree, X, y, parameter='max_depth', values=[1, 2], engine=engine)",
    "study": "truefit.study(X, y, list(models.values()), engine=engine)",
}


@pytest.fixture(scope="module")
def outputs() -> dict[str, list[dict]]:
    """Run one notebook, and return the outputs of each cell by its source."""
    cells = [SETUP]
    for name, call in RESULTS.items():
        cells += [f"results[{name!r}] = {call}", f"results[{name!r}].plot()", f"results[{name!r}]"]
    cells += ["for result in results.values():\n    result.plot()", "ax = results['assess'].plot('roc')"]
    cells += ["import matplotlib.pyplot as plt\nplt.get_fignums()"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    ExecutePreprocessor(timeout=60, kernel_name="python3").preprocess(notebook)
    return {cell.source: cell.outputs for cell in notebook.cells}


def formats(outputs: list[dict]) -> list[str]:
    return [kind for output in outputs for kind in output.get("data", {"stream": ""})]


@pytest.mark.parametrize("name", RESULTS)
def test_a_plot_is_displayed_once(name: str, outputs) -> None:
    assert formats(outputs[f"results[{name!r}].plot()"]).count("image/png") == 1


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_shows_html_and_no_second_picture(name: str, outputs) -> None:
    shown = formats(outputs[f"results[{name!r}]"])
    assert "text/html" in shown
    assert "image/png" not in shown


def test_plots_are_displayed_that_are_not_the_last_expression(outputs) -> None:
    by_source = {source: formats(shown) for source, shown in outputs.items()}
    assert by_source["for result in results.values():\n    result.plot()"].count("image/png") == len(RESULTS)
    assert by_source["ax = results['assess'].plot('roc')"].count("image/png") == 1


def test_no_figure_stays_open(outputs) -> None:
    (last,) = outputs["import matplotlib.pyplot as plt\nplt.get_fignums()"]
    assert last["data"]["text/plain"] == "[]"


def test_a_script_opens_no_window_and_keeps_no_figure() -> None:
    code = """
import sys, warnings
warnings.simplefilter("error")
import IPython
import truefit
result = truefit.extrapolate([50, 100, 200, 400, 800], [0.31, 0.26, 0.22, 0.2, 0.18])
for _ in range(25):
    result.plot()
assert "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)
