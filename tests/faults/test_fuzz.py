"""The fuzzer as a test: any table gets a result or a sentence, through the functions and through the command."""

import subprocess
import sys

import numpy as np
import pytest
from tests.faults.fuzz import LIMIT, check_exit, draw_case, draw_command, faults_of, run_case, told


@pytest.mark.parametrize("first", range(0, 60, 30))
def test_60_cases(first):
    faults = faults_of(range(first, first + 30))
    assert not faults, told(faults)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(60, 1060, 100))
def test_1000_more_cases(first):
    faults = faults_of(range(first, first + 100))
    assert not faults, told(faults)


def in_a_process(seed, folder):
    """Run the command of a seed in a process of its own; return what is wrong with how it ended, if anything is."""
    words, arguments = draw_command(np.random.default_rng([seed, 18]), folder)
    command = [sys.executable, "-m", "truefit", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=5 * LIMIT, cwd=folder, check=False)
    try:
        check_exit(done.returncode, done.stdout, done.stderr, "--json" in arguments)
    except AssertionError as error:
        return f"{words}: {error}"
    return None


@pytest.mark.parametrize("seed", range(2))
def test_commands_in_processes_of_their_own(seed, tmp_path):
    assert in_a_process(seed, tmp_path) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 14))
def test_more_commands_in_processes_of_their_own(seed, tmp_path):
    assert in_a_process(seed, tmp_path) is None


def test_a_case_is_drawn_from_its_seed_alone(tmp_path):
    drawn = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        drawn.append([draw_case(seed, folder)[:2] for seed in range(10)])
    assert drawn[0] == drawn[1]
    assert {way for way, _ in drawn[0]} == {"function", "command"}
    assert {run_case(seed).words for seed in (0, 1)} == {"; ".join(words) for _, words in drawn[0][:2]}


@pytest.mark.parametrize(
    ("code", "out", "err"),
    [
        (3, "", "Error: no"),
        (1, "", ""),
        (2, "", "no"),
        (1, "", "Error: Traceback (most recent call last)"),
        (2, "", "Error: " + "long " * 1000),
    ],
)
def test_how_a_command_must_not_end(code, out, err):
    with pytest.raises(AssertionError):
        check_exit(code, out, err, as_json=False)
