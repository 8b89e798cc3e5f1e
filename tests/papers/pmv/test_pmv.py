"""The experiments run, and find what the paper and those who repeated it found."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import KFold, cross_validate
from sklearn.naive_bayes import GaussianNB

from papers import find_experiment
from papers.data import adult, breast_cancer, connect4
from papers.experiment import Setting
from papers.pmv.accuracy import accuracies
from papers.pmv.table1 import paper_table
from papers.pmv.unlimited_tree import unlimited_tree
from truefit import Engine

FOLDER = Path(os.environ.get("TRUEFIT_DATA", "/nowhere"))
needs_data = pytest.mark.skipif(not FOLDER.is_dir(), reason="TRUEFIT_DATA names no folder")


def test_accuracies_are_those_of_cross_validate():
    X, y = paper_table("circle", 0.2)
    ours = accuracies({"nb": GaussianNB()}, X, y, KFold(10).split(X), engine=Engine())["nb"]
    theirs = cross_validate(GaussianNB(), X, y, cv=KFold(10), return_train_score=True)
    np.testing.assert_allclose(ours.test, theirs["test_score"])
    np.testing.assert_allclose(ours.train, theirs["train_score"])


def test_an_unlimited_tree_has_rate_0():
    found = unlimited_tree(*breast_cancer(), Setting(), draws=2)
    assert found.rate < 1e-12
    assert all((each.train == 1).all() for each in found.folds)
    assert 0.05 < found.gap < 0.1


@pytest.mark.slow
def test_the_quick_experiment_says_what_it_left_out_and_tells_what_it_does():
    told = []
    page = find_experiment("pmv-unlimited-tree").run(Setting(quick=True, tell=told.append))
    assert told == ["breast cancer"]
    assert [claim.what.split(",")[0] for claim in page.claims] == [
        "rate on breast cancer",
        "train-test gap on breast cancer",
    ]
    assert any("breast cancer alone" in note for note in page.notes)


@pytest.mark.slow
def test_table_1_selects_the_same_models_in_all_columns():
    page = find_experiment("pmv-table1").run(Setting())
    chosen = page.claims[0]
    assert chosen.here == "the same in 9 of 9 columns"
    assert chosen.holds
    held = {claim.what: claim.holds for claim in page.claims}
    assert held["rates on moon of NB, Linear SVM, RBF SVM"]
    assert held["rates on linear of NB, Linear SVM, RBF SVM"]
    assert held["test accuracies of GP, NB, Linear SVM, RBF SVM"]
    assert not held["rates on circle of NB, Linear SVM, RBF SVM"]


@pytest.mark.slow
@needs_data
def test_an_unlimited_tree_on_the_large_tables():
    found = unlimited_tree(*connect4(FOLDER), Setting(), draws=1)
    assert found.rate < 1e-12
    assert abs(found.gap - 0.242) <= 0.005
    found = unlimited_tree(*adult(FOLDER), Setting(), draws=1)
    assert found.rate == pytest.approx(6e-4, abs=2e-4)
    assert abs(found.gap - 0.188) <= 0.005


@pytest.mark.slow
@needs_data
def test_a_quick_figure_4_judges_nothing():
    page = find_experiment("pmv-fig4").run(Setting(folder=FOLDER, quick=True))
    assert [claim.holds for claim in page.claims] == [None]
    assert [line[0] for line in page.tables[0].lines] == ["10", "40", "100"]
