"""Transformers nested in a step of a pipeline (ColumnTransformer, FeatureUnion, Pipeline): equal ones fitted once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer

from truefit._core.fingerprint import Fingerprint
from truefit._sklearn import has_callbacks, has_own_output, replace_remainder
from truefit._solvers.pipelines.steps import FittedSteps, copied, ignores_labels, parts_of

Name = tuple[Any, ...]
#: Returns what is known by a name, or what is fitted now.
Recall = Callable[[Name, Callable[[], FittedSteps]], FittedSteps]

#: Transformers of these packages leave the table that they are given as it is, unless ``copy=False``.
_COPYING_PACKAGES = ("sklearn", "skrub")


def is_nested(step: Any) -> bool:
    """Whether a step consists of transformers that can be fitted separately, as it would fit them itself.

    Not where one may change the table of the others, nor where the step prints, caches, or works in several processes.
    """
    return type(step) in (ColumnTransformer, FeatureUnion, Pipeline) and _is_plain(step)


def _is_plain(step: Any) -> bool:
    if isinstance(step, str) or step is None:
        return True
    if has_own_output(step) or has_callbacks(step):
        return False
    if type(step) is ColumnTransformer or type(step) is FeatureUnion:
        return step.n_jobs in (None, 1) and step.verbose is False and all(_is_plain(part) for part in parts_of(step))
    if type(step) is Pipeline:
        alone = step.memory is None and step.verbose is False and step.transform_input is None
        return alone and all(_is_plain(part) for part in parts_of(step))
    if type(step) is FunctionTransformer and not (step.func is None or isinstance(step.func, np.ufunc)):
        return False  # a function may change what it is given
    return type(step).__module__.partition(".")[0] in _COPYING_PACKAGES and getattr(step, "copy", True) is True


def nested_names(step: Any) -> frozenset[Name]:
    """Return a name for each part of a step, equal for equal parts on the same table."""
    found: list[Name] = []

    def noted(part: Any, name: Name) -> None:
        if is_nested(part):
            for inner, inner_name in _named(part, name):
                noted(inner, inner_name)
        else:
            found.append((*name, _key(part)))

    noted(step, ())
    return frozenset(found)


def _named(step: Any, name: Name) -> Iterator[tuple[Any, Name]]:
    """Yield the transformers right below a step, each with a name for the table that it is given."""
    if type(step) is ColumnTransformer:
        for _, part, columns in step.transformers:
            if not isinstance(part, str):
                yield part, (*name, "columns", _key(columns))
        if not isinstance(step.remainder, str):
            yield step.remainder, (*name, "other columns", _key([columns for _, _, columns in step.transformers]))
    elif type(step) is FeatureUnion:
        yield from ((part, name) for _, part in step.transformer_list if not isinstance(part, str))
    else:
        for _, part in step.steps:
            if part is not None and not isinstance(part, str):
                yield part, name
                name = (*name, "behind", _key(part))


def _key(thing: Any) -> bytes:
    return Fingerprint(thing).digest


class NestedTransformers:
    """Fits steps of which parts may be known: ``recall`` gets the name of a part and what fits it."""

    def __init__(self, recall: Recall, labels: Any) -> None:
        self._recall, self._labels = recall, labels

    def fit_transform(self, step: Any, X: Any, y: Any, name: Name) -> tuple[Any, Any]:
        """Fit a seeded step on X, which ``name`` identifies; return it with the transformed rows."""
        if not is_nested(step):
            return self._whole(step, X, y, name)
        if type(step) is Pipeline:
            return self._one_behind_the_other(step, X, y, name)
        return self._side_by_side(step, X, y, name)

    def _whole(self, step: Any, X: Any, y: Any, name: Name) -> tuple[Any, Any]:
        def fit() -> FittedSteps:
            fitted = clone(step)
            table = fitted.fit_transform(X, y) if hasattr(fitted, "fit_transform") else fitted.fit(X, y).transform(X)
            return FittedSteps([fitted], table)

        known = self._recall((*name, _key(step), self._labels_for(step)), fit)
        return known.steps[0], copied(known.fitted)

    def _labels_for(self, *steps: Any) -> Any:
        return None if all(map(ignores_labels, steps)) else self._labels

    def _one_behind_the_other(self, step: Any, X: Any, y: Any, name: Name) -> tuple[Any, Any]:
        named = {id(part): of for part, of in _named(step, name)}
        steps: list[tuple[str, Any]] = []
        for place, part in step.steps:
            fitted = part
            if id(part) in named:
                before = self._labels_for(*(each for _, each in steps))  # which what stands in front may have looked at
                fitted, X = self.fit_transform(part, X, y, (*named[id(part)], before))
            steps.append((place, fitted))
        step.steps = steps
        return step, X

    def _side_by_side(self, step: Any, X: Any, y: Any, name: Name) -> tuple[Any, Any]:
        """Let a container do its work, with stand-ins that are fitted at once where they are known."""
        named = {id(part): of for part, of in _named(step, name)}

        def placeholder(part: Any) -> Any:
            return _Placeholder(part, partial(self.fit_transform, name=named[id(part)])) if id(part) in named else part

        if type(step) is FeatureUnion:
            step.transformer_list = [(place, placeholder(part)) for place, part in step.transformer_list]
            table = step.fit_transform(X, y)
            step.transformer_list = [(place, _behind(part)) for place, part in step.transformer_list]
            return step, table
        given, rest = step.transformers, step.remainder
        step.transformers = [(place, placeholder(part), columns) for place, part, columns in given]
        step.remainder = placeholder(rest)
        table = step.fit_transform(X, y)
        step.transformers, step.remainder = given, rest
        step.transformers_ = [(place, _behind(part), columns) for place, part, columns in step.transformers_]
        replace_remainder(step, rest)
        return step, table


class _Placeholder:
    """Stands in a container for one of its transformers while that is fitted."""

    def __init__(self, part: Any, fit_transform: Callable[..., tuple[Any, Any]]) -> None:
        self.part = part
        self.fitted: Any = None
        self._fit_transform = fit_transform

    def __sklearn_clone__(self) -> _Placeholder:
        return self

    def fit(self, X: Any, y: Any = None) -> _Placeholder:
        """Fit the transformer."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit the transformer, or find it fitted."""
        self.fitted, table = self._fit_transform(clone(self.part), X, y)
        return table

    def transform(self, X: Any) -> Any:
        """Transform rows."""
        assert self.fitted is not None
        return self.fitted.transform(X)

    def __getattr__(self, name: str) -> Any:
        # Names of columns and the like are the transformer's own.
        if name.startswith("__") or self.__dict__.get("fitted") is None:
            raise AttributeError(name)
        return getattr(self.fitted, name)


def _behind(part: Any) -> Any:
    if not isinstance(part, _Placeholder):
        return part
    return part.part if part.fitted is None else part.fitted
