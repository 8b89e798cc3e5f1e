"""Fitted attributes that compiled code indexes by are checked: one out of range is refused, not read beyond."""

import io
import json
import re
import zipfile

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)  # fmt: skip
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import OneHotEncoder, SplineTransformer
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from tests.models.nodes import array, edited, found, plain

from truefit._core.errors import InvalidInput
from truefit._models import load_model
from truefit._models.archive import BrokenModel
from truefit._models.compiled import checked_state

skops = pytest.importorskip("skops.io")

X, y = make_classification(60, 4, random_state=0)


def saved(estimator, tmp_path):
    skops.dump(estimator, tmp_path / "m.skops")
    load_model(tmp_path / "m.skops")
    return tmp_path / "m.skops"


def refused(place, what):
    with pytest.raises(InvalidInput, match=f"{what} is not the result of a fit"):
        load_model(place)


def attributes(schema, class_name):
    """The attributes of the first object of a class."""
    made = next(found(schema, lambda node: node["__class__"] == class_name))
    return made["content"]["content"]


def change_array(place, class_name, attribute, change):
    """Change an array that an object holds."""
    replaced = {}

    def point(schema):
        entry = attributes(schema, class_name)[attribute]
        with zipfile.ZipFile(place) as archive:
            values = np.load(io.BytesIO(archive.read(entry["file"])))
        new = array(replaced, change(values.copy()))
        for each in found(schema, lambda node: node.get("__id__") == entry["__id__"]):
            each.update({"file": new["file"], "__id__": new["__id__"]})

    return edited(place, point, lambda _: replaced)


def with_field(field, row, value):
    def change(nodes):
        nodes[field][row] = value
        return nodes

    return change


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("left_child", 10**6),
        ("right_child", 10**6),
        ("right_child", -5),
        ("left_child", 0),
        ("feature", 4),
        ("feature", -3),
    ],
)
def test_a_tree_that_leads_out_of_itself(tmp_path, field, value):
    place = saved(DecisionTreeClassifier().fit(X, y), tmp_path)
    refused(change_array(place, "Tree", "nodes", with_field(field, 0, value)), "a decision tree")


def test_a_tree_of_other_sizes(tmp_path):
    place = saved(DecisionTreeClassifier().fit(X, y), tmp_path)
    refused(edited(place, lambda schema: attributes(schema, "Tree").update(node_count=plain(1000))), "a decision tree")
    place = saved(DecisionTreeClassifier().fit(X, y), tmp_path)
    refused(change_array(place, "Tree", "values", lambda values: values[:1]), "a decision tree")


def test_a_tree_of_more_columns_than_its_owner(tmp_path):
    place = saved(DecisionTreeClassifier().fit(X, y), tmp_path)
    what = "a DecisionTreeClassifier"
    refused(edited(place, lambda schema: attributes(schema, what[2:]).update(n_features_in_=plain(2))), what)


@pytest.mark.parametrize(
    "forest", [RandomForestClassifier(3), GradientBoostingClassifier(n_estimators=3), IsolationForest(n_estimators=3)]
)
def test_an_ensemble_of_more_columns_than_its_trees(tmp_path, forest):
    place = saved(forest.fit(X, y), tmp_path)
    name = type(forest).__name__

    def change(schema):
        held = attributes(schema, name)
        held.update({key: plain(2) for key in ("n_features_in_", "_max_features") if key in held})

    refused(edited(place, change), f"a {name}")


def renumbered(text):
    """Numbers of nodes are addresses in memory: those of two files must not be the same by chance."""
    return re.sub(r"\d{12,}", lambda number: str(int(number.group()) + 10**16), text)


def test_boosting_whose_start_has_another_number_of_columns(tmp_path):
    labels = np.arange(60) % 3
    place = saved(GradientBoostingClassifier(n_estimators=2).fit(X, labels), tmp_path)
    (tmp_path / "other").mkdir()
    other = saved(GradientBoostingClassifier(n_estimators=2).fit(X, y), tmp_path / "other")
    with zipfile.ZipFile(other) as archive:
        schema = json.loads(renumbered(archive.read("schema.json").decode()))
        start = attributes(schema, "GradientBoostingClassifier")["init_"]
        entries = {renumbered(name): archive.read(name) for name in archive.namelist() if name.endswith(".npy")}

    def change(schema):
        attributes(schema, "GradientBoostingClassifier")["init_"] = start

    refused(edited(place, change, lambda _: entries), "a GradientBoostingClassifier")


