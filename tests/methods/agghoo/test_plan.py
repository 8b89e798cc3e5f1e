import pickle

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from truefit._core.data import Data
from truefit._core.errors import Failure, FitError
from truefit._core.outcome import Outcome, Predictions
from truefit._core.rows import Rows
from truefit._methods.agghoo.plan import (
    AgghooConfig,
    Candidate,
    ValidationLoss,
    checked_failures,
)
from truefit._metrics.metric import get_metric

X = np.arange(40.0).reshape(20, 2)
DATA = Data(X, X[:, 0], task="regression")


def config(metric):
    candidates = [Candidate("ridge", {"alpha": alpha}, Ridge(alpha)) for alpha in (1.0, 2.0, 3.0)]
    return AgghooConfig(candidates, "regression", get_metric(metric, "regression"), "mean")


def test_the_best_is_the_first_of_equals_and_never_one_that_failed():
    assert config("mse").best(np.array([np.nan, 2.0, 2.0])) == 1
    assert config("mse").best(np.array([3.0, 1.0, 2.0])) == 1
    assert config("r2").best(np.array([0.3, 0.1, 0.3])) == 0


def test_a_candidate_says_what_it_is():
    assert Candidate("ridge", {"alpha": 2.0}, Ridge()).label == "ridge(alpha=2.0)"
    assert Candidate("network", {}, Ridge(), stage=7).label == "network at 7"


def test_the_loss_of_a_fit_is_worked_out_without_the_table_and_travels():
    rows = Rows.of([1, 3])
    outcome = Outcome("a fit", (Predictions("predict", DATA.tokens[[1, 3]], np.array([2.0, 9.0])),))
    loss = ValidationLoss(get_metric("mse", "regression"), DATA, rows)
    assert loss(outcome) == 4.5
    assert pickle.loads(pickle.dumps(loss))(outcome) == 4.5
    assert ValidationLoss(get_metric("r2", "regression"), DATA, rows)(outcome) == -(1 - 9 / 8)
    wide = Data(np.zeros((20, 5000)), X[:, 0], task="regression")
    assert len(pickle.dumps(ValidationLoss(get_metric("mse", "regression"), wide, rows))) < 10_000


def test_a_split_without_any_candidate_is_an_error():
    good, bad = Outcome("good"), Outcome("bad", error=Failure("raised", "ValueError: no"))
    assert [failure.message for failure in checked_failures([[good, bad], [good, good]])] == ["ValueError: no"]
    with pytest.raises(FitError, match="All 2 fits of split 1 failed"):
        checked_failures([[good, bad], [bad, bad]])
