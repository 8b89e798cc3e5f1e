"""Table 1 of the paper: which model is selected on tables whose shape is known."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, cross_validate

from papers.pmv.table1 import (
    MODELS,
    NOISES,
    PUBLISHED,
    SELECTED,
    SHAPES,
    paper_models,
    paper_table,
    published_rates,
)
from truefit import Engine, perturb

QUICK = ("Decision Tree", "Naive Bayes", "Linear SVM", "RBF SVM")
COLUMNS = [(shape, noise) for shape in SHAPES for noise in NOISES]


def test_the_printed_table_selects_what_the_paper_says():
    for shape, noise in COLUMNS:
        rates = published_rates(shape, noise)
        assert max(rates, key=rates.get) == SELECTED[shape]


@pytest.mark.parametrize(("shape", "noise"), COLUMNS)
def test_selections_among_the_quick_models(shape, noise):
    models = {name: model for name, model in paper_models().items() if name in QUICK}
    result = perturb(models, *paper_table(shape, noise), mode="paper", repeats=5)
    assert result.best == SELECTED[shape]
    printed = published_rates(shape, noise)
    if shape != "circle":  # there the printed rates do not come from flips within classes
        for name in ("Naive Bayes", "Linear SVM", "RBF SVM"):
            assert abs(result.rate[name] - printed[name]) <= 0.15


@pytest.mark.parametrize(("shape", "noise"), COLUMNS)
def test_cross_validation_as_printed(shape, noise):
    X, y = paper_table(shape, noise)
    for name in ("Naive Bayes", "Linear SVM", "RBF SVM"):
        found = cross_validate(paper_models()[name], X, y, cv=KFold(10), return_train_score=True)
        test, train = found["test_score"].mean(), found["train_score"].mean()
        column = 3 * NOISES.index(noise)
        printed = PUBLISHED[shape][MODELS.index(name)]
        assert abs(test - printed[column + 1]) <= 0.0101
        if name != "Naive Bayes" or (shape, noise) not in {("moon", 0.0), ("circle", 0.2)}:  # 0.87 is a misprint
            assert abs(abs(train - test) - printed[column + 2]) <= 0.0101


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore:overflow encountered in exp")
def test_selections_among_all_models():
    engine = Engine()
    chosen = {}
    for shape, noise in COLUMNS:
        result = perturb(paper_models(), *paper_table(shape, noise), mode="paper", repeats=5, engine=engine)
        chosen[shape, noise] = result.best
        assert result.rate["Random Forest"] < 0.2
        assert np.isfinite(list(result.rate.values())).all()
    assert chosen == {(shape, noise): SELECTED[shape] for shape, noise in COLUMNS}
