import functools
import threading
import types

import numpy as np
import pytest
import sklearn
import sklearn.linear_model._base
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from truefit._core import identity
from truefit._core.data import Data
from truefit._core.errors import InvalidEstimator
from truefit._core.identity import Keys, NamespaceVersions, class_state, environment_digest, readable, replaced
from truefit._core.parameters import seeded, settled
from truefit._core.protocols import Ask, FitTask, is_private
from truefit._core.rows import Rows

rng = np.random.default_rng(1)
X = rng.normal(size=(40, 3))
y = rng.integers(0, 2, size=40)
data = Data(X, y, task="classification")


def key(estimator=None, train=None, table=data, **options):
    estimator = GaussianNB() if estimator is None else estimator
    return Keys(table).fit(FitTask(estimator, train or Rows.all(table.n), **options)).key


def test_the_rows_predicted_on_are_not_part_of_the_key():
    assert key(asks=(Ask(Rows.of([1])),)) == key(asks=(Ask(Rows.of([2]), "predict_proba"),))


def test_the_same_rows_have_the_same_key_wherever_they_stand():
    grown = Data(np.vstack([X, X + 9]), np.r_[y, y], task="classification")
    assert key(train=Rows.all(40)) == key(train=Rows.of(range(40)), table=grown)
    assert key(train=Rows.of(range(5, 20))) == key(table=Data(X[5:20], y[5:20], task="classification"))


def test_labels_repeat_and_rows_count():
    flipped = 1 - y
    keys = {
        key(),
        key(y=flipped),
        key(repeat=1),
        key(train=Rows.without(40, 3)),
        key(GaussianNB(var_smoothing=1e-3)),
    }
    assert len(keys) == 5
    assert key(y=flipped) == key(y=flipped.copy())


def test_labels_put_at_rows_outside_the_training_set_do_not_count():
    other = y.copy()
    other[7] = 1 - other[7]
    train = Rows.without(40, 7)
    assert key(train=train, y=other) == key(train=train, y=y.copy())


def test_candidates_along_a_path_get_common_seeds():
    keys = Keys(data)
    fits = [keys.fit(FitTask(GradientBoostingClassifier(n_estimators=n), Rows.all(40))) for n in (5, 50)]
    assert fits[0].seeds == fits[1].seeds
    assert fits[0].key != fits[1].key
    other_rows = keys.fit(FitTask(GradientBoostingClassifier(), Rows.without(40, 1)))
    again = keys.fit(FitTask(GradientBoostingClassifier(), Rows.all(40), repeat=1))
    assert len({fits[0].seeds, other_rows.seeds, again.seeds}) == 3


def test_nested_random_states_are_seeded_too_and_given_ones_are_left():
    pipeline = make_pipeline(FunctionTransformer(), RandomForestClassifier(n_estimators=3))
    fit = Keys(data).fit(FitTask(pipeline, Rows.all(40)))
    assert [path for path, _ in fit.seeds] == ["randomforestclassifier__random_state"]
    model = seeded(pipeline, fit.seeds)
    assert model[-1].random_state == fit.seeds[0][1]
    assert Keys(data).fit(FitTask(RandomForestClassifier(random_state=3), Rows.all(40))).seeds == ()


def test_a_random_state_is_drawn_once_to_an_int():
    state = np.random.RandomState(5)
    first, second = settled(RandomForestClassifier(random_state=state)), settled(RandomForestClassifier(random_state=5))
    assert isinstance(first.random_state, int)
    assert second.random_state == 5
    assert state.randint(100) == np.random.RandomState(5).randint(100)  # the user's own is not touched


def test_what_cannot_be_cloned_is_refused():
    class Stubborn(GaussianNB):
        def __init__(self, priors=None):
            self.priors = [0.5, 0.5]

    with pytest.raises(InvalidEstimator, match="cloneable"):
        settled(Stubborn())


