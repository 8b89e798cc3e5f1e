import numpy as np
import pytest
from benchmarks.coverage import learners
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

PEERS = {
    "discriminant": (learners.Discriminant(), LinearDiscriminantAnalysis(), load_wine),
    "naive Bayes": (learners.NaiveBayes(), GaussianNB(), load_wine),
    "neighbours": (learners.NeighbourClassifier(5), KNeighborsClassifier(5), load_wine),
    "mean of neighbours": (learners.NeighbourRegressor(7), KNeighborsRegressor(7), load_diabetes),
    "ridge": (learners.RidgeRegressor(0.3), Ridge(0.3), load_diabetes),
    "logistic": (learners.Logistic(), LogisticRegression(tol=1e-8, max_iter=1000), load_breast_cancer),
}


@pytest.mark.parametrize("name", PEERS)
def test_it_predicts_what_scikit_learns_predicts(name):
    ours, theirs, load = PEERS[name]
    X, y = load(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    train = np.arange(len(X)) % 3 > 0
    expected = theirs.fit(X[train], y[train]).predict(X[~train])
    assert np.allclose(ours.fit(X[train], y[train]).predict(X[~train]), expected, rtol=1e-6)
