import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from truefit._core.data import Data
from truefit._core.fingerprint import Fingerprint
from truefit._core.identity import Keys
from truefit._core.metadata import WithFitParams, bare, fit_metadata, wants_groups, weight_parameter
from truefit._core.rows import Rows
from truefit._core.task import FitTask

rng = np.random.default_rng(0)
X, y, VALUES = rng.normal(size=(20, 2)), np.arange(20) % 2, rng.uniform(size=20)
DATA = Data(X, y, task="classification")


def task(params, rows=range(10)):
    return FitTask(WithFitParams(LogisticRegression(), params, 20), Rows.of(np.array(rows)))


def test_values_by_row_are_taken_for_the_rows_and_others_passed_on():
    pairs = [(X, y)]
    made = WithFitParams(LogisticRegression(), {"offset": VALUES, "eval_set": pairs, "flag": "x"}, 20)
    found = fit_metadata(made, DATA, np.array([3, 5]))
    assert found["offset"].tolist() == VALUES[[3, 5]].tolist()
    assert found["eval_set"][0][0].tolist() == X.tolist()
    assert found["eval_set"] is not pairs
    assert found["flag"] == "x"
    assert made.by_row
    assert not WithFitParams(LogisticRegression(), {"flag": "x"}, 20).by_row


def test_weights_of_the_table_come_along():
    weighted = Data(X, y, task="classification", weight=VALUES)
    made = WithFitParams(LogisticRegression(), {"flag": 1}, 20)
    assert fit_metadata(made, weighted, np.array([2]))["sample_weight"].tolist() == [VALUES[2]]
    assert weight_parameter(bare(made)) == "sample_weight"
    assert not wants_groups(made)


def test_a_clone_shares_the_parameters_and_not_the_estimator():
    made = WithFitParams(LogisticRegression(), {"callbacks": [print]}, 20)
    again = clone(made)
    assert again.params is made.params
    assert again.estimator is not made.estimator
    assert Fingerprint(again).digest == Fingerprint(made).digest
    assert Fingerprint(WithFitParams(LogisticRegression(), {}, 20)).digest != Fingerprint(made).digest


def test_the_identity_of_a_fit_has_its_parameters():
    keys = Keys(DATA)
    assert keys.fit(task({"flag": 1})).key == keys.fit(task({"flag": 1})).key
    different = [{"flag": 1}, {"flag": 2}, {"other": 1}, {"offset": VALUES}, {"offset": VALUES[::-1]}]
    found = {keys.fit(task(params)).key for params in different}
    assert len(found) == len(different)


def test_values_by_row_bind_a_fit_to_the_places_of_its_rows():
    order = rng.permutation(20)
    moved = Keys(Data(X[order], y[order], task="classification"))
    places = np.sort(np.argsort(order)[:10])  # where the first ten rows stand now
    for params, same in (({"flag": 1}, True), ({"offset": VALUES}, False)):
        assert (moved.fit(task(params, places)).key == Keys(DATA).fit(task(params)).key) == same


def test_parameters_without_content_give_a_key_of_their_own():
    keys = Keys(DATA)
    with pytest.warns(UserWarning, match="LogisticRegression cannot be identified by its content"):
        first = keys.fit(task({"callback": threading.local()}))
    with pytest.warns(UserWarning, match="cannot be identified"):
        second = keys.fit(task({"callback": threading.local()}))
    assert first.key != second.key
