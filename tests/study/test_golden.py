"""The whole text of nine studies, on the terminal and on the page, beside what was read and approved.

The files in ``golden/`` are to be read by people. Numbers are masked in the comparison: other versions of scikit-learn
and other processors give other last digits. To rewrite the files after an intended change:
``TRUEFIT_WRITE_GOLDEN=1 python -m pytest tests/study/test_golden.py -m slow``.
"""

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.command import truefit

GOLDEN = Path(__file__).parent / "golden"


def zero_error(folder):
    """Two clusters far from each other: no candidate but the baseline makes an error."""
    rng = np.random.default_rng(0)
    y = np.repeat(["left", "right"], 100)
    X = rng.normal(size=(200, 3)) + 20 * (y == "right")[:, None]
    return table(folder, X, y)


def pure_noise(folder):
    """Features that have nothing to do with the target."""
    rng = np.random.default_rng(0)
    return table(folder, rng.normal(size=(200, 6)), rng.choice(["no", "yes"], 200))


def many_classes(folder):
    """500 classes of 6 rows each."""
    rng = np.random.default_rng(0)
    y = np.repeat([f"product {i:03}" for i in range(500)], 6)
    X = rng.normal(size=(500, 8)).repeat(6, axis=0) + 0.4 * rng.normal(size=(3000, 8))
    names = ("naive_bayes", "knn", "tree", "dummy")  # boosting fits 500 trees a round
    return [*table(folder, X, y), *(word for name in names for word in ("--model", name))]


def table(folder, X, y):
    frame = pd.DataFrame(X.round(4), columns=[f"x{i}" for i in range(X.shape[1])])
    frame["outcome"] = y
    frame.to_csv(folder / "table.csv", index=False)
    return [str(folder / "table.csv"), "--target", "outcome"]


def shared(name, *options):
    def arguments(folder):
        path = Path(os.environ.get("TRUEFIT_DATA", ""), f"{name}.parquet")
        if not path.is_file():
            pytest.skip(f"TRUEFIT_DATA names no folder with {name}.parquet")
        return [str(path), *options]

    return arguments


def tuned(folder):
    """A search among the settings of several families."""
    return ["wine", *(word for name in ("dummy", "linear", "knn", "tree") for word in ("--model", name))]


STUDIES = {
    "breast_cancer": lambda folder: ["breast_cancer"],
    "iris": lambda folder: ["iris"],
    "diabetes": lambda folder: ["diabetes"],
    "german_credit": shared("german_credit", "--target", "class"),
    "wine_quality": shared("wine_quality", "--target", "quality", "--task", "regression"),
    "zero_error": zero_error,
    "pure_noise": pure_noise,
    "many_classes": many_classes,
    "tuned": tuned,
}

#: What differs from run to run, or by machine: times, dates, versions, folders.
CHANGING = (
    (re.compile(r"\d+(\.\d+)?(e-?\d+)? (s|ms|min|seconds|minutes)\b"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?( UTC|Z)?)?"), "DATE"),
    (re.compile(r"\b\d+\.\d+\.\d+(\.?(dev|rc|post)\d+)?\b"), "VERSION"),
    (re.compile(r"(/[\w.+-]+)+/(\w+\.(csv|parquet|html))"), r"\2"),
)
_NUMBER = re.compile(r"\d[\d,]*(\.\d+)?(e-?\d+)?")
_BLOCKS = frozenset(
    [
        *("p", "div", "section", "article", "header", "footer", "main", "aside", "nav", "details", "summary"),
        *("li", "ul", "ol", "dl", "dt", "dd", "h1", "h2", "h3", "h4", "figure", "figcaption", "table", "caption", "tr"),
    ]
)


class _Text(HTMLParser):
    """The visible text of a page, a block a line; pictures are left out."""

    def __init__(self):
        super().__init__()
        self.lines, self._hidden = [[]], 0

    def handle_starttag(self, tag, attrs):
        if tag in ("style", "script", "svg", "head", "title"):
            self._hidden += 1
        elif tag in _BLOCKS:
            self.lines.append([])
        elif tag in ("td", "th") and self.lines[-1]:
            self.lines[-1].append(" | ")

    def handle_endtag(self, tag):
        if tag in ("style", "script", "svg", "head", "title"):
            self._hidden -= 1
        elif tag in _BLOCKS:
            self.lines.append([])

    def handle_data(self, data):
        if not self._hidden:
            self.lines[-1].append(data)


def page_text(html):
    reader = _Text()
    reader.feed(html)
    lines = [" ".join("".join(line).split()) for line in reader.lines]
    return "\n".join(line for line in lines if line) + "\n"


def settled(text):
    for pattern, name in CHANGING:
        text = pattern.sub(name, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"


def shape(text):
    # Columns are as wide as their numbers, and seconds have any number of digits.
    return re.sub(" +", " ", _NUMBER.sub("#", text))


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_the_text_of_a_study(name, tmp_path):
    page = tmp_path / "report.html"
    plain = () if name == "tuned" else ("--no-tune",)
    result = truefit("study", *STUDIES[name](tmp_path), *plain, "--out", page)
    assert result.returncode == 0, result.stderr
    for kind, text in (("terminal", result.stdout), ("page", page_text(page.read_text()))):
        approved, found = GOLDEN / f"{name}.{kind}.txt", settled(text)
        if os.environ.get("TRUEFIT_WRITE_GOLDEN"):
            approved.write_text(found)
        assert shape(found) == shape(approved.read_text())
