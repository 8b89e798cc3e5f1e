"""Which columns the selected model of a study needs: on request, from the fits of the study."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from truefit import Engine, study
from truefit._core.errors import InvalidInput
from truefit._study.importance import measured_importance

X, Y = load_diabetes(return_X_y=True, as_frame=True)
MODELS = {"ridge": Ridge(alpha=0.1), "tree": DecisionTreeRegressor(max_depth=2, random_state=0)}


def test_a_study_measures_importances_with_at_most_one_refit_per_fold():
    with Engine(progress=False, on_error="record") as engine:
        found = study(X, Y, MODELS, engine=engine)
        assert found.columns_answer is None
        assert "Which columns matter?" not in found.to_html()
        before = engine.stats.run + engine.stats.refitted
        result = found.importance()
        assert engine.stats.run + engine.stats.refitted - before <= 5
    assert found.importance() is result
    assert result.metric == "rmse"
    assert result.estimate == pytest.approx(np.mean(found.assessment.split_scores()[found.best]), rel=0.01)
    assert "Which columns matter?" in found.summary()
    assert found.columns_answer.headline.startswith("bmi")
    page = found.to_html()
    assert 'id="columns"' in page
    assert "together: s1 + s2" in page
    assert found.to_dict()["parts"]["importance"]["columns"][0]["column"] == "bmi"
    assert found.importance(repeats=2) is not result


def test_importance_is_part_of_a_study_on_request_and_finds_a_column_that_carries_all():
    leaking = X.assign(after=Y + 1e-3 * X["age"])[["age", "bp", "s3", "after"]]
    found = study(leaking, Y, {"ridge": Ridge(alpha=1e-3)}, importance=True)
    (finding,) = [each for each in found.findings if each.code == "TF215"]
    assert finding.evidence["column"] == "after"
    muted = study(leaking, Y, {"ridge": Ridge(alpha=1e-3)}, importance=True, ignore=("TF215",))
    assert "TF215" not in [each.code for each in muted.findings]


def test_columns_for_which_the_time_is_not_enough_are_named():
    found = study(X[:120], Y[:120], {"ridge": Ridge(alpha=0.1)}, cv=3)
    found.permute = lambda **options: measured_importance(Engine(progress=False), found._config, "ridge", {}, **options)
    calls = iter(range(1000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("truefit._study.importance._passed", lambda end: next(calls) >= 3)
        result = found.importance(seconds=60)
    assert result.not_run == list(X.columns[3:])
    assert "7 columns were not permuted" in found.summary()
    assert result.sets.empty
    found.permute = None
    found._found.importance = None
    with pytest.raises(InvalidInput, match="Importances need the engine that ran the study"):
        found.importance()
