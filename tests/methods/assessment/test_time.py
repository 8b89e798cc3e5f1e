"""Rows in time order: numbers equal those by hand, whatever the table is made of, and the picture shows them."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import t
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import mean_squared_error
from sklearn.neighbors import KNeighborsRegressor

from truefit import (
    AgghooRegressor,
    Engine,
    assess,
    bias_variance,
    compare,
    complexity_curve,
    cross_test,
    learning_curve,
    perturb,
)
from truefit._core.errors import InvalidInput

N = 72
_random = np.random.default_rng(3)
X = _random.normal(size=(N, 3))
Y = X @ [1.0, -1.0, 0.0] + np.linspace(0, 3, N) + 0.5 * _random.normal(size=N)
DAYS = pd.date_range("2023-01-01", periods=N, freq="D")
MODELS = {"linear": LinearRegression(), "knn": KNeighborsRegressor(3)}


def by_hand(model, periods=5):
    cuts = [N * i // (periods + 1) for i in range(1, periods + 2)]
    return [mean_squared_error(Y[a:b], model.fit(X[:a], Y[:a]).predict(X[a:b])) for a, b in pairwise(cuts)]


def test_the_estimate_is_the_mean_over_periods_and_the_interval_for_the_next_one():
    result = assess(LinearRegression(), X, Y, time=DAYS)
    scores = np.array(by_hand(LinearRegression()))
    np.testing.assert_allclose(result.split_scores()["LinearRegression"], scores)
    half = t.ppf(0.975, 4) * scores.std(ddof=1) * np.sqrt(1 + 1 / 5)
    assert result.estimate == pytest.approx(scores.mean())
    assert result.interval == pytest.approx((max(scores.mean() - half, 0), scores.mean() + half))
    assert result.interval_method == "Student's t for the next of 5 periods"
    assert "mean squared error on the next period" in result.estimand
    assert "forward-chaining over 5 periods" in result.summary()
    assert "neighbouring periods may be dependent" in result.summary()
    assert result.to_dict()["periods"][-1] == {"from": "2023-03-02", "to": "2023-03-13"}
    # The usual interval of the mean is narrower: the next period varies too.
    assert result.interval[1] > scores.mean() + t.ppf(0.975, 4) * scores.std(ddof=1) / np.sqrt(5)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"design": "holdout"}, "one period shows too little of the spread between periods"),
        ({"cv": 3}, "3 periods show too little of the spread between periods; use at least 4"),
    ],
)
def test_few_periods_have_no_interval_and_a_reason(options, reason):
    result = assess(LinearRegression(), X, Y, time=DAYS, **options)
    assert result.interval is None
    assert reason in result.interval_reason
    last = options.get("design") == "holdout"
    expected = by_hand(LinearRegression())[-1] if last else np.mean(by_hand(LinearRegression(), 3))
    assert result.estimate == pytest.approx(expected)


def test_tables_of_any_kind_and_rows_in_any_order_give_the_same_numbers():
    frame = pd.DataFrame(X, columns=list("abc")).assign(day=DAYS)
    order = np.random.default_rng(0).permutation(N)
    expected = assess(MODELS, X, Y, time=DAYS).estimate
    shuffled = frame.iloc[order]
    others = [
        assess(MODELS, frame, Y, time="day"),
        assess(MODELS, frame[list("abc")], Y, time=frame["day"]),
        assess(MODELS, shuffled, Y[order], time="day"),
        assess(MODELS, pl.from_pandas(frame), Y, time="day"),
        assess(MODELS, pl.from_pandas(shuffled), Y[order], time="day"),
        assess(MODELS, X, Y, time=np.arange(N) / 7),
        assess(MODELS, X, Y, time=DAYS, random_state=5),
    ]
    for other in others:
        assert other.estimate == pytest.approx(expected)
        assert other.time_name == ("time" if other is others[-1] or other is others[-2] else "day")


def test_fits_are_shared_with_other_methods_on_the_same_periods():
    engine = Engine()
    found = compare(MODELS, X, Y, time=DAYS, engine=engine)
    run = engine.stats.run
    assert assess(MODELS, X, Y, time=DAYS, engine=engine).estimate == found.assessment.estimate
    assert assess(MODELS, X, Y, time=DAYS, design="holdout", engine=engine).names == list(MODELS)
    assert engine.stats.run == run
    assert any("5 periods only large differences are significant" in note for note in found.notes)
    assert found.plot("time").get_xlabel() == "time"
    curve = complexity_curve(Ridge(), X, Y, parameter="alpha", values=[0.0, 10.0], time=DAYS)
    assert curve.table["estimate"].iloc[0] == pytest.approx(np.mean(by_hand(LinearRegression())))


def test_noise_is_judged_by_the_errors_of_the_periods():
    for kind in ("target", "feature"):
        result = perturb(MODELS, X, Y, time=DAYS, levels=[0.5], repeats=2, perturbation=kind)
        assert result.errors.description == "forward-chaining over 5 periods"
        np.testing.assert_allclose(result.errors.scores["linear"], by_hand(LinearRegression()))
    labels = (Y > 1.5).astype(int)
    with pytest.raises(InvalidInput, match="in time order the first ones have none"):
        perturb(LogisticRegression(), X, labels, time=_random.permutation(N), perturbation="boundary")


@pytest.mark.parametrize(
    ("function", "first", "said"),
    [
        (bias_variance, Ridge(), "its samples mix rows of all times. Pass later rows as X_test"),
        (learning_curve, Ridge(), "To see whether older rows help, call assess with time="),
        (cross_test, AgghooRegressor(Ridge(), {"alpha": [1.0]}), "Use HonestSearchCV with fit"),
    ],
)
def test_functions_that_shuffle_refuse_time_with_what_to_do(function, first, said):
    with pytest.raises(InvalidInput, match="cannot keep rows in time order") as error:
        function(first, X, Y, time=DAYS)
    assert said in str(error.value)


def test_pictures_against_time_need_time():
    with pytest.raises(InvalidInput, match="pass time= to the function"):
        assess(LinearRegression(), X, Y).plot("time")
