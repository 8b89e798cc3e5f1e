"""A study of rows in time order: every number is from later rows than those trained on, and the page says so."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeRegressor

from truefit import Engine, assess, study
from truefit._core.errors import InvalidInput

N = 150
MODELS = {
    "dummy": DummyRegressor(),
    "linear": LinearRegression(),
    "tree": DecisionTreeRegressor(max_depth=3, random_state=0),
}


def table(seed=0):
    """A drifting level that a tree can read off the season of a shuffled neighbour, and no model can foresee."""
    random = np.random.default_rng(seed)
    days = pd.date_range("2022-01-01", periods=N, freq="D")
    level = np.cumsum(0.4 * random.normal(size=N))
    X = pd.DataFrame({"x": random.normal(size=N), "slow": np.arange(N) + 3 * random.normal(size=N), "day": days})
    return X, pd.Series(X["x"] + level + 0.3 * random.normal(size=N), name="sales")


@pytest.fixture(scope="module")
def found():
    X, y = table()
    with Engine(on_error="record", progress=False) as engine:
        return study(X, y, MODELS, time="day", engine=engine), engine


def test_every_number_is_from_the_periods(found):
    result, engine = found
    X, y = table()
    run = engine.stats.run
    same = assess(MODELS, X, y, time="day", metric="rmse", engine=engine)
    assert engine.stats.run == run
    assert result.assessment.estimate == same.estimate
    assert result.columns == 2
    assert len(result.honest.chosen) == 4
    assert result.estimate == result.honest.estimate
    shuffled = assess(MODELS[result.best], X[["x", "slow"]], y, metric="rmse", engine=engine)
    assert engine.stats.run == run
    assert result.shuffled == pytest.approx(shuffled.estimate)
    assert result.shuffled < result.estimate
    assert result.perturbation.errors.description == "forward-chaining over 5 periods"


def test_windows_of_limited_length_and_gaps():
    X, y = table()
    series = TimeSeriesSplit(4, max_train_size=40, gap=5)
    with Engine(on_error="record", progress=False) as engine:
        result = study(X, y, MODELS, time="day", cv=series, engine=engine)
        run = engine.stats.run
        assert (
            result.assessment.estimate
            == assess(MODELS, X, y, time="day", cv=series, metric="rmse", engine=engine).estimate
        )
        assert engine.stats.run == run
    assert {len(split.train) for split in result.assessment.splits} == {25, 40}
    assert "TimeSeriesSplit(gap=5, max_train_size=40, n_splits=4" in result.made["command"]
    with pytest.raises(InvalidInput, match="must be a whole number of at least 2 folds"):
        study(X[["x"]], y, MODELS, cv=series)


def test_what_needs_shuffled_rows_is_not_run_with_the_reason(found):
    result, _ = found
    assert [what.split(" of ")[0] for what, _ in result.not_run] == [
        "Cross-tested Agghoo",
        "Bias and variance",
        "Learning curve",
    ]
    assert all("time" in why or "periods" in why for _, why in result.not_run)
    assert result.bias_variance is None
    assert result.curves is None
    assert not any(finding.code == "TF102" for finding in result.findings)


def test_the_sentences_speak_of_periods(found):
    result, _ = found
    text, page = result.summary(), result.to_html()
    assert " on the next period." in text
    assert "Shuffled cross-validation, which ignores time, gives" in text
    assert "better than the estimate." in text
    assert "All candidates use the same 5 periods in time order" in text
    assert "(4 outer periods)" in text
    for words in ("new rows", "fold", "Rows are treated as independent"):
        assert words not in text
    for words in ("RMSE on the next period", "RMSE against time: each stroke is a period", "2022-02-20 to 2022-03-16"):
        assert words in page
    assert " fold" not in page.partition("<svg")[0]
    assert result.plot("time").get_xlabel() == "day"
    assert result.to_dict()["roles"] == {"time": "day"}


def test_times_and_ids_are_told_apart():
    X, y = table()
    X = X.assign(day=np.arange(N)[::-1], row_id=np.random.default_rng(0).permutation(N))
    codes = {
        name: [finding.evidence["columns"] for finding in study(X, y, [DummyRegressor()], **options).findings
               if finding.code == "TF102"]
        for name, options in {"with": {"time": X["day"]}, "without": {}}.items()
    }  # fmt: skip
    assert codes == {"with": [["row_id"]], "without": [["day", "row_id"]]}


def test_one_candidate_has_all_periods_and_few_periods_no_interval():
    X, y = table()
    result = study(X, (y > y.rolling(20, 1).mean()).to_numpy(), [GaussianNB()], time="day", cv=4)
    assert result.estimate == result.assessment.estimate["GaussianNB"]
    assert "Student's t" in result.assessment.interval_method["GaussianNB"]
    several = study(X, (y > 0).to_numpy(), [DummyClassifier(), GaussianNB()], time="day", cv=3)
    assert several.interval is None
    reason = "2 periods, those of the 3 with earlier ones to select by, show too little of the spread between periods"
    assert f"{reason}; use at least 5 periods (cv)" in several.summary()


@pytest.mark.parametrize(("seed", "advice"), [(0, "Look for other features"), (1, "Use more periods (cv) or look")])
def test_few_periods_are_no_proof_that_features_are_useless(seed, advice):
    X, y = table(seed)
    noise = pd.DataFrame({"noise": np.random.default_rng(9).normal(size=N), "day": X["day"]})
    result = study(noise, y, {"dummy": DummyRegressor(), "linear": LinearRegression()}, time="day")
    (finding,) = (each for each in result.findings if each.code == "TF201")
    assert finding.evidence["reason"] == ("tie" if seed else "best")
    alone = study(noise, y, {"linear": LinearRegression()}, time="day").to_dict()
    assert alone["baseline"] == pytest.approx(result.assessment.estimate["dummy"])
    assert alone["answers"][0]["headline"].startswith("None: ")
    assert finding.advice.startswith(advice)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("rare", "periods", "best"), [([12, 40], 3, "linear"), ([50], 5, "bayes")])
def test_a_class_that_comes_late_does_not_stop_a_study(rare, periods, best):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.isin(np.arange(60), rare).astype(int)
    X[:, 0] += 9 * y
    models = {"linear": LogisticRegression(), "bayes": GaussianNB()}
    result = study(X, y, models, time=np.arange(60), engine=Engine(on_error="record", progress=False))
    assert result.best == best
    assert len(result.assessment.split_scores()[best]) == periods
    assert "TF107" in [finding.code for finding in result.findings]


def test_bad_times_are_refused_before_any_fit():
    X, y = table()
    with pytest.raises(InvalidInput, match="X has no column 'date'"):
        study(X, y, time="date")
    with pytest.raises(InvalidInput, match=r"needs? at least 201 different times.* Use cv=149"):
        study(X, y, time="day", cv=200)


@pytest.mark.skipif("TRUEFIT_DATA" not in os.environ, reason="the public tables are not there")
def test_rented_bikes_are_harder_to_foresee_than_shuffled_folds_say():
    bikes = pd.read_parquet(Path(os.environ["TRUEFIT_DATA"]) / "bike_sharing.parquet")[::12]
    X, y = bikes.drop(columns="cnt").select_dtypes("number"), bikes["cnt"]
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    forward = assess(tree, X, y, time="day_index", cv=9, metric="rmse")
    shuffled = assess(tree, X, y, metric="rmse")
    assert forward.estimate > 1.2 * shuffled.estimate
    assert "on the next period" in forward.estimand