def test_what_cannot_be_keyed_is_private_and_said_once():
    keys = Keys(data)
    estimator = make_pipeline(FunctionTransformer(kw_args={"lock": threading.Lock()}), GaussianNB())
    with pytest.warns(UserWarning, match="never shared or stored") as caught:
        fits = [keys.fit(FitTask(estimator, Rows.all(40))) for _ in range(3)]
    assert len(caught) == 1
    assert all(is_private(fit.key) for fit in fits)
    assert len({fit.key for fit in fits}) == 3


def test_groups_count_only_for_an_estimator_that_asks_for_them():
    grouped = Data(X, y, task="classification", groups=np.arange(40) % 5)
    other = Data(X, y, task="classification", groups=np.arange(40) % 4)
    assert key(table=grouped) == key(table=other) == key()
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(LogisticRegression(), {"C": [1]}, cv=GroupKFold(2))
        assert key(search, table=grouped) != key(search, table=other)


def test_settings_of_scikit_learn_that_change_a_fit_count():
    plain = key()
    with sklearn.config_context(transform_output="pandas"):
        assert key() != plain


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


@pytest.fixture(params=["versions of namespaces", "their values"])
def search(request, monkeypatch):
    """Search as on Python 3.11 to 3.13, and as where the versions of dictionaries cannot be read."""
    if request.param == "their values":
        monkeypatch.setattr(identity, "readable", lambda: False)
        monkeypatch.setattr(identity, "_searched", {})


@pytest.mark.usefixtures("search")
@pytest.mark.parametrize("case", CHANGES)
def test_what_is_replaced_is_seen_and_forgotten_when_it_is_undone(case, monkeypatch):
    before = digest()
    with monkeypatch.context() as patch:
        patch.setattr(*CHANGES[case], raising=False)
        assert digest() != before
    assert digest() == before


def test_so_many_searches_are_remembered_and_no_more(monkeypatch):
    monkeypatch.setattr(identity, "_searched", {})
    monkeypatch.setattr(identity, "_MOST_SEARCHED", 2)
    for packages in (["sklearn"], ["scipy"], ["numpy"], ["joblib"]):
        assert replaced(packages) == []
        assert len(identity._searched) <= 2


def test_nothing_is_replaced_by_itself():
    assert replaced(["sklearn", "pandas", "skrub"]) == []
    assert class_state(Ridge) == class_state(Ridge)


# Versions of namespaces.


class Example:
    value = 1


def versions_of(module):
    return NamespaceVersions([module, Example], {})


NAMESPACE_CHANGES = {
    "a new name": lambda module, patch: setattr(module, "new", 1),
    "another value": lambda module, patch: setattr(module, "value", 2),
    "an equal value": lambda module, patch: setattr(module, "value", 1.0),
    "a name removed": lambda module, patch: delattr(module, "value"),
    "written into the dictionary": lambda module, patch: vars(module).update(value=3),
    "a member of a class": lambda module, patch: patch.setattr(Example, "value", 2),
    "changed and changed back": lambda module, patch: (setattr(module, "value", 2), setattr(module, "value", 1)),
}


@pytest.mark.skipif(not readable(), reason="dictionaries have no versions here")
@pytest.mark.parametrize("case", NAMESPACE_CHANGES)
def test_every_change_is_seen(case, monkeypatch):
    module = types.ModuleType("example")
    module.value = 1
    versions = versions_of(module)
    assert versions.unchanged()
    _ = module.value, Example.value, list(vars(module))
    assert versions.unchanged()
    NAMESPACE_CHANGES[case](module, monkeypatch)
    assert not versions.unchanged()


def test_a_change_of_a_further_dictionary_is_seen():
    registry = {"a": 1}
    versions = NamespaceVersions([], registry)
    registry["b"] = 2
    assert not versions.unchanged()


@pytest.mark.parametrize("name", ["pypy", "cpython"])
def test_nothing_is_unchanged_where_versions_cannot_be_read(name, monkeypatch):
    monkeypatch.setattr(identity.sys, "version_info", (3, 99, 0))
    monkeypatch.setattr(identity.sys, "implementation", types.SimpleNamespace(name=name))
    readable.cache_clear()
    try:
        assert not NamespaceVersions([Example]).unchanged()
    finally:
        readable.cache_clear()
