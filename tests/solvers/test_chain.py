import threading

import numpy as np
from sklearn.callback import ProgressBar
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from truefit._solvers.chain import chain_of, last_of, put_together, rest_of

TREE = DecisionTreeClassifier()


def test_steps_are_known_by_content():
    steps = [("a", "passthrough"), ("b", StandardScaler()), ("c", None), ("d", SelectKBest()), ("e", TREE)]
    chain = chain_of(Pipeline(steps), b"its key")
    assert [(link.place, link.blind) for link in chain.links] == [(1, True), (3, False)]
    same, other = (chain_of(make_pipeline(StandardScaler(with_std=flag), TREE), b"") for flag in (True, False))
    assert same.links[0].key == chain.links[0].key != other.links[0].key
    assert same.last == chain.last


def test_nothing_is_shared_behind_a_step_that_cannot_be_known():
    unknown = FunctionTransformer(np.abs, kw_args={"out": threading.Lock()})
    chain = chain_of(make_pipeline(StandardScaler(), unknown, PCA(), TREE), b"")
    assert ([link.place for link in chain.links], chain.last) == ([0], None)
    assert chain_of(make_pipeline(unknown, StandardScaler(), TREE), b"") is None


def test_pipelines_that_are_left_as_they_are():
    steps = [("a", StandardScaler()), ("b", TREE)]
    watched = Pipeline(steps).set_callbacks(ProgressBar())
    for estimator in (
        TREE, make_pipeline(TREE), make_pipeline("passthrough", TREE), Pipeline(steps, memory="x"),
        Pipeline(steps, verbose=True), Pipeline(steps, transform_input=["sample_weight"]), watched,
    ):  # fmt: skip
        assert chain_of(estimator, b"") is None
    assert chain_of(Pipeline(steps), b"") is not None


def test_a_chain_is_worked_out_again_where_the_pipeline_has_become_another():
    pipeline = make_pipeline(StandardScaler(), TREE)
    before = chain_of(pipeline, b"before")
    assert chain_of(pipeline, b"before") is before
    pipeline.set_params(standardscaler__with_std=False)
    after = chain_of(pipeline, b"after")
    assert after.links[0].key != before.links[0].key
    pipeline.verbose = True
    assert chain_of(pipeline, b"after") is None


def test_the_rest_keeps_its_seeds():
    forest = RandomForestClassifier()
    pipeline = Pipeline([("a", StandardScaler()), ("b", "passthrough"), ("c", PCA()), ("d", forest)])
    seeds = (("c__random_state", 1), ("d__random_state", 2))
    rest, left = rest_of(pipeline, seeds, 1)
    assert ([name for name, _ in rest.steps], left) == (["c", "d"], seeds)
    assert rest_of(pipeline, seeds, 3) == (forest, (("random_state", 2),))


def test_the_last_of_the_last():
    assert last_of(make_pipeline(StandardScaler(), make_pipeline(PCA(), TREE))) is TREE
    assert last_of(TREE) is TREE


def test_put_together_is_what_was_taken_apart():
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.arange(30) % 2
    pipeline = Pipeline(
        [("a", StandardScaler()), ("b", None), ("c", PCA(2)), ("d", DecisionTreeClassifier(random_state=0))]
    )
    whole = Pipeline(list(pipeline.steps)).fit(X, y)
    expected = whole.predict_proba(X)
    steps = [step for _, step in whole.steps]
    for used, rest in ((1, Pipeline([("c", steps[2]), ("d", steps[3])])), (3, steps[3])):
        fitted = [(0, steps[0])] + ([(2, steps[2])] if used == 3 else [])
        model = put_together(Pipeline(list(pipeline.steps)), fitted, used, rest)
        assert [name for name, _ in model.steps] == list("abcd")
        np.testing.assert_array_equal(model.predict_proba(X), expected)
