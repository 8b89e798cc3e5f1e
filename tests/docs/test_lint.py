"""The hooks before a commit are those of make lint."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_hooks_before_a_commit_run_what_make_lint_runs():
    target = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), flags=re.M).group(1)
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in target.splitlines()]
    assert re.findall(r"entry: (.*)", (ROOT / ".pre-commit-config.yaml").read_text()) == commands
