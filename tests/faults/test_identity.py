"""A stored answer is never one of other code, files or settings; and nothing is fitted again without a reason."""

import pytest
from tests.faults.identity_scenarios import SCENARIOS, SHARED, Runner, check

#: One of each kind, quick to run.
QUICK = (
    "module imported in a method",
    "relative import named like a standard module",
    "dict of the module",
    "importlib",
    "metaclass",
    "file behind a path parameter",
    "environment variable",
    "method of a library, wrapped",
    "global set at run time",
    "global random state of numpy",
)
ALL = {**SCENARIOS, **SHARED}


@pytest.fixture(scope="module")
def runner():
    made = Runner()
    yield made
    made.close()


@pytest.mark.parametrize("name", QUICK)
def test_a_change_is_seen(name, runner):
    assert check(name, SCENARIOS[name], 1, runner) is None


@pytest.mark.parametrize("name", ["class of the program", "unrelated submodule imported", "installed estimator"])
def test_what_has_not_changed_is_shared(name, runner):
    assert check(name, SHARED[name], 1, runner) is None


def test_workers_do_not_run_other_code(runner):
    assert check("global set at run time", SCENARIOS["global set at run time"], 2, runner) is None


@pytest.mark.slow
@pytest.mark.parametrize(("place", "name"), list(enumerate(ALL)))
def test_all_scenarios(place, name, runner):
    # One process and two by turns: `python -m tests.faults.identity_scenarios` runs each with both.
    workers = ALL[name].workers[place % len(ALL[name].workers)]
    assert check(name, ALL[name], workers, runner) is None
