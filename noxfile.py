"""Tests on other interpreters and versions: ``make test-matrix``, or ``nox -s SESSION`` for one of them.

Each session uses the interpreters that this machine has: those on the path, and those of pyenv. ``oldest`` installs the
lowest versions that pyproject.toml allows, ``newest`` what the package index has.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import nox

nox.options.sessions = ["newest", "oldest", "wheel"]
nox.options.reuse_existing_virtualenvs = True

ROOT = Path(__file__).parent
MINORS = range(11, 15)
#: The first versions that an interpreter can use, or has wheels of, where the lowest that is allowed is too old for it.
RAISED = {
    "3.13": ["matplotlib==3.9.2", "numpy==2.1.0", "pandas==2.2.3", "pyarrow==18.0.0", "scipy==1.14.1"],
    "3.14": [
        *("cloudpickle==3.1.2", "joblib==1.5.2", "matplotlib==3.10.5", "numpy==2.3.2", "pandas==2.3.3"),
        *("pyarrow==22.0.0", "scikit-learn==1.7.2", "scipy==1.16.1", "skrub==0.6.2"),
    ],
}
#: Of the same time as the oldest dependencies: later ones warn of how these use them.
OLD_TOOLS = ["click==8.1.*", "pyparsing==3.1.*", "pytest==8.3.*"]
#: What reads the answers of scikit-learn, numpy, pandas and the system. The rest is like it was on any version.
CORE = [
    *(
        "tests/test_sklearn.py",
        "tests/test_import.py",
        "tests/core",
        "tests/metrics",
        "tests/api",
        "tests/engine",
        "tests/stores",
    ),
    *("tests/executors/test_other_systems.py", "tests/executors/test_dataset_file.py"),
]
#: Some of these, for a quick look before a change lands.
SHORT = ["tests/test_sklearn.py", "tests/metrics", "tests/api/test_engine.py", "tests/executors/test_other_systems.py"]
#: Tests of an installed wheel, run from an unpacked source distribution.
PACKED = ["tests/test_import.py", "tests/test_sklearn.py", "tests/cli/test_json_schema.py"]


def interpreters() -> list[str]:
    """Return the versions that are tested and found, and put the interpreters of pyenv on the path."""
    found = []
    for minor in MINORS:
        of_pyenv = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))
        # The commands that pyenv puts on the path take long to find the interpreter, or only say that it is not chosen.
        for candidate in (*map(str, reversed(of_pyenv)), shutil.which(f"python3.{minor}")):
            if candidate and subprocess.run([candidate, "-V"], capture_output=True, check=False).returncode == 0:
                found.append(f"3.{minor}")
                os.environ["PATH"] = os.pathsep.join([str(Path(candidate).parent), os.environ["PATH"]])
                break
    return found


FOUND = interpreters()


def oldest(python: str) -> list[str]:
    """Return the lowest versions that are allowed and have wheels for an interpreter, as requirements."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    allowed = [*project["dependencies"], *project["optional-dependencies"]["polars"]]
    pins = dict(re.fullmatch(r"([\w-]+)>=([\w.]+)", each).groups() for each in allowed)
    pins |= dict(each.split("==") for each in RAISED.get(python, []))
    return [*(f"{name}=={version}" for name, version in pins.items()), *OLD_TOOLS]


def test(session: nox.Session, paths: list[str]) -> None:
    """Run tests in two processes or more, by default all quick ones or those that are named."""
    parallel = ["--numprocesses", "auto", "--dist", "loadfile"]
    session.run("python", "-m", "pytest", "-p", "no:cacheprovider", *parallel, *(session.posargs or paths))


@nox.session(python=FOUND)
def newest(session: nox.Session) -> None:
    """All quick tests with the newest dependencies."""
    session.install("--upgrade", "-e", ".[test,skops,sql,dask]", "pytest-xdist")
    test(session, ["tests", "src"])


@nox.session(name="oldest", python=interpreters())
def with_oldest(session: nox.Session) -> None:
    """The core of the tests with the oldest dependencies."""
    session.install("-e", ".[test]", "pytest-xdist", *oldest(session.python))
    test(session, CORE)


@nox.session(python=[each for each in FOUND if each != "3.11"][:1])
def short(session: nox.Session) -> None:
    """A part of the core with the oldest dependencies, on another interpreter than that of ``make test``."""
    session.install("-e", ".[test]", "pytest-xdist", *oldest(session.python))
    test(session, SHORT)


@nox.session(python=FOUND)
def wheel(session: nox.Session) -> None:
    """A wheel and a source distribution, checked; the wheel in an empty environment, with a study and some tests."""
    home = Path(session.create_tmp()).resolve()
    distributions = home / "dist"
    for old in (distributions, *home.glob("truefit-*")):
        shutil.rmtree(old, ignore_errors=True)
    session.install("-c", "constraints.txt", "build", "twine", "check-wheel-contents")
    session.run("python", "-m", "build", "--outdir", str(distributions), str(ROOT))
    built = sorted(map(str, distributions.glob("truefit-*")))
    session.run("twine", "check", "--strict", *built)
    session.run("check-wheel-contents", str(distributions))
    empty = home / "empty"
    session.run("python", "-m", "venv", "--clear", str(empty))
    python = str(next(path for path in (empty / "Scripts" / "python.exe", empty / "bin" / "python") if path.exists()))
    packed, source = sorted(built, key=lambda path: not path.endswith(".whl"))
    session.run(python, "-m", "pip", "install", "--quiet", packed, external=True)
    session.chdir(home)  # away from the checkout
    session.run(python, "-m", "truefit", "study", "iris", "--no-tune", "--out", "report.html", external=True)
    page = Path("report.html").read_text(encoding="utf-8")
    if not page.rstrip().endswith("</html>"):
        session.error("The study has not ended with a page.")
    shutil.unpack_archive(source, home, filter="data")
    session.chdir(home / Path(source).name.removesuffix(".tar.gz"))
    session.run(python, "-m", "pip", "install", "--quiet", f"{packed}[test]", external=True)
    session.run(python, "-m", "pytest", "-p", "no:cacheprovider", *PACKED, external=True)
