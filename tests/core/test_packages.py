import base64
import hashlib
import importlib
import os
import subprocess
import sys
from importlib import metadata

import pytest
import sklearn.linear_model  # noqa: F401  # what is not imported has no file to tell whether it is installed

from truefit._core import packages
from truefit._core.packages import (
    closure,
    installed,
    installed_function,
    package_digest,
    package_version,
    under_installed_root,
)


def test_packages_behind_a_package_belong_to_it():
    assert {"sklearn", "numpy", "scipy", "joblib"} <= closure(frozenset(["sklearn"]))
    assert "matplotlib" not in closure(frozenset(["skrub"]))  # for its reports, not for its fits
    assert closure(frozenset(["os", "truefit"])) == frozenset()


def test_what_is_installed():
    assert installed("sklearn.linear_model")
    assert installed("json")
    assert not installed("__main__")
    assert not installed(__name__)
    assert package_version("sklearn") == metadata.version("scikit-learn")


def test_a_generated_function_is_of_a_package_if_it_was_generated_among_functions_of_packages():
    def generated(**namespace):
        exec("def made(): return called()", namespace)
        return namespace["made"]

    assert installed_function(generated(called=metadata.version))
    assert not installed_function(generated())
    assert not installed_function(generated(called=write_distribution))
    assert not installed_function(generated(called=generated()))


def write_distribution(root, text, *, version="1.0", recorded=None):
    digest = base64.urlsafe_b64encode(hashlib.sha256((recorded or text).encode()).digest()).rstrip(b"=").decode()
    info = root / f"lib_of_a_test-{version}.dist-info"
    (root / "lib_of_a_test").mkdir(parents=True, exist_ok=True)
    info.mkdir(exist_ok=True)
    (root / "lib_of_a_test" / "__init__.py").write_text(text)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: lib_of_a_test\nVersion: {version}\n")
    (info / "RECORD").write_text(
        f"lib_of_a_test/__init__.py,sha256={digest},{len(recorded or text)}\n{info.name}/RECORD,,\n"
    )


def content(root):
    [distribution] = metadata.distributions(path=[str(root)])
    return packages._content(distribution)


def test_the_same_files_in_another_environment_are_the_same_package(tmp_path):
    write_distribution(tmp_path / "a", "V = 1\n")
    write_distribution(tmp_path / "b", "V = 1\n")
    assert content(tmp_path / "a") == content(tmp_path / "b")


@pytest.mark.parametrize("recorded", [None, "V = 1\n"], ids=["reinstalled", "edited in place"])
def test_other_files_under_the_same_version_are_another_package(tmp_path, recorded):
    write_distribution(tmp_path, "V = 1\n")
    before = content(tmp_path)
    write_distribution(tmp_path, "V = 22\n", recorded=recorded)
    assert content(tmp_path) != before


def test_an_edit_of_the_same_size_is_seen_by_its_time(tmp_path):
    write_distribution(tmp_path, "V = 1\n")
    before = content(tmp_path)
    file = tmp_path / "lib_of_a_test" / "__init__.py"
    file.write_text("V = 2\n")
    os.utime(file, (2e9, 2e9))
    assert content(tmp_path) != before
    file.write_text("V = 1\n")
    os.utime(file, (2e9, 2e9))
    assert content(tmp_path) == before  # only touched


def test_the_digest_is_the_same_in_every_process():
    code = "import sklearn; from truefit._core.packages import package_digest; print(package_digest(['sklearn']).hex())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert found == package_digest(["sklearn"]).hex()


def test_what_pip_installed_into_a_folder_of_the_path_is_installed(tmp_path, monkeypatch):
    write_distribution(tmp_path, "def function(): pass\n")
    (tmp_path / "of_the_user.py").write_text("def function(): pass\n")
    (tmp_path / "lib_of_a_test" / "added.py").write_text("def function(): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    functions = [
        importlib.import_module(name).function for name in ("lib_of_a_test", "of_the_user", "lib_of_a_test.added")
    ]
    for name in ("lib_of_a_test", "of_the_user", "lib_of_a_test.added"):
        sys.modules.pop(name)
    assert list(map(installed_function, functions)) == [True, False, False]
    assert under_installed_root(str(tmp_path / "lib_of_a_test-1.0.dist-info" / "entry_points.txt"))
    assert not under_installed_root(str(tmp_path / "entry_points.txt"))
