import functools

import pytest
import sklearn.linear_model._base
from sklearn.linear_model import Lasso, Ridge

from truefit._core.code import class_state, replaced
from truefit._core.identity import environment_digest


def digest():
    return environment_digest(["sklearn"], [Ridge], files=False)


def other(*arguments, **options):
    return 0


@functools.wraps(Ridge.fit)
def in_disguise(*arguments, **options):
    return 0


CHANGES = {
    "method": (Ridge, "fit", other),
    "method that bears the old one's name": (Ridge, "fit", in_disguise),
    "method of a base class": (sklearn.linear_model._base.LinearModel, "predict", other),
    "static method": (Ridge, "extra", staticmethod(other)),
    "property": (Ridge, "extra", property(other)),
    "function of a module": (sklearn.linear_model._base, "_preprocess_data", other),
    "partial": (sklearn.linear_model._base, "_preprocess_data", functools.partial(other, 1)),
    "class": (sklearn.linear_model._base, "LinearModel", type("LinearModel", (), {})),
    "plain attribute of the class": (Ridge, "extra", 3),
    "method of another class": (Ridge, "fit", Lasso.fit),
}


@pytest.mark.parametrize("case", CHANGES)
def test_what_is_replaced_is_seen_and_forgotten_when_it_is_undone(case, monkeypatch):
    before = digest()
    with monkeypatch.context() as patch:
        patch.setattr(*CHANGES[case], raising=False)
        assert digest() != before
    assert digest() == before


def test_nothing_is_replaced_by_itself():
    assert replaced(["sklearn", "pandas", "skrub"]) == []
    assert class_state(Ridge) == class_state(Ridge)
