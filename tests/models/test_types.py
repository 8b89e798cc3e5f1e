"""The list of types that model files may hold is exact: each is defined where the list says, and is what it says."""

import importlib
import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils import all_estimators

from truefit._models.build import Builder
from truefit._models.load import PROTOCOLS
from truefit._models.types import ALLOWED, LISTED, ON_TRUST, names, refused_names


def found(name):
    """What a listed name is in the versions that are installed, or None."""
    module, _, own = name.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return getattr(importlib.import_module(module), own, None)
        except ImportError:
            return None


@pytest.mark.parametrize("name", sorted(names("estimators", "values", "scorers", "losses", "compiled_losses")))
def test_a_listed_class_is_defined_there_not_merely_imported(name):
    cls = found(name)
    if cls is None:
        pytest.skip("not in this version")
    assert inspect.isclass(cls)
    assert f"{cls.__module__}.{cls.__qualname__}" == name


@pytest.mark.parametrize("name", sorted(names("estimators")))
def test_a_listed_estimator_is_one(name):
    cls = found(name)
    assert cls is None or issubclass(cls, BaseEstimator)


def test_most_names_are_those_of_the_installed_versions():
    listed = names("estimators", "values", "scorers")
    missing = {name for name in listed if found(name) is None}
    assert len(missing) < 10, missing


def test_every_estimator_of_scikit_learn_is_listed():
    own = {
        f"{cls.__module__}.{cls.__qualname__}" for _, cls in all_estimators() if cls.__module__.startswith("sklearn.")
    }
    # skops cannot write Birch.
    assert own <= names("estimators") | {"sklearn.cluster._birch.Birch"}


def test_what_is_refused_by_default():
    """Types that open files, start processes or call what a file names."""
    unsafe = [
        "skrub._llm_encoder.TextEncoder",
        "skrub._data_ops._estimator.SkrubLearner",
        "sklearn.metrics._dist_metrics.PyFuncDistance64",
        "joblib.memory.Memory",
        "sklearn.datasets._covtype.GzipFile",
        "truefit._stores.sqlite.SQLiteStore",
        "builtins.map",
    ]
    for name in unsafe:
        assert not any(name in allowed for allowed in ALLOWED.values())


@pytest.mark.parametrize("name", sorted(names("functions")))
def test_a_listed_function_is_one(name):
    function = found(name)
    assert function is None or (callable(function) and not inspect.isclass(function))


def test_functions_of_numpy_and_scipy_are_of_arrays():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in (f"numpy.{own}" for own in LISTED["functions"]["numpy"]):
            assert np.size(found(name)(np.ones(3))) in (1, 3)


def test_each_kind_of_node_has_a_maker():
    assert set(Builder(None)._makers) == set(ALLOWED) | ON_TRUST


def test_the_format_that_the_installed_skops_writes_is_read():
    protocol = pytest.importorskip("skops.io._protocol")
    assert protocol.PROTOCOL in PROTOCOLS


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("ObjectNode", "sklearn.pipeline.Pipeline.fit"),
        ("ConstructorFromReduceNode", "sklearn.pipeline.Pipeline"),
        ("FunctionNode", "sklearn.pipeline.Pipeline"),
        ("TypeNode", "sklearn.pipeline.Pipeline"),
        ("TypeNode", "builtins.map"),
        ("ListNode", "builtins.tuple"),
        ("LossNode", "sklearn.pipeline.Pipeline"),
    ],
)
def test_a_listed_type_is_allowed_in_its_own_kind_of_node_only(kind, name):
    module, _, own = name.rpartition(".")
    assert refused_names({"__loader__": kind, "__module__": module, "__class__": own}, ()) == [name]
