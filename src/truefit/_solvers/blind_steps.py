"""Blind steps: transformers that are known not to look at the labels."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

#: Classes whose ``fit`` ignores y, by package. Only these very classes: what a subclass does nobody knows.
BLIND = {
    "sklearn": frozenset(
        {
            "Binarizer",
            "CountVectorizer",
            "DictVectorizer",
            "FeatureHasher",
            "FunctionTransformer",
            "GaussianRandomProjection",
            "HashingVectorizer",
            "IncrementalPCA",
            "KBinsDiscretizer",
            "KNNImputer",
            "KernelPCA",
            "MaxAbsScaler",
            "MinMaxScaler",
            "MissingIndicator",
            "Normalizer",
            "Nystroem",
            "OneHotEncoder",
            "OrdinalEncoder",
            "PCA",
            "PolynomialFeatures",
            "PowerTransformer",
            "QuantileTransformer",
            "RBFSampler",
            "RobustScaler",
            "SimpleImputer",
            "SparseRandomProjection",
            "SplineTransformer",
            "StandardScaler",
            "TfidfTransformer",
            "TfidfVectorizer",
            "TruncatedSVD",
            "VarianceThreshold",
        }
    ),
    "skrub": frozenset(
        {
            "Cleaner",
            "DatetimeEncoder",
            "GapEncoder",
            "MinHashEncoder",
            "PassThrough",
            "SquashingScaler",
            "StringEncoder",
            "ToCategorical",
        }
    ),
}
#: Classes that hand y on to the transformers in them.
CONTAINERS = {
    "sklearn": frozenset({"ColumnTransformer", "FeatureUnion", "Pipeline"}),
    "skrub": frozenset({"TableVectorizer"}),
}


def is_blind(step: Any) -> bool:
    """Whether what a transformer does is known not to depend on the labels that it is fitted with.

    Examples
    --------
    >>> from sklearn.feature_selection import SelectKBest
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> is_blind(StandardScaler()), is_blind(SelectKBest()), is_blind("passthrough")
    (True, False, True)
    >>> [is_blind(make_pipeline(StandardScaler(), last)) for last in (OneHotEncoder(), SelectKBest())]
    [True, False]
    """
    if step is None or (isinstance(step, str) and step in ("passthrough", "drop")):
        return True
    package = _package(type(step))
    name = type(step).__name__
    if name in CONTAINERS.get(package, ()):
        return all(map(is_blind, _parts(step)))
    return name in BLIND.get(package, ())


def _package(cls: type) -> str:
    """Return the package that has a class, and not only its name, as its own."""
    home = vars(sys.modules.get(cls.__module__, sys)).get(cls.__name__)
    return cls.__module__.partition(".")[0] if home is cls else ""


def _parts(container: Any) -> Iterator[Any]:
    """Return the transformers in a container."""
    name = type(container).__name__
    if name == "ColumnTransformer":
        yield from (transformer for _, transformer, _ in container.transformers)
        yield container.remainder
    elif name == "FeatureUnion":
        yield from (transformer for _, transformer in container.transformer_list)
    elif name == "Pipeline":
        yield from (step for _, step in container.steps)
    else:
        yield from (container.low_cardinality, container.high_cardinality, container.numeric, container.datetime)
        yield from (transformer for transformer, _ in container.specific_transformers)
