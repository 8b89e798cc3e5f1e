import os
import sys

import numpy as np
import pytest
import sklearn

from truefit import Engine
from truefit._executors.environment import (
    FitEnvironment,
    as_worker,
    available_cores,
    inside_worker,
    installed_versions,
    version_difference,
)
from truefit._executors.processes import ProcessExecutor


def test_cores_are_counted_alike_everywhere():
    with Engine(workers=-1, timeout=60, progress=False) as engine, ProcessExecutor(-1) as executor:
        assert engine.workers == executor.workers == engine._executor.workers == available_cores()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="cores cannot be taken away here")
def test_cores_that_this_process_may_not_use_do_not_count():
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert available_cores() == 1
        with Engine(workers=-1, progress=False) as engine:
            assert engine.workers == 1
    finally:
        os.sched_setaffinity(0, before)


def test_settings_are_applied_for_a_while():
    with sklearn.config_context(working_memory=77), np.errstate(over="raise"):
        environment = FitEnvironment.current()
    assert sklearn.get_config()["working_memory"] != 77
    with environment.applied():
        assert sklearn.get_config()["working_memory"] == 77
        assert np.geterr()["over"] == "raise"
    assert sklearn.get_config()["working_memory"] != 77
    assert np.geterr()["over"] == "warn"


def test_a_thread_is_a_worker_only_while_a_job_runs_in_it():
    assert not inside_worker()
    with as_worker(), as_worker():
        assert inside_worker()
    assert not inside_worker()


def test_another_version_is_named_with_its_worker():
    expected = installed_versions()
    assert expected["Python"] == f"{sys.version_info.major}.{sys.version_info.minor}"
    assert version_difference(expected) is None
    found = version_difference({**expected, "numpy": "0.9"})
    assert found.startswith(f"numpy 0.9 here, {np.__version__} on the worker ")
    assert str(os.getpid()) in found


def test_a_package_that_is_missing_is_named():
    assert "no-such-package 1.0 here, not installed" in version_difference({"no-such-package": "1.0"})
