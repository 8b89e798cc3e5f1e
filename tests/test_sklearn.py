"""The guard by version of what relies on scikit-learn's private attributes."""

import logging

import sklearn

from truefit import _sklearn
from truefit._solvers.registry import all_solvers


def test_from_1_9_on_the_installed_version_must_be_tested():
    version = tuple(map(int, sklearn.__version__.split(".")[:2]))
    assert _sklearn.is_tested(sklearn.__version__) == (version >= (1, 9))


def test_on_a_version_that_was_not_tested_fits_are_computed_one_by_one(monkeypatch, caplog):
    monkeypatch.setattr(_sklearn, "TESTED", frozenset({"0.1"}))
    _sklearn.is_tested.cache_clear()
    try:
        with caplog.at_level(logging.WARNING, logger="truefit._sklearn"):
            names = [solver.name for solver in all_solvers()]
            all_solvers()
    finally:
        _sklearn.is_tested.cache_clear()
    assert names == ["estimator", "stages", "plain"]
    assert len(caplog.records) == 1
    assert f"computed one by one with scikit-learn {sklearn.__version__}:" in caplog.records[0].getMessage()
