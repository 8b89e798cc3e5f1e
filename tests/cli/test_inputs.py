"""Models from the user's own files: names of the standard library, and files that fail."""

import subprocess
import sys

import pytest
from tests.cli.command import truefit

from truefit._cli.inputs import families_of, load_table

OWN = """
from sklearn.naive_bayes import GaussianNB

class Mine(GaussianNB):
    pass

model = Mine()
"""
FAILS = {
    "raises": ("raises.py", "import math\n\nmath.sqrt(-1)\nmodel = 1\n", "ValueError in raises.py, line 3: "),
    "is no Python": ("broken.py", "x = 1\nmodel = (\n", "SyntaxError in broken.py, line 2: "),
    "leaves": ("leaves.py", "import sys\nsys.exit(3)\n", "SystemExit in leaves.py, line 2: 3"),
    "lacks a package": ("lacks.py", "import no_such_package\n", "ModuleNotFoundError in lacks.py, line 1: "),
    "makes nothing": ("makes.py", "def model():\n    return {}['x']\n", "KeyError in makes.py, line 2: 'x'"),
    "has a number": ("number.py", "model = 3\n", "must have fit and predict"),
}


@pytest.mark.parametrize("name", ["json.py", "numpy.py"])
def test_a_file_may_have_the_name_of_another_module(tmp_path, name):
    (tmp_path / name).write_text(OWN)
    command = [sys.executable, "-P", "-m", "truefit", "assess", "iris", "--model", f"{name}:model", "--cv", "3"]
    done = subprocess.run([*command, "--workers", "2", "--json"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert '"name": "Mine"' in done.stdout


@pytest.mark.parametrize("case", FAILS)
def test_a_file_that_fails_is_a_sentence_with_its_line(tmp_path, case):
    name, content, message = FAILS[case]
    (tmp_path / name).write_text(content)
    done = truefit("assess", "iris", "--model", f"{name}:model", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_own_models_are_not_tuned_whatever_their_name(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from sklearn.tree import DecisionTreeClassifier\nmodels = {'tree': DecisionTreeClassifier(max_depth=2)}\n"
    )
    table = load_table("iris", None)
    own = families_of([f"{tmp_path}/mine.py:models"], table, "classification")["tree"]
    assert (own.estimator.max_depth, dict(own.grid)) == (2, {})
    both = families_of([f"{tmp_path}/mine.py:models", "linear"], table, "classification")
    assert [len(each.settings()) for each in both.values()] == [1, 5]
