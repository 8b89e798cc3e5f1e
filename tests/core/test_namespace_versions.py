import types

import pytest

from truefit._core import namespace_versions
from truefit._core.namespace_versions import NamespaceVersions, readable


class Example:
    value = 1


def versions_of(module):
    return NamespaceVersions([module, Example], {})


CHANGES = {
    "a new name": lambda module, patch: setattr(module, "new", 1),
    "another value": lambda module, patch: setattr(module, "value", 2),
    "an equal value": lambda module, patch: setattr(module, "value", 1.0),
    "a name removed": lambda module, patch: delattr(module, "value"),
    "written into the dictionary": lambda module, patch: vars(module).update(value=3),
    "a member of a class": lambda module, patch: patch.setattr(Example, "value", 2),
    "changed and changed back": lambda module, patch: (setattr(module, "value", 2), setattr(module, "value", 1)),
}


@pytest.mark.skipif(not readable(), reason="dictionaries have no versions here")
@pytest.mark.parametrize("case", CHANGES)
def test_every_change_is_seen(case, monkeypatch):
    module = types.ModuleType("example")
    module.value = 1
    versions = versions_of(module)
    assert versions.unchanged()
    _ = module.value, Example.value, list(vars(module))
    assert versions.unchanged()
    CHANGES[case](module, monkeypatch)
    assert not versions.unchanged()


def test_a_change_of_a_further_dictionary_is_seen():
    registry = {"a": 1}
    versions = NamespaceVersions([], registry)
    registry["b"] = 2
    assert not versions.unchanged()


@pytest.mark.parametrize("name", ["pypy", "cpython"])
def test_nothing_is_unchanged_where_versions_cannot_be_read(name, monkeypatch):
    monkeypatch.setattr(namespace_versions.sys, "version_info", (3, 99, 0))
    monkeypatch.setattr(namespace_versions.sys, "implementation", types.SimpleNamespace(name=name))
    readable.cache_clear()
    try:
        assert not NamespaceVersions([Example]).unchanged()
    finally:
        readable.cache_clear()