@pytest.mark.parametrize(("field", "value"), [("left", 10**6), ("right", 0), ("feature_idx", 4), ("feature_idx", -1)])
def test_histogram_boosting_that_leads_out_of_itself(tmp_path, field, value):
    place = saved(HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5).fit(X, y), tmp_path)
    place = change_array(place, "TreePredictor", "nodes", with_field(field, 0, value))
    refused(place, "a (tree of histogram gradient boosting|HistGradientBoostingClassifier)")


def test_neighbours_beyond_the_rows(tmp_path):
    def out_of_range(schema):
        state = next(found(schema, lambda node: node["__class__"] == "KDTree"))["content"]["content"]
        state[1].update(array(files, np.full(60, 10**6)))

    files = {}
    place = saved(KNeighborsClassifier(algorithm="kd_tree").fit(X, y), tmp_path)
    refused(edited(place, out_of_range, lambda _: files), "a tree of neighbours")


@pytest.mark.parametrize(
    ("attribute", "change"),
    [
        ("_y", lambda values: values + 5),
        ("_fit_X", lambda values: values[:, :2].copy()),
        ("_y", lambda values: values[:3]),
    ],
)
def test_neighbours_of_other_sizes(tmp_path, attribute, change):
    place = saved(KNeighborsClassifier(algorithm="brute").fit(X, y), tmp_path)
    refused(change_array(place, "KNeighborsClassifier", attribute, change), "a KNeighborsClassifier")


@pytest.mark.parametrize(
    ("attribute", "change"),
    [
        ("support_vectors_", lambda values: values[:, :2].copy()),
        ("_dual_coef_", lambda values: values[:, :2].copy()),
        ("_intercept_", lambda values: values[:0]),
        ("_n_support", lambda values: values * 1000),
        ("support_", lambda values: values[:1]),
    ],
)
def test_support_vectors_of_other_sizes(tmp_path, attribute, change):
    refused(change_array(saved(SVC().fit(X, y), tmp_path), "SVC", attribute, change), "a SVC")


def test_arrays_of_other_uses_cannot_be_changed_through_the_model(tmp_path):
    """Two nodes of one number would be one array, which a step that works in place could change after the checks."""
    place = saved(KNeighborsClassifier(algorithm="brute").fit(X, y), tmp_path)

    def change(schema):
        held = attributes(schema, "KNeighborsClassifier")
        held["n_samples_fit_"] = held["_y"]

    made = load_model(edited(place, change)).estimator
    assert made.n_samples_fit_ is not made._y
    assert not np.shares_memory(made.n_samples_fit_, made._y)


def test_a_spline_of_fewer_weights_than_knots(tmp_path):
    spline = SplineTransformer().fit(X).bsplines_[0]
    spline = getattr(spline, "_delegate_to", spline)  # scipy 1.18 and later
    weights = "_c" if "_c" in vars(spline) else "c"
    place = saved(SplineTransformer().fit(X), tmp_path)
    refused(change_array(place, type(spline).__name__, weights, lambda values: values[:2]), "a spline")


@pytest.mark.parametrize("state", [(np.ones(3), np.ones(0)), (None, np.ones(0)), (), ({}, [])], ids=str)
def test_a_spline_that_holds_something_else(state):
    with pytest.raises(BrokenModel, match="a spline is not the result of a fit"):
        checked_state("scipy.interpolate._bsplines.BSpline", state)


def test_centres_of_fewer_columns(tmp_path):
    place = saved(KMeans(2, n_init=1).fit(X), tmp_path)
    refused(change_array(place, "KMeans", "cluster_centers_", lambda values: values[:, :1].copy()), "a KMeans")


def test_words_and_categories_beyond_the_columns(tmp_path):
    place = saved(CountVectorizer().fit(["one two three"]), tmp_path)

    def change(schema):
        attributes(schema, "CountVectorizer")["vocabulary_"]["content"]["one"] = plain(10**6)

    refused(edited(place, change), "a CountVectorizer")
    place = saved(HashingVectorizer(n_features=16), tmp_path)
    refused(
        edited(place, lambda schema: attributes(schema, "HashingVectorizer").update(n_features=plain(0))), "a Hash.*"
    )
    place = saved(OneHotEncoder(min_frequency=3).fit([["a"]] * 4 + [["b"], ["c"]]), tmp_path)

    def grouped(schema):
        mappings = attributes(schema, "OneHotEncoder")["_default_to_infrequent_mappings"]["content"]
        mappings[0].update(array(files, np.array([0, 10**6, 10**6])))

    files = {}
    refused(edited(place, grouped, lambda _: files), "a OneHotEncoder")
