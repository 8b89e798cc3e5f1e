"""What importing truefit costs: public names are imported when they are first used."""

import subprocess
import sys

#: Modules that take long to import, and who may need them: plots, pages, the command line, other libraries.
HEAVY = (
    *("matplotlib", "jinja2", "typer", "click", "rich", "skrub", "polars", "pyarrow", "dask", "distributed", "ray"),
    *("torch", "skops", "lightgbm", "xgboost", "sqlite3", "joblib", "pandas", "sklearn", "scipy", "numpy", "psutil"),
)


def imported(code, among):
    """Which modules a fresh process has after some code."""
    command = f"{code}\nimport sys\nprint(*(name for name in {among!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_truefit_imports_nothing_that_takes_long():
    assert imported("import truefit", HEAVY) == set()


def test_the_functions_import_no_more_than_they_need_of_what_takes_long():
    """scikit-learn is needed, with what it imports by itself; plots, pages and the command line are not."""
    among = [each for each in HEAVY if each not in ("pandas", "sqlite3")]
    extra = imported("from truefit import Engine, HonestSearchCV, assess, study", among)
    assert extra - imported("import sklearn.pipeline, scipy.stats", among) == set()
