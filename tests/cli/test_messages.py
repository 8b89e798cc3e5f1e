"""Standard output holds results only, and a reader that leaves early is no error. In processes of their own."""

import io
import json
import logging
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import typer
from sklearn.exceptions import ConvergenceWarning
from tests.cli.command import truefit

import truefit._cli as truefit_cli
from truefit.__main__ import app
from truefit._cli.messages import ResultStream, echo, results_only, warnings_shown_once
from truefit._core.errors import WriteFailed

COMMAND = [sys.executable, "-m", "truefit"]

#: Prints in every way there is, at every time there is.
NOISY = """
import atexit, ctypes, os, sys
from sklearn.naive_bayes import GaussianNB

def noise(when):
    print(f"noise of Python {when}")
    sys.__stdout__.write(f"noise of the first stream {when}\\n")
    os.write(1, f"noise of the descriptor {when}\\n".encode())
    ctypes.CDLL(None).puts(f"noise of C {when}".encode())

class Noisy(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        noise("in fit")
        return super().fit(X, y)

    def predict(self, X):
        noise("in predict")
        return super().predict(X)

noise("at import")
atexit.register(noise, "at exit")
model = Noisy()
"""
LIGHTGBM = """
from lightgbm import LGBMClassifier
model = LGBMClassifier(n_estimators=3, verbosity=1)
"""


