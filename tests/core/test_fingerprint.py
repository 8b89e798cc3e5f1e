import functools
import threading
import types
from collections import defaultdict

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from truefit._core import fingerprint
from truefit._core.fingerprint import Fingerprint, NotComparable
from truefit._core.packages import installed


def digest(thing):
    return Fingerprint(thing).digest


def function_from(source: str, name: str = "f", **known):
    space = {"np": np, **known}
    exec(source, space)
    return space[name]


DIFFERENT = {
    "parameter": (Ridge(alpha=1.0), Ridge(alpha=2.0)),
    "type of a parameter": (Ridge(alpha=1), Ridge(alpha=1.0)),
    "class": (Ridge(), LogisticRegression()),
    "nested": (make_pipeline(Ridge(alpha=1.0)), make_pipeline(Ridge(alpha=2.0))),
    "kernel": (GaussianProcessClassifier(RBF(1.0)), GaussianProcessClassifier(RBF(2.0))),
    "array": (np.arange(3), np.arange(3.0)),
    "order of a list": ([1, 2], [2, 1]),
    "splitter": (GridSearchCV(Ridge(), {}, cv=KFold(3)), GridSearchCV(Ridge(), {}, cv=KFold(4))),
    "ufunc": (FunctionTransformer(np.log1p), FunctionTransformer(np.sqrt)),
    "text and number": ("1", 1),
    "order of a dict": ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
    "factory of a dict": (defaultdict(lambda: 0), defaultdict(lambda: 3)),
    "mask": (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[0, 0])),
    "output": (StandardScaler(), StandardScaler().set_output(transform="pandas")),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_what_differs_has_another_fingerprint(case):
    one, other = DIFFERENT[case]
    assert digest(one) != digest(other)


SAME = {
    "estimators": (lambda: RandomForestClassifier(n_estimators=5),),
    "sets": (lambda: {"x", "y", "z"},),
    "stack": (lambda: StackingClassifier([("a", GaussianNB()), ("b", LogisticRegression())]),),
    "partial": (lambda: functools.partial(np.clip, a_min=0, a_max=1),),
}


@pytest.mark.parametrize("case", SAME)
def test_what_is_equal_has_the_same_fingerprint(case):
    makers = SAME[case]
    assert digest(makers[0]()) == digest(makers[-1]())


def test_being_fitted_does_not_count_except_where_a_clone_keeps_it():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    assert digest(GaussianNB().fit(X, y)) == digest(GaussianNB())
    frozen = FrozenEstimator(GaussianNB().fit(X, y))
    assert digest(frozen) != digest(FrozenEstimator(GaussianNB().fit(X[:9], y[:9])))


EDITS = {
    "body": ("def f(x): return x + 1", "def f(x): return x + 2"),
    "default": ("def f(x, by=1): return x + by", "def f(x, by=2): return x + by"),
    "inner function": (
        "def f(x):\n def g(z): return z * 2\n return g(x)",
        "def f(x):\n def g(z): return z * 3\n return g(x)",
    ),
    "lambda": ("f = lambda x: x * 2", "f = lambda x: x * 3"),
    "helper": (
        "def h(x): return x\ndef f(x): return h(x)",
        "def h(x): return -x\ndef f(x): return h(x)",
    ),
    "constant": ("C = 1\ndef f(x): return x + C", "C = 2\ndef f(x): return x + C"),
}


@pytest.mark.parametrize("case", EDITS)
def test_an_edited_function_is_another_function(case):
    before, after = EDITS[case]
    assert digest(function_from(before)) == digest(function_from(before))
    assert digest(function_from(before)) != digest(function_from(after))


def test_a_closure_counts():
    def maker(by):
        return lambda x: x + by

    assert digest(maker(1)) == digest(maker(1))
    assert digest(maker(1)) != digest(maker(2))


