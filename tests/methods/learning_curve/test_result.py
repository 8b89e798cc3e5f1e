import re

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from truefit import learning_curve
from truefit._methods.learning_curve.result import labelling

X, Y = make_classification(200, 6, n_informative=4, flip_y=0.15, random_state=0)


@pytest.fixture(scope="module")
def curve():
    return learning_curve(GaussianNB(), X, Y, cv=5, tolerance=0.001)


def test_as_many_as_the_next_step_takes_or_as_there_are(curve):
    assert curve.rule == "rows"
    more = curve.next_size - 200
    assert more > 20
    assert labelling(curve, 200).rows == labelling(curve, 200, unlabelled=more).rows == more
    assert str(labelling(curve, 200)) == f"Label {more:,} more rows, then rerun."
    assert labelling(curve, 200, unlabelled=more - 1).rows == more - 1
    assert str(labelling(curve, 200, unlabelled=1)) == "Label the remaining 1 row, then rerun."
    assert labelling(curve, 200, unlabelled=0).to_dict() == {
        "rows": 0,
        "reading": "Stop labelling: all rows are labelled.",
    }


def test_the_advice_has_the_cost_of_the_rows():
    priced = learning_curve(GaussianNB(), X, Y, cv=5, tolerance=0.001, budget={"money": 500, "price_per_row": 0.25})
    more = priced.next_size - 200
    left = 500 - 50 - more / 4
    assert str(labelling(priced, 200)) == f"Label {more} more rows (cost {more / 4:g}, {left:g} left), then rerun."
    poor = learning_curve(GaussianNB(), X, Y, cv=5, tolerance=0.001, budget={"money": 52, "price_per_row": 0.25})
    assert str(labelling(poor, 200)) == "Label 8 more rows (cost 2, 0 left), then rerun."


def test_the_advice_says_first_whether_the_target_is_expected():
    table = make_classification(400, 10, n_informative=8, random_state=1)
    curve = learning_curve(GaussianNB(), *table, cv=5, tolerance=0.001)
    options = {"cv": 5, "tolerance": 0.001, "schedule": curve.sizes.astype(int).tolist()}
    missed = learning_curve(GaussianNB(), *table, target=curve.end / 2, **options)
    assert f"it levels off at {curve.end:.3g}" in missed.summary()
    assert curve.end < curve.predict(100_000)[0]
    far = labelling(missed, 400)
    assert re.match(
        r"The target 0\.\d+ is not expected to be reached, but it is not excluded either\. Label ", str(far)
    )
    near = labelling(learning_curve(GaussianNB(), *table, target=float(curve.predict(800)[0]), **options), 400)
    assert re.match(r"About 80\d rows are expected to reach the target 0\.\d+\. Label ", str(near))


def test_rows_that_are_not_there_are_not_next(curve):
    near = learning_curve(GaussianNB(), X, Y, cv=5, tolerance=0.0001, horizon=205)
    assert near.next_size == 205
    assert "Next: 205 rows." in near.summary()
    assert str(labelling(near, 200, unlabelled=5)) == "Label the remaining 5 rows, then rerun."
    spent = learning_curve(GaussianNB(), X, Y, cv=5, tolerance=0.001, budget=100)
    assert spent.next_size is None
    assert "Next" in curve.summary()
    assert "Next" not in spent.summary()
    one = learning_curve(GaussianNB(), X, Y, cv=5, schedule=[100])
    assert "1 size from 100" in one.summary()


def test_where_nothing_was_learned_the_advice_begins_with_that():
    noise = np.random.default_rng(0)
    rare = np.arange(200) % 7 < 2
    curve = learning_curve(GaussianNB(), noise.normal(size=(200, 6)), rare, cv=5, tolerance=0.001)
    assert curve.refused is None
    assert curve.errors[0] > curve.errors[-1]
    assert curve.beats_baseline is False
    assert curve.warnings[0].startswith("The error with 200 rows is not clearly below that of the baseline (29.0%)")
    advice = labelling(curve, 200, unlabelled=1000)
    assert advice.rows == curve.next_size - 200
    assert str(advice).startswith("The error is not clearly below that of the baseline yet. Check the features")
    assert f"label {advice.rows} more rows" in str(advice)


def test_a_continued_curve_and_a_fresh_one_agree():
    fresh = learning_curve(GaussianNB(), X, Y, cv=5)
    continued = learning_curve(GaussianNB(), X, Y, cv=5, batches=[120, 200])
    (one, *_), (other, low, high) = fresh.predict(400), continued.predict(400)
    assert low <= one <= high
    assert fresh.predict(400)[1] <= other <= fresh.predict(400)[2]


def test_enough_is_enough_and_a_spent_budget_ends_it():
    easy, classes = make_classification(200, 6, n_informative=4, class_sep=2.0, random_state=0)
    enough = learning_curve(GaussianNB(), easy, classes, cv=5, tolerance=0.9)
    assert enough.enough
    assert labelling(enough, 200, unlabelled=1000) == labelling(enough, 200)
    assert str(labelling(enough, 200)) == f"Stop labelling. {enough.reason}"
    spent = learning_curve(GaussianNB(), X, Y, cv=5, tolerance=0.001, budget=100)
    assert str(labelling(spent, 200)).startswith("Stop here. Budget of 100 rows exhausted.")
