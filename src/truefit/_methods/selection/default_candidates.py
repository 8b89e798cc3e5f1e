"""Default candidates: a small set of learners that suits the task and the table, with their preprocessing."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, TransformerMixin, clone, is_classifier

from truefit._core.validation import Task, check_no_infinities


class EncodedLabels(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Fits a classifier on integer codes of the classes, and predicts the classes themselves.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> fitted = EncodedLabels(GaussianNB()).fit([[0.0], [0.1], [2.0], [2.1]], ["no", "no", "yes", "yes"])
    >>> fitted.predict([[0.05]]).tolist(), fitted.estimator_.classes_.tolist()
    (['no'], [0, 1])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> EncodedLabels:
        """Fit on the codes of the labels."""
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        self.estimator_ = clone(self.estimator).fit(X, codes, **weights)
        return self

    def predict(self, X: Any) -> Any:
        """Return the label of each row."""
        codes = np.asarray(self.estimator_.predict(X)).reshape(-1)  # CatBoost predicts a column of several classes
        return self.classes_[codes.astype(np.intp)]

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, in the order of ``classes_``."""
        return self.estimator_.predict_proba(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class NumpyColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns a polars frame into a pandas one, dates that Arrow holds into numpy's, and sparse columns into dense ones.

    It is the first step of every default pipeline, so a table gives the same models from pandas and from polars.

    >>> import pandas as pd
    >>> days = pd.Series(["2020-01-01", None]).astype("timestamp[s][pyarrow]")
    >>> NumpyColumns().fit_transform(pd.DataFrame({"day": days})).dtypes.tolist()
    [dtype('<M8[s]')]
    """

    def fit(self, X: Any, y: Any = None) -> NumpyColumns:
        """Learn nothing: the type of a column decides."""
        return self

    def transform(self, X: Any) -> Any:
        """Return a pandas frame; other tables as they are."""
        if type(X).__module__.startswith("polars"):
            return X.to_pandas()
        if not hasattr(X, "iloc") or len(X.shape) != 2:
            return X
        import pandas as pd

        converted = [_as_numpy(X.iloc[:, j]) for j in range(X.shape[1])]
        if all(column is None for column in converted):
            return X
        columns = [X.iloc[:, j] if column is None else column for j, column in enumerate(converted)]
        return pd.concat(columns, axis=1, ignore_index=True).set_axis(X.columns, axis=1)

    def __sklearn_is_fitted__(self) -> bool:
        return True


#: What is added to the name of a classifier to recalibrate its probabilities, and the method of scikit-learn.
RECALIBRATIONS: Final = {"platt": "sigmoid", "isotonic": "isotonic"}


def candidate_named(name: str, known: Mapping[str, Any]) -> Any:
    """Return the candidate of this name; "svm+platt" or "svm+isotonic" is one with recalibrated probabilities.

    They are recalibrated on folds of the training rows, so that cross-validation judges the whole. None if there is no
    such candidate.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> candidate_named("bayes+isotonic", {"bayes": GaussianNB()}).method
    'isotonic'
    """
    base, _, method = name.rpartition("+")
    if name in known or base not in known or method not in RECALIBRATIONS or not is_classifier(known[base]):
        return known.get(name)
    from sklearn.calibration import CalibratedClassifierCV

    return CalibratedClassifierCV(known[base], method=RECALIBRATIONS[method])


def _as_numpy(column: Any) -> Any:
    """Return a sparse column, or one of dates over Arrow, as numpy holds it; None for other columns."""
    import pandas as pd

    dtype = column.dtype
    if isinstance(dtype, pd.SparseDtype):
        return column.sparse.to_dense()
    if not isinstance(dtype, pd.ArrowDtype) or (dtype.kind not in "mM" and not str(dtype).startswith("date")):
        return None
    values = column.array.__arrow_array__().to_pandas(date_as_object=False)
    return values.set_axis(column.index).rename(column.name)


#: The time of a support vector machine grows with the square of its rows.
SVM_ROWS: Final = 3_000
#: Each tree of a forest is trained on at most so many rows.
FOREST_ROWS: Final = 10_000
#: From so many rows on networks stop early, by validation rows of their own.
EARLY_STOPPING_ROWS: Final = 2_000
#: Above so many columns boosting and networks take minutes.
MANY_COLUMNS: Final = 2_000

#: Learners that need columns of one scale.
_SCALED: Final = ("linear", "knn", "svm", "mlp")
_SPARSE: Final = ("dummy", "linear", "knn", "random_forest", "extra_trees", "svm")


def default_candidates(X: Any, task: Task, *, tuned: bool = False) -> dict[str, Any]:
    """Return learners by name, from a dummy to gradient boosting, with the preprocessing that X needs.

    A table with other columns than numbers, or with gaps, gets skrub's preprocessing in front of every learner, whether
    it is a pandas or a polars frame. A support vector machine is included up to 3,000 rows, boosting and a network up
    to 2,000 columns, LightGBM, XGBoost and CatBoost where they are installed, and with ``tuned`` extra trees, which
    hardly differ from a random forest untuned. InvalidInput is raised if X has infinities or numbers beyond single
    precision.

    >>> from sklearn.datasets import load_iris
    >>> names = list(default_candidates(load_iris().data, "classification"))
    >>> names[:9]
    ['dummy', 'linear', 'naive_bayes', 'knn', 'tree', 'random_forest', 'boosting', 'svm', 'mlp']
    """
    check_no_infinities(X)
    rows, columns = int(X.shape[0]), int(X.shape[1]) if len(X.shape) > 1 else 1
    learners = _learners(task, _Size(rows))
    slow = [] if tuned else ["extra_trees"]
    slow += ["svm"] if rows > SVM_ROWS else []
    slow += ["boosting", "mlp", "lightgbm", "xgboost", "catboost"] if columns > MANY_COLUMNS else []
    learners = {name: learner for name, learner in learners.items() if name not in slow}
    if sparse.issparse(X):
        return {name: learner for name, learner in learners.items() if name in _SPARSE}
    if _all_numbers(NumpyColumns().transform(X)):
        return {name: _scaled(learner) if name in _SCALED else learner for name, learner in learners.items()}
    return {name: learner if name == "dummy" else _preprocessed(learner) for name, learner in learners.items()}


@dataclass(frozen=True, slots=True)
class _Size:
    rows: int

    @property
    def neighbours(self) -> int:
        """Number of neighbours; small samples of a small table must have as many rows."""
        return min(15, max(self.rows // 5, 1))

    @property
    def forest(self) -> dict[str, Any]:
        """Rows per tree, as a share: the forest is also fitted on samples of the table."""
        return {} if self.rows <= FOREST_ROWS else {"max_samples": round(FOREST_ROWS / self.rows, 3)}

    @property
    def extra_trees(self) -> dict[str, Any]:
        """As for forests; samples of the rows need bootstrapping."""
        return {"bootstrap": True, **self.forest} if self.forest else {}

    @property
    def network(self) -> dict[str, Any]:
        early = {"early_stopping": True, "n_iter_no_change": 5} if self.rows >= EARLY_STOPPING_ROWS else {}
        return {"hidden_layer_sizes": (64,), "alpha": 0.01, "max_iter": 1000, **early}


def _all_numbers(X: Any) -> bool:
    if hasattr(X, "dtypes"):
        dtypes = list(X.dtypes)
        numeric = all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in dtypes) and len(dtypes) > 0
        return numeric and not bool(np.isnan(np.asarray(X, dtype=float)).any())
    array = np.asarray(X)
    return array.dtype.kind in "biu" or (array.dtype.kind == "f" and not bool(np.isnan(array).any()))


def _preprocessed(learner: Any) -> Any:
    from sklearn.preprocessing import OneHotEncoder
    from skrub import tabular_pipeline

    pipeline = tabular_pipeline(learner)
    vectorizer = pipeline[0]
    if isinstance(vectorizer.low_cardinality, OneHotEncoder):
        # skrub's default drops one of two categories: unknown categories then equal the dropped one, with a warning.
        vectorizer.low_cardinality = OneHotEncoder(sparse_output=False, dtype="float32", handle_unknown="ignore")
    pipeline.steps.insert(0, ("numpycolumns", NumpyColumns()))
    return pipeline


def _scaled(learner: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), learner)


def _learners(task: Task, size: _Size) -> dict[str, Any]:
    from sklearn import dummy, ensemble, linear_model, naive_bayes, neighbors, neural_network, svm, tree

    learners: dict[str, Any]
    if task == "classification":
        learners = {
            "dummy": dummy.DummyClassifier(),
            "linear": linear_model.LogisticRegression(max_iter=1000),
            "naive_bayes": naive_bayes.GaussianNB(),
            "knn": neighbors.KNeighborsClassifier(size.neighbours),
            "tree": tree.DecisionTreeClassifier(min_samples_leaf=5),
            "random_forest": ensemble.RandomForestClassifier(**size.forest),
            "extra_trees": ensemble.ExtraTreesClassifier(**size.extra_trees),
            "boosting": ensemble.HistGradientBoostingClassifier(),
            "svm": svm.SVC(),
            "mlp": neural_network.MLPClassifier(**size.network),
        }
    else:
        learners = {
            "dummy": dummy.DummyRegressor(),
            "linear": linear_model.Ridge(),
            "knn": neighbors.KNeighborsRegressor(size.neighbours),
            "tree": tree.DecisionTreeRegressor(min_samples_leaf=5),
            "random_forest": ensemble.RandomForestRegressor(max_features=1 / 3, **size.forest),
            "extra_trees": ensemble.ExtraTreesRegressor(max_features=1 / 3, **size.extra_trees),
            "boosting": ensemble.HistGradientBoostingRegressor(),
            "svm": _scaled_target(svm.SVR()),
            "mlp": _scaled_target(neural_network.MLPRegressor(**size.network)),
        }
    if importlib.util.find_spec("lightgbm"):
        import lightgbm

        kind = lightgbm.LGBMClassifier if task == "classification" else lightgbm.LGBMRegressor
        # By default it takes all cores, whatever the number of threads of the engine.
        learners["lightgbm"] = kind(verbose=-1, n_jobs=1)
    if importlib.util.find_spec("xgboost"):
        import xgboost

        classifies = task == "classification"
        learners["xgboost"] = EncodedLabels(xgboost.XGBClassifier()) if classifies else xgboost.XGBRegressor()
    if importlib.util.find_spec("catboost"):
        learners["catboost"] = _catboost(task)
    return learners


def _catboost(task: Task) -> Any:
    """Return CatBoost with one thread: it has threads of its own, which a limit of OpenMP does not reach.

    Parameters of the search space are given, since its ``get_params`` knows no others.
    """
    import catboost

    options = {"iterations": 300, "learning_rate": 0.05, "depth": 6, "thread_count": 1}
    options |= {"verbose": False, "allow_writing_files": False}
    if task == "classification":
        return EncodedLabels(catboost.CatBoostClassifier(**options))
    return catboost.CatBoostRegressor(**options)


def _scaled_target(learner: Any) -> Any:
    """Return a learner whose settings do not depend on the unit of the target."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    return TransformedTargetRegressor(learner, transformer=StandardScaler())
