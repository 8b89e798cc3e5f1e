import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.command import truefit

ROOT = Path(__file__).resolve().parents[2]


def test_without_a_name_the_experiments_are_listed():
    done = truefit("reproduce")
    assert done.returncode == 0, done.stderr
    assert "pmv-table1\n  Perturbed Model Validation, Table 1" in done.stdout
    assert "Needs: mnist01.npz" in done.stdout


@pytest.mark.slow
def test_the_example_in_the_help_works_and_writes_a_section(tmp_path):
    helped = " ".join(truefit("reproduce", "--help").stdout.replace("│", " ").split())
    assert "Example: truefit reproduce pmv-unlimited-tree --quick" in helped
    (tmp_path / "page.md").write_text("# By hand\n")
    command = ("reproduce", "pmv-unlimited-tree", "--quick", "--out", "page.md", "--store", "runs.db")
    done = truefit(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "| rate on breast cancer | 0 | 0 | yes |" in done.stdout
    page = (tmp_path / "page.md").read_text()
    assert page.startswith("# By hand\n\n<!-- reproduced: pmv-unlimited-tree -->\n\n## pmv-unlimited-tree: ")
    again = truefit(*command, cwd=tmp_path)
    assert " 0 run, 0 shared," in again.stderr
    assert (tmp_path / "page.md").read_text() == page


BAD = {
    "name": (("pmv-tabel1",), "Did you mean 'pmv-table1'"),
    "network": (("pmv-fig3", "--network", "cnn"), "Got 'pmv-fig3-cnn' instead"),
    "page": (("pmv-table1", "--out", "page.html"), "must end in .md"),
    "folder": (("pmv-table1", "--data", "nowhere"), "There is no nowhere"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_a_sentence_and_exit_code_2(case, tmp_path):
    arguments, message = BAD[case]
    done = truefit("reproduce", *arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The package alone, as a wheel installs it, and a way to run its command in a folder."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "src" / "truefit", site / "truefit", ignore=shutil.ignore_patterns("__pycache__"))

    def run(*arguments, cwd):
        command = [sys.executable, "-m", "truefit", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(site)}
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=100)

    return run


def test_outside_of_a_checkout_it_says_in_a_sentence_where_the_experiments_are(installed, tmp_path):
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "__init__.py").write_text("raise SystemExit('not ours')\n")  # somebody's own folder
    done = installed("reproduce", "pmv-table1", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: The papers' experiments are in the folder papers/ of truefit's source")
    assert str(tmp_path) in line


def test_inside_of_a_checkout_the_installed_command_finds_them(installed):
    done = installed("reproduce", cwd=ROOT / "docs")
    assert done.returncode == 0, done.stderr
    assert "pmv-table1\n" in done.stdout
