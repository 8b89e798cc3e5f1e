"""Families: search spaces of the default candidates and of one's own."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truefit._core.errors import InvalidInput
from truefit._methods.selection.default_candidates import default_candidates
from truefit._methods.selection.families import ModelFamily, default_families, settings_of

TABLES = {
    "numbers": (load_iris().data, "classification"),
    "regression": (load_diabetes().data, "regression"),
    "mixed": (pd.DataFrame({"a": np.arange(60.0), "b": ["x", "y", "z"] * 20}), "classification"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_default_setting_sets_its_parameters_on_the_learner(kind):
    X, task = TABLES[kind]
    families = default_families(X, task)
    assert set(default_candidates(X, task)) == set(families) - {"extra_trees"}
    settings = settings_of(families)
    assert len(settings) == sum(len(family.settings()) for family in families.values()) > 50
    for setting in settings.values():
        found = {name.rpartition("__")[2]: value for name, value in setting.estimator.get_params().items()}
        assert {name: found[name] for name in setting.params} == dict(setting.params)


def test_parameters_of_a_pipeline_are_those_of_its_last_step_or_named_in_full():
    pipeline = make_pipeline(StandardScaler(), Ridge())
    short, full = ModelFamily("r", pipeline, {"alpha": [2.0]}), ModelFamily("r", pipeline, {"ridge__alpha": [2.0]})
    assert [family.settings()[0].estimator[-1].alpha for family in (short, full)] == [2.0, 2.0]
    assert pipeline[-1].alpha == 1.0
    assert [each.name for each in ModelFamily("r", Ridge()).settings()] == ["r"]


@pytest.mark.parametrize(
    ("grid", "match"),
    [
        ({"alfa": [1.0]}, "must have parameters of its estimator. Got 'alfa'"),
        ({"alpha": []}, r"at least one value for each parameter. Got \[\] for 'alpha'"),
        ({"alpha": 1.0}, "at least one value for each parameter. Got 1.0 for 'alpha'"),
        ({"alpha": loguniform(1, 2)}, "'alpha' has a distribution: list some of its values, or pass a Randomized"),
        ({"solver": "svd"}, "at least one value for each parameter. Got 'svd' for 'solver'"),
    ],
)
def test_a_space_that_cannot_be_searched_is_refused(grid, match):
    with pytest.raises(InvalidInput, match=match):
        ModelFamily("ridge", Ridge(), grid).settings()


def test_edges_are_the_ends_of_what_was_tried_unless_a_parameter_ends_there_itself():
    family = ModelFamily("knn", Ridge(), {"alpha": [0.1, 1.0, 10.0]})
    found = [dict(family.edges({"alpha": value})) for value in (0.1, 1.0, 10.0)]
    assert found == [{"alpha": 0.1}, {}, {"alpha": 10.0}]
    neighbours = ModelFamily("knn", Ridge(), {"n_neighbors": [1, 3, 5], "weights": ["uniform", "distance", "other"]})
    assert dict(neighbours.edges({"n_neighbors": 1, "weights": "uniform"})) == {}
    assert dict(neighbours.edges({"n_neighbors": 5, "weights": "uniform"})) == {"n_neighbors": 5}