CLASS = """
class Mine(ClassifierMixin, BaseEstimator):
    flag = {flag}
    def __init__(self, depth=1):
        self.depth = depth
    @property
    def twice(self):
        return self.depth * 2
    @staticmethod
    def clean(X):
        return X {sign} 1
    def fit(self, X, y):
        return self
"""


def own_class(flag=1, sign="+"):
    source = CLASS.format(flag=flag, sign=sign)
    return function_from(source, "Mine", ClassifierMixin=ClassifierMixin, BaseEstimator=BaseEstimator)


def test_an_edited_class_is_another_class():
    assert digest(own_class()()) == digest(own_class()())
    assert digest(own_class()()) != digest(own_class(flag=2)())
    assert digest(own_class()()) != digest(own_class(sign="-")())
    assert digest(own_class()(depth=1)) != digest(own_class()(depth=2))


def test_a_recursive_function_ends():
    recursive = "def f(n): return 1 if n < 2 else n * f(n - 1)"
    assert digest(function_from(recursive)) == digest(function_from(recursive))


def test_a_module_of_ones_own_counts_with_its_text(tmp_path):
    def fresh(text):
        path = tmp_path / "own.py"
        path.write_text(text)
        module = types.ModuleType("own_module_of_a_test")
        module.__file__ = str(path)
        exec(text, module.__dict__)
        return function_from("def f(x): return own.g(x)", own=module)

    assert digest(fresh("def g(x): return x")) != digest(fresh("def g(x): return -x"))


@pytest.mark.parametrize("thing", [threading.Lock(), (i for i in range(3)), np.frompyfunc(lambda x: x, 1, 1)])
def test_what_cannot_be_known_by_content_is_said(thing):
    with pytest.raises(NotComparable):
        Fingerprint(FunctionTransformer(kw_args={"it": thing}))


def test_packages_behind_an_estimator_are_part_of_it():
    assert {"sklearn", "numpy", "scipy"} <= Fingerprint(Ridge()).packages
    assert installed("sklearn.linear_model")
    assert not installed("__main__")
    assert not installed(__name__)


def test_what_is_fitted_inside_a_function_counts():
    rng = np.random.default_rng(0)
    one, other = (PCA(1).fit(rng.normal(size=(20, 3))) for _ in range(2))
    assert digest(FunctionTransformer(one.transform)) != digest(FunctionTransformer(other.transform))

    def closing(model):
        return lambda X: model.transform(X)

    assert digest(closing(one)) != digest(closing(other))
    assert digest(closing(one)) == digest(closing(one))


def test_numbers_of_numpy_are_numbers():
    assert digest(Ridge(alpha=np.float64(0.5))) == digest(Ridge(alpha=0.5))
    assert digest(Ridge(alpha=np.float32(0.5))) != digest(Ridge(alpha=0.5))


def test_a_ufunc_that_scipy_has_in_a_private_module_only_is_identified_by_its_name():
    import scipy.special
    from scipy.special import _ufuncs

    private = next(
        each
        for name, each in sorted(vars(_ufuncs).items())
        if isinstance(each, np.ufunc) and each.__name__ == name and not hasattr(scipy.special, name)
    )
    assert Fingerprint(FunctionTransformer(private)).digest != Fingerprint(FunctionTransformer(np.log1p)).digest


def test_plain_parameters_have_the_digest_of_any_item(monkeypatch):
    values = [0, 0.0, -0.0, True, None, "None", "1", 1, b"1", 1j, float("nan"), "\ud800", "a" * 99, "a" * 101]
    remembered = [digest(Ridge(alpha=value)) for value in values]
    monkeypatch.setattr(fingerprint, "_SHORT", -1)
    assert [digest(Ridge(alpha=value)) for value in values] == remembered
    assert len(set(remembered)) == len(values)


def test_a_thing_that_is_nested_too_deeply_has_no_content_to_compare():
    nested = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(NotComparable, match="nested too deeply"):
        Fingerprint(nested)
    while nested:  # not by recursion, as it would be freed otherwise
        nested = nested[0]
