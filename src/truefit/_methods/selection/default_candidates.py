"""Default candidates: a small set of learners that suits the task and the table, with their preprocessing."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, TransformerMixin, clone

from truefit._core.data import Task
from truefit._core.validation import check_no_infinities


class EncodedLabels(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Fits a classifier on the numbers of the classes, and answers with the classes themselves.

    Parameters
    ----------
    estimator : classifier
        With ``predict`` and ``predict_proba``.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> fitted = EncodedLabels(GaussianNB()).fit([[0.0], [0.1], [2.0], [2.1]], ["no", "no", "yes", "yes"])
    >>> fitted.predict([[0.05]]).tolist(), fitted.estimator_.classes_.tolist()
    (['no'], [0, 1])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> EncodedLabels:
        """Fit on the codes of the labels."""
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        self.estimator_ = clone(self.estimator).fit(X, codes)
        return self

    def predict(self, X: Any) -> Any:
        """Return the label of each row."""
        return self.classes_[np.asarray(self.estimator_.predict(X)).astype(np.intp)]

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, in the order of ``classes_``."""
        return self.estimator_.predict_proba(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class NumpyColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns dates, times and durations that Arrow holds into numpy's, and sparse columns into dense ones.

    skrub's preprocessing takes all other columns as they are. Frames of other libraries are handed on.

    Examples
    --------
    >>> import pandas as pd
    >>> days = pd.Series(["2020-01-01", None]).astype("timestamp[s][pyarrow]")
    >>> NumpyColumns().fit_transform(pd.DataFrame({"day": days})).dtypes.tolist()
    [dtype('<M8[s]')]
    """

    def fit(self, X: Any, y: Any = None) -> NumpyColumns:
        """Learn nothing: every column is turned by its own type."""
        return self

    def transform(self, X: Any) -> Any:
        """Return the frame with the columns turned."""
        places = columns_to_turn(X)
        if not places:
            return X
        turned = {j: _turned(X.iloc[:, j]) for j in places}
        columns = [turned.get(j, X.iloc[:, j]) for j in range(X.shape[1])]
        import pandas as pd

        return pd.concat(columns, axis=1).set_axis(X.columns, axis=1)

    def __sklearn_is_fitted__(self) -> bool:
        return True


def columns_to_turn(X: Any) -> list[int]:
    """Return the positions of the columns that preprocessing does not take as they are."""
    if not hasattr(X, "iloc") or len(X.shape) != 2:
        return []
    import pandas as pd

    return [
        j
        for j, dtype in enumerate(X.dtypes)
        if isinstance(dtype, pd.SparseDtype) or (isinstance(dtype, pd.ArrowDtype) and dtype.kind in "mM")
        or (isinstance(dtype, pd.ArrowDtype) and str(dtype).startswith("date"))
    ]  # fmt: skip


def _turned(column: Any) -> Any:
    import pandas as pd

    if isinstance(column.dtype, pd.SparseDtype):
        return column.sparse.to_dense()
    values = column.array.__arrow_array__().to_pandas(date_as_object=False)
    return values.set_axis(column.index).rename(column.name)


#: The time of a support vector machine grows with the square of its rows.
SVM_ROWS: Final = 3_000
#: Trees of a forest are grown on no more rows than this: each then takes well under a tenth of a second.
FOREST_ROWS: Final = 10_000
#: From so many rows on, a network can spare some to see when to stop.
EARLY_STOPPING_ROWS: Final = 2_000
#: Beyond so many columns, boosting and networks take minutes for what a linear model says in seconds.
MANY_COLUMNS: Final = 2_000

#: Learners that look at distances or take steps along slopes: columns must be of one scale.
_SCALED: Final = ("linear", "knn", "svm", "mlp")
_SPARSE: Final = ("dummy", "linear", "knn", "random_forest", "svm")
_OPTIONAL: Final = ("lightgbm", "xgboost")


def default_candidates(X: Any, task: Task) -> dict[str, Any]:
    """Return learners by name, from a dummy to gradient boosting, ready for the kind of table that X is.

    A table that is not all numbers gets skrub's preprocessing in front of every learner. A support vector machine is
    among them up to 3,000 rows, boosting and a network up to 2,000 columns, LightGBM and XGBoost where they are
    installed.

    Parameters
    ----------
    X : ndarray, sparse matrix, pandas or polars frame
    task : "classification" or "regression"

    Raises
    ------
    InvalidInput
        If X has infinities, or numbers beyond single precision: most of the learners cannot be fitted on them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> names = list(default_candidates(load_iris().data, "classification"))
    >>> names[:9]
    ['dummy', 'linear', 'naive_bayes', 'knn', 'tree', 'random_forest', 'boosting', 'svm', 'mlp']
    """
    check_no_infinities(X)
    rows, columns = int(X.shape[0]), int(X.shape[1]) if len(X.shape) > 1 else 1
    learners = _learners(_Size(rows, columns), task)
    if sparse.issparse(X):
        return {name: learner for name, learner in learners.items() if name in _SPARSE}
    if _all_numbers(X):
        return {name: _scaled(learner) if name in _SCALED else learner for name, learner in learners.items()}
    return {name: learner if name == "dummy" else _preprocessed(learner, X) for name, learner in learners.items()}


@dataclass(frozen=True, slots=True)
class _Size:
    rows: int
    columns: int

    @property
    def neighbours(self) -> int:
        """Not more than there are in the smaller samples of a small table."""
        return min(15, max(self.rows // 5, 1))

    @property
    def forest(self) -> dict[str, Any]:
        """A share of the rows, not a number of them: the forest is also fitted on samples of the table."""
        return {} if self.rows <= FOREST_ROWS else {"max_samples": round(FOREST_ROWS / self.rows, 3)}

    @property
    def network(self) -> dict[str, Any]:
        early = {"early_stopping": True, "n_iter_no_change": 5} if self.rows >= EARLY_STOPPING_ROWS else {}
        return {"hidden_layer_sizes": (64,), "alpha": 0.01, "max_iter": 1000, **early}


def _learners(size: _Size, task: Task) -> dict[str, Any]:
    learners = _classifiers(size) if task == "classification" else _regressors(size)
    if size.rows > SVM_ROWS:
        del learners["svm"]
    if size.columns > MANY_COLUMNS:
        for name in ("boosting", "mlp", *_OPTIONAL):
            learners.pop(name, None)
    return learners


def _all_numbers(X: Any) -> bool:
    if hasattr(X, "dtypes"):
        dtypes = list(X.dtypes)
        numeric = all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in dtypes) and len(dtypes) > 0
        return numeric and not bool(np.isnan(np.asarray(X, dtype=float)).any())
    array = np.asarray(X)
    return array.dtype.kind in "biu" or (array.dtype.kind == "f" and not bool(np.isnan(array).any()))


def _preprocessed(learner: Any, X: Any) -> Any:
    from skrub import tabular_pipeline

    pipeline = tabular_pipeline(learner)
    if columns_to_turn(X):
        pipeline.steps.insert(0, ("numpycolumns", NumpyColumns()))
    return pipeline


def _scaled(learner: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), learner)


def _classifiers(size: _Size) -> dict[str, Any]:
    from sklearn.dummy import DummyClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    learners = {
        "dummy": DummyClassifier(),
        "linear": LogisticRegression(max_iter=1000),
        "naive_bayes": GaussianNB(),
        "knn": KNeighborsClassifier(size.neighbours),
        "tree": DecisionTreeClassifier(min_samples_leaf=5),
        "random_forest": RandomForestClassifier(**size.forest),
        "boosting": HistGradientBoostingClassifier(),
        "svm": SVC(),
        "mlp": MLPClassifier(**size.network),
    }
    if _installed("lightgbm"):
        from lightgbm import LGBMClassifier

        learners["lightgbm"] = LGBMClassifier(verbose=-1)
    if _installed("xgboost"):
        from xgboost import XGBClassifier

        learners["xgboost"] = EncodedLabels(XGBClassifier())
    return learners


def _regressors(size: _Size) -> dict[str, Any]:
    from sklearn.dummy import DummyRegressor
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import Ridge
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.neural_network import MLPRegressor
    from sklearn.svm import SVR
    from sklearn.tree import DecisionTreeRegressor

    learners = {
        "dummy": DummyRegressor(),
        "linear": Ridge(),
        "knn": KNeighborsRegressor(size.neighbours),
        "tree": DecisionTreeRegressor(min_samples_leaf=5),
        "random_forest": RandomForestRegressor(max_features=1 / 3, **size.forest),
        "boosting": HistGradientBoostingRegressor(),
        "svm": _scaled_target(SVR()),
        "mlp": _scaled_target(MLPRegressor(**size.network)),
    }
    if _installed("lightgbm"):
        from lightgbm import LGBMRegressor

        learners["lightgbm"] = LGBMRegressor(verbose=-1)
    if _installed("xgboost"):
        from xgboost import XGBRegressor

        learners["xgboost"] = XGBRegressor()
    return learners


def _scaled_target(learner: Any) -> Any:
    """Return a learner whose settings mean the same whatever unit the target is in."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    return TransformedTargetRegressor(learner, transformer=StandardScaler())


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