def run(*arguments, cwd, **options):
    """Run a command in a process of its own, as a shell does."""
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 120} | options
    return subprocess.run([*COMMAND, *map(str, arguments)], cwd=cwd, text=True, **settings)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_a_fit_prints_does_not_reach_the_json(tmp_path, workers):
    (tmp_path / "noisy.py").write_text(NOISY)
    words = "assess iris --models noisy.py:model --json --predictions p.csv --workers"
    done = run(*words.split(), workers, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kind"] == "assessment"
    for noise in ("of Python", "of the first stream", "of the descriptor", "of C"):
        for when in ("at import", "in fit", "at exit"):
            assert f"noise {noise} {when}" in done.stderr


def test_what_lightgbm_prints_below_python_does_not_reach_the_json(tmp_path):
    pytest.importorskip("lightgbm")
    (tmp_path / "boosted.py").write_text(LIGHTGBM)
    done = run(*["assess", "breast_cancer", "--models", "boosted.py:model", "--json"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kind"] == "assessment"
    assert "[LightGBM]" in done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stdout")
    done = truefit("assess", "iris", "--store", "runs.db", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_a_reader_that_leaves_is_no_error_and_files_are_written(folder):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        for words in (("runs", "runs.db", "--json"), ("--help",)):
            done = run(*words, cwd=folder, stdout=writer)
            assert (done.returncode, done.stderr) == (0, ""), words
        done = run("assess", "iris", "--predictions", "p.csv", cwd=folder, stdout=writer)
        assert done.returncode == 0, done.stderr
        assert (folder / "p.csv").exists()
        assert "Error" not in done.stderr
    finally:
        os.close(writer)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_behind_it_is_a_sentence(folder):
    with open("/dev/full", "w") as full:
        done = run("runs", "runs.db", cwd=folder, stdout=full)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: Standard output could not be written: No space left on device.")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", [1, 2])
def test_closed_streams_are_no_error(folder, closed):
    done = run("runs", "runs.db", cwd=folder, preexec_fn=lambda: os.close(closed))
    assert done.returncode == 0, done.stderr
    assert ("runs.db holds 1 report" in done.stdout) is (closed == 2)


def test_characters_that_control_a_terminal_are_not_printed(capsys):
    with results_only():
        echo("a\x1b[2Jb\tc\n\x9b1m\x07")
    assert capsys.readouterr().out == "a\ufffd[2Jb\tc\n\ufffd1m\ufffd\n"


def test_in_one_process_the_streams_are_given_back(capsys):
    before = sys.stdout
    with results_only():
        print("aside")
        echo("a result")
    assert sys.stdout is before
    said = capsys.readouterr()
    assert (said.out, said.err) == ("a result\n", "aside\n")


def test_errors_of_a_stream_are_raised_once_and_a_missing_one_takes_all():
    class Broken(io.StringIO):
        def flush(self):
            raise OSError(28, "No space left on device")

        def fileno(self):
            return os.open(os.devnull, os.O_WRONLY)

    stream = ResultStream(Broken())
    with pytest.raises(WriteFailed, match="No space left on device"):
        stream.write("text")
    assert stream.write("more") == 4
    assert ResultStream(None).write("text") == 4
    assert not ResultStream(None).isatty()


def test_commands_write_results_where_results_go():
    """While a command runs, typer's echo and a plain console write to standard error."""
    for file in Path(truefit_cli.__file__).parent.glob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert "Console()" not in text
        assert "sys.stdout" not in text or file.name == "messages.py"
        for call in re.findall(r"typer\.echo\(.*", text):
            assert "err=True" in call or "__version__" in call, f"{file.name}: {call}"


def test_each_warning_is_shown_once_and_counted(capsys):
    with warnings_shown_once():
        for _ in range(3):
            with warnings.catch_warnings():  # as fits do; Python then forgets what it has shown
                warnings.simplefilter("always")
                warnings.warn("lbfgs failed to converge.\nIncrease max_iter.", ConvergenceWarning, stacklevel=1)
    with pytest.warns(UserWarning, match="other"):
        warnings.warn("other", UserWarning, stacklevel=1)
    shown = capsys.readouterr().err.splitlines()
    assert shown == [
        "ConvergenceWarning: lbfgs failed to converge.",
        "3 times: ConvergenceWarning: lbfgs failed to converge.",
    ]


def test_the_log_is_shown_with_verbose_and_as_json_goes_elsewhere(tmp_path):
    said = truefit("assess", "iris", "--model", "naive_bayes", "--json", "--verbose", cwd=tmp_path)
    assert json.loads(said.stdout)["kind"] == "assessment"
    assert re.search(r"truefit\._engine\.engine: \d+ of \d+ fits are to be run", said.stderr)
    assert not logging.getLogger("truefit").handlers
    for more in ([], ["--verbose", "--quiet"]):
        assert (
            "fits are to be run" not in truefit("assess", "iris", "--model", "naive_bayes", *more, cwd=tmp_path).stderr
        )


def test_every_command_that_computes_takes_quiet_and_verbose():
    commands = typer.main.get_command(app).commands
    taking = {
        option: {name for name, each in commands.items() if any(option in found.opts for found in each.params)}
        for option in ("--quiet", "--verbose")
    }
    assert set(commands) - taking["--verbose"] == {"runs", "show"}
    assert taking["--verbose"] <= taking["--quiet"]


def test_the_log_says_which_rows_were_read(tmp_path):
    (tmp_path / "rows.csv").write_text("truth,model\n" + "1,1\n0,0\n" * 20)
    said = truefit("evaluate", "rows.csv", "--truth", "truth", "--verbose", cwd=tmp_path)
    assert "truefit.sources.load: Read rows: 40 rows, 2 columns." in said.stderr.splitlines()


def test_all_loggers_are_in_one_tree():
    for path in Path(truefit_cli.__file__).parents[1].rglob("*.py"):
        for name in re.findall(r"getLogger\((.*?)\)", path.read_text()):
            assert name in ("__name__", '"truefit"') or path.name == "cluster.py", path  # which quiets Dask's own


def test_characters_that_the_encoding_lacks_are_written_as_plain_ones():
    code = "from truefit._cli.messages import *\nwith standard_output_claimed(): echo('\u22120.91 \u2026 \u2603')"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONIOENCODING": "ascii:strict"}, capture_output=True
    )
    assert done.stdout.split() == [b"-0.91", b"...", b"?"], done.stderr
