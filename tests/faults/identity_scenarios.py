# ruff: noqa: E501 - programs are easier to read on one line
"""Scenarios in which something changes between two runs on one store: the second run must not see the first's answers.

Each scenario is a folder with a program. It is run, changed, and run again on the same store; then once more without
a store. The second and the third run must agree. ``python -m tests.faults.identity_scenarios`` runs them all.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ESTIMATOR = """
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

class Constant(RegressorMixin, BaseEstimator):
    def __init__(self, source=None):
        self.source = source

    def fit(self, X, y):
        {fit}
        self.value_ = float(value)
        return self

    def predict(self, X):
        return np.full(len(X), self.value_)
"""

MAIN = """
import json, sys, warnings
import numpy as np
warnings.simplefilter("ignore")
sys.path.insert(0, {folder!r})
from truefit import Engine, assess
rng = np.random.default_rng(0)
X, y = rng.normal(size=(24, 3)), rng.normal(size=24)
{setup}
if __name__ == "__main__":
    store, workers = sys.argv[1:3]
    with Engine(None if store == "-" else store, workers=int(workers), progress=False) as engine:
        found = assess(estimator, X, y, cv=3, metric="mse", random_state=0, engine=engine)
        answer = [float(v) for v in np.asarray(found.predictions["prediction"], dtype=float)]
        print(json.dumps({{"answer": answer, "run": engine.stats.run, "stored": engine.stats.stored}}))
"""

USE = "from mine import Constant\nestimator = Constant()"


@dataclass
class Scenario:
    """A program before and after a change; ``after`` is what differs."""

    files: dict[str, str]
    after: dict[str, str] = field(default_factory=dict)
    setup: str = USE
    setup_after: str | None = None
    env: dict[str, str] = field(default_factory=dict)
    env_after: dict[str, str] = field(default_factory=dict)
    changes: bool = True  # whether the answer is another afterwards; if not, the fits must be shared
    workers: tuple[int, ...] = (1, 2)
    first_workers: int = 1
    real_process: bool = False  # not forked: it needs a site folder of its own


def method(fit: str) -> str:
    return ESTIMATOR.format(fit=fit.replace("\n", "\n        "))


def library(name: str, value: int, version: str = "1.0", requires: str = "", body: str = "") -> dict[str, str]:
    """Files of an installed distribution with one module."""
    import base64
    import hashlib

    text = body or f"def value():\n    return {value}\n"
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    root = f"site/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    info = f"{name}-{version}.dist-info"
    needed = f"Requires-Dist: {requires}\n" if requires else ""
    return {
        f"{root}/{name}/__init__.py": text,
        f"{root}/{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}",
        f"{root}/{info}/RECORD": f"{name}/__init__.py,sha256={digest},{len(text)}\n{info}/RECORD,,\n",
    }


def module_state(before: str, after: str, fit: str, extra: dict[str, str] | None = None) -> Scenario:
    return Scenario({"mine.py": before + "\n" + method(fit), **(extra or {})}, {"mine.py": after + "\n" + method(fit)})


def reading(fit: str, name: str = "value.txt", setup: str = USE, **options) -> Scenario:
    return Scenario({"mine.py": method(fit), name: "1"}, {name: "2"}, setup=setup, **options)


def at_run_time(change: str, fit: str, helper: str = "", setup: str = USE, **options) -> Scenario:
    """A change made by the program itself, which worker processes never see."""
    return Scenario(
        {"mine.py": "import helper\nVALUE = 1\nTABLE = {'v': 1}\n" + method(fit), "helper.py": helper or "VALUE = 1\n"},
        setup=setup, setup_after=f"{setup}\n{change}", **options,
    )  # fmt: skip


def library_patch(change: str, estimator: str) -> Scenario:
    return Scenario({}, setup=estimator, setup_after=f"{estimator}\n{change}")


RIDGE = "from sklearn.linear_model import Ridge\nestimator = Ridge()"
PIPELINE = (
    "from sklearn.linear_model import Ridge\nfrom sklearn.pipeline import make_pipeline\n"
    "from sklearn.preprocessing import StandardScaler\nestimator = make_pipeline(StandardScaler(), Ridge())"
)
PACKAGE = {"pack/__init__.py": ""}
HELPER = {"helper.py": "def value():\n    return 1\n"}
HELPER_2 = {"helper.py": "def value():\n    return 2\n"}
SITE = {"PYTHONUSERBASE": "{folder}/site", "PYTHONPATH": "{folder}/" + next(iter(library("x", 1))).rpartition("/x/")[0]}

SCENARIOS: dict[str, Scenario] = {
    # Code that is imported where it is used.
    "module imported in a method": Scenario({"mine.py": method("import helper\nvalue = helper.value()"), **HELPER}, HELPER_2),
    "from-import in a method": Scenario(
        {"mine.py": method("from helper import value as get\nvalue = get()"), **HELPER}, HELPER_2
    ),
    "module behind an imported module": Scenario(
        {
            "mine.py": method("import top\nvalue = top.value()"),
            "top.py": "import helper\ndef value():\n    return helper.value()\n",
            **HELPER,
        },
        HELPER_2,
    ),
    "import in an imported function": Scenario(
        {
            "mine.py": method("import top\nvalue = top.value()"),
            "top.py": "def value():\n    import helper\n    return helper.value()\n",
            **HELPER,
        },
        HELPER_2,
    ),
    "submodule taken from a package": Scenario(
        {"mine.py": method("from pack import sub\nvalue = sub.VALUE"), **PACKAGE, "pack/sub.py": "VALUE = 1"},
        {"pack/sub.py": "VALUE = 2"},
    ),
    "dotted import": Scenario(
        {"mine.py": method("import pack.sub\nvalue = pack.sub.VALUE"), **PACKAGE, "pack/sub.py": "VALUE = 1"},
        {"pack/sub.py": "VALUE = 2"},
    ),
    "dotted import at the top": Scenario(
        {
            "mine.py": "import pack.sub\n" + method("value = pack.sub.VALUE"), **PACKAGE, "pack/sub.py": "VALUE = 1",
        },
        {"pack/sub.py": "VALUE = 2"},
    ),
    "relative import named like a standard module": Scenario(
        {
            **PACKAGE, "pack/mine.py": method("from .types import get\nvalue = get()"),
            "pack/types.py": "def get():\n    return 1\n",
        },
        {"pack/types.py": "def get():\n    return 2\n"},
        setup="from pack.mine import Constant\nestimator = Constant()",
    ),
    "relative import at the top": Scenario(
        {
            **PACKAGE, "pack/mine.py": "from .types import get\n" + method("value = get()"),
            "pack/types.py": "def get():\n    return 1\n",
        },
        {"pack/types.py": "def get():\n    return 2\n"},
        setup="from pack.mine import Constant\nestimator = Constant()",
    ),
    "relative import of a submodule": Scenario(
        {**PACKAGE, "pack/mine.py": method("from . import code\nvalue = code.VALUE"), "pack/code.py": "VALUE = 1"},
        {"pack/code.py": "VALUE = 2"},
        setup="from pack.mine import Constant\nestimator = Constant()",
    ),
    "relative import from above": Scenario(
        {
            **PACKAGE, "pack/deep/__init__.py": "", "pack/values.py": "VALUE = 1",
            "pack/deep/mine.py": method("from ..values import VALUE\nvalue = VALUE"),
        },
        {"pack/values.py": "VALUE = 2"},
        setup="from pack.deep.mine import Constant\nestimator = Constant()",
    ),
    "module named like a standard one": Scenario(
        {"mine.py": method("import queue_of_mine as queue\nvalue = queue.VALUE"), "queue_of_mine.py": "VALUE = 1"},
        {"queue_of_mine.py": "VALUE = 2"},
    ),
    "optional module that appears": Scenario(
        {"mine.py": method("try:\n    from extra import value\nexcept ImportError:\n    value = 1")},
        {"extra.py": "value = 2"},
    ),
    "attribute of a package": Scenario(
        {"mine.py": method("import pack\nvalue = pack.VALUE"), "pack/__init__.py": "VALUE = 1"},
        {"pack/__init__.py": "VALUE = 2"},
    ),
    "name re-exported by a package": Scenario(
        {
            "mine.py": method("from pack import VALUE\nvalue = VALUE"),
            "pack/__init__.py": "from pack.inner import VALUE", "pack/inner.py": "VALUE = 1",
        },
        {"pack/inner.py": "VALUE = 2"},
    ),
    "getattr of a module": Scenario(
        {"mine.py": "import helper\n" + method("value = getattr(helper, 'val' + 'ue')()"), **HELPER}, HELPER_2
    ),
    "module-level __getattr__": Scenario(
        {"mine.py": method("import helper\nvalue = helper.anything"), "helper.py": "def __getattr__(name):\n    return 1"},
        {"helper.py": "def __getattr__(name):\n    return 2"},
    ),
    # Module-level state.
    "dict of the module": module_state("TABLE = {'v': 1}", "TABLE = {'v': 2}", "value = TABLE['v']"),
    "list of the module": module_state("TABLE = [1, 2]", "TABLE = [2, 1]", "value = TABLE[0]"),
    "array of the module": module_state(
        "import numpy\nTABLE = numpy.array([1.0])", "import numpy\nTABLE = numpy.array([2.0])", "value = TABLE[0]"
    ),
    "object of the module": module_state(
        "class Holder:\n    def __init__(self, v):\n        self.v = v\nHOLDER = Holder(1)",
        "class Holder:\n    def __init__(self, v):\n        self.v = v\nHOLDER = Holder(2)", "value = HOLDER.v",
    ),
    "partial of the module": module_state(
        "from functools import partial\nGET = partial(max, 1)", "from functools import partial\nGET = partial(max, 2)",
        "value = GET(0)",
    ),
    "partial of a function of one's own": module_state(
        "from functools import partial\ndef f(a, b):\n    return a\nGET = partial(f, 0 + 1)",
        "from functools import partial\ndef f(a, b):\n    return a + 1\nGET = partial(f, 0 + 1)", "value = GET(0)",
    ),
    "nested dict of another module": Scenario(
        {"mine.py": "import helper\n" + method("value = helper.T['a']['b']"), "helper.py": "T = {'a': {'b': 1}}"},
        {"helper.py": "T = {'a': {'b': 2}}"},
    ),
    "object of another module": Scenario(
        {
            "mine.py": "import helper\n" + method("value = helper.H.get()"),
            "helper.py": "class C:\n    def get(self):\n        return 1\nH = C()",
        },
        {"helper.py": "class C:\n    def get(self):\n        return 2\nH = C()"},
    ),
    "state loaded from a file at import": Scenario(
        {
            "mine.py": "import json, pathlib\nT = json.loads((pathlib.Path(__file__).parent / 't.json').read_text())\n"
            + method("value = T['v']"),
            "t.json": '{"v": 1}',
        },
        {"t.json": '{"v": 2}'},
    ),
    "array loaded from a file at import": Scenario(
        {
            "mine.py": "import numpy, pathlib\nT = numpy.loadtxt(pathlib.Path(__file__).parent / 't.txt')\n"
            + method("value = T"),
            "t.txt": "1",
        },
        {"t.txt": "2"},
    ),
    "state of a module that is only passed on": Scenario(
        {"mine.py": "import helper\ndef get(m):\n    return m.VALUE\n" + method("value = get(helper)"), "helper.py": "VALUE = 1"},
        {"helper.py": "VALUE = 2"},
    ),
    "enum": module_state(
        "import enum\nclass E(enum.Enum):\n    A = 1", "import enum\nclass E(enum.Enum):\n    A = 2", "value = E.A.value"
    ),
    "dataclass default": module_state(
        "from dataclasses import dataclass\n@dataclass\nclass D:\n    v: int = 1",
        "from dataclasses import dataclass\n@dataclass\nclass D:\n    v: int = 2", "value = D().v",
    ),
    "named tuple": module_state(
        "from collections import namedtuple\nT = namedtuple('T', 'a b', defaults=(1, 5))()",
        "from collections import namedtuple\nT = namedtuple('T', 'a b', defaults=(2, 5))()", "value = T.a",
    ),
    # Looked up at run time.
    "globals()": module_state("VALUE = 1", "VALUE = 2", "value = globals()['VAL' + 'UE']"),
    "eval": module_state("VALUE = 1", "VALUE = 2", "value = eval('VAL' + 'UE')"),
    "exec": module_state("VALUE = 1", "VALUE = 2", "space = {}\nexec('from mine import VALUE as v', space)\nvalue = space['v']"),
    "importlib": Scenario(
        {"mine.py": "import importlib\n" + method("value = importlib.import_module('hel' + 'per').value()"), **HELPER},
        HELPER_2,
    ),
    "__import__": Scenario({"mine.py": method("value = __import__('hel' + 'per').value()"), **HELPER}, HELPER_2),
    "sys.modules": Scenario(
        {"mine.py": "import sys\nimport helper as h\n" + method("value = sys.modules['hel' + 'per'].value()"), **HELPER},
        HELPER_2,
    ),
    "function of another module's globals": Scenario(
        {"mine.py": "from helper import value as get\n" + method("value = get.__globals__['V']"), "helper.py": "V = 1\ndef value():\n    return 1"},
        {"helper.py": "V = 2\ndef value():\n    return 1"},
    ),
    # Classes.
    "metaclass": Scenario(
        {
            "meta.py": "from abc import ABCMeta\nclass Meta(ABCMeta):\n    def level(cls):\n        return 1",
            "mine.py": "from meta import Meta\n" + method("value = type(self).level()").replace(
                "BaseEstimator):", "BaseEstimator, metaclass=Meta):"
            ),
        },
        {"meta.py": "from abc import ABCMeta\nclass Meta(ABCMeta):\n    def level(cls):\n        return 2"},
    ),
    "attribute of a metaclass": Scenario(
        {
            "meta.py": "from abc import ABCMeta\nclass Meta(ABCMeta):\n    LEVEL = 1",
            "mine.py": "from meta import Meta\n" + method("value = type(type(self)).LEVEL").replace(
                "BaseEstimator):", "BaseEstimator, metaclass=Meta):"
            ),
        },
        {"meta.py": "from abc import ABCMeta\nclass Meta(ABCMeta):\n    LEVEL = 2"},
    ),
    "base class of another module": Scenario(
        {
            "base.py": "class Base:\n    def level(self):\n        return 1",
            "mine.py": "from base import Base\n" + method("value = self.level()").replace("(Reg", "(Base, Reg"),
        },
        {"base.py": "class Base:\n    def level(self):\n        return 2"},
    ),
    "class attribute": Scenario(
        {"mine.py": method("value = self.LEVEL").replace("    def __init__", "    LEVEL = 1\n    def __init__")},
        {"mine.py": method("value = self.LEVEL").replace("    def __init__", "    LEVEL = 2\n    def __init__")},
    ),
    "property": Scenario(
        {"mine.py": method("value = self.v") + "\n    @property\n    def v(self):\n        return 1\n"},
        {"mine.py": method("value = self.v") + "\n    @property\n    def v(self):\n        return 2\n"},
    ),
    "static method": Scenario(
        {"mine.py": method("value = self.v()") + "\n    @staticmethod\n    def v():\n        return 1\n"},
        {"mine.py": method("value = self.v()") + "\n    @staticmethod\n    def v():\n        return 2\n"},
    ),
    "class method": Scenario(
        {"mine.py": method("value = self.v()") + "\n    @classmethod\n    def v(cls):\n        return 1\n"},
        {"mine.py": method("value = self.v()") + "\n    @classmethod\n    def v(cls):\n        return 2\n"},
    ),
    "descriptor": module_state(
        "class D:\n    def __get__(self, a, b):\n        return 1\nclass H:\n    v = D()",
        "class D:\n    def __get__(self, a, b):\n        return 2\nclass H:\n    v = D()", "value = H().v",
    ),
    "decorator": module_state(
        "def deco(f):\n    def g():\n        return f() + 0\n    return g\n@deco\ndef get():\n    return 1",
        "def deco(f):\n    def g():\n        return f() + 1\n    return g\n@deco\ndef get():\n    return 1", "value = get()",
    ),
    "closure": module_state(
        "def make(v):\n    return lambda: v\nget = make(1)", "def make(v):\n    return lambda: v\nget = make(2)",
        "value = get()",
    ),
    "default argument": module_state("def get(v=1):\n    return v", "def get(v=2):\n    return v", "value = get()"),
    "keyword default": module_state("def get(*, v=1):\n    return v", "def get(*, v=2):\n    return v", "value = get()"),
    "attribute of a function": module_state(
        "def get():\n    return get.v\nget.v = 1", "def get():\n    return get.v\nget.v = 2", "value = get()"
    ),
    "cached function": module_state(
        "import functools\n@functools.lru_cache\ndef get():\n    return 1",
        "import functools\n@functools.lru_cache\ndef get():\n    return 2", "value = get()",
    ),
    "generator": module_state("def get():\n    yield 1", "def get():\n    yield 2", "value = next(get())"),
    # The program itself.
    "class of the program": Scenario({}, setup=method("value = 1") + "\nestimator = Constant()",
                                     setup_after=method("value = 2") + "\nestimator = Constant()"),
    "constant of the program": Scenario({}, setup="V = 1\n" + method("value = V") + "\nestimator = Constant()",
                                        setup_after="V = 2\n" + method("value = V") + "\nestimator = Constant()"),
    "lambda of the program": Scenario(
        {},
        setup="from sklearn.preprocessing import FunctionTransformer as F\nfrom sklearn.linear_model import Ridge\n"
        "from sklearn.pipeline import make_pipeline\nestimator = make_pipeline(F(lambda X: X * 1), Ridge())",
        setup_after="from sklearn.preprocessing import FunctionTransformer as F\nfrom sklearn.linear_model import Ridge\n"
        "from sklearn.pipeline import make_pipeline\nestimator = make_pipeline(F(lambda X: X ** 2), Ridge())",
    ),
    # Files, folders, databases, programs.
    "file": reading("value = open('{folder}/value.txt').read()"),
    "file of numbers": reading("value = np.loadtxt('{folder}/value.txt')"),
    "file behind a text parameter": reading(
        "value = open(self.source).read()", setup="from mine import Constant\nestimator = Constant('{folder}/value.txt')"
    ),
    "file behind a path parameter": reading(
        "value = self.source.read_text()",
        setup="import pathlib\nfrom mine import Constant\nestimator = Constant(pathlib.Path('{folder}/value.txt'))",
    ),
    "file in a folder parameter": reading(
        "value = (self.source / 'value.txt').read_text()",
        setup="import pathlib\nfrom mine import Constant\nestimator = Constant(pathlib.Path('{folder}'))",
    ),
    "file beside the module": reading(
        "import pathlib\nvalue = (pathlib.Path(__file__).parent / 'value.txt').read_text()"
    ),
    "file read by pandas": Scenario(
        {"mine.py": method("import pandas\nvalue = pandas.read_csv('{folder}/v.csv').iloc[0, 0]"), "v.csv": "a\n1\n"},
        {"v.csv": "a\n2\n"},
    ),
    "file read by polars": Scenario(
        {"mine.py": method("import polars\nimport os\nvalue = polars.read_csv(os.path.join('{folder}', 'v.csv'))[0, 0]"), "v.csv": "a\n1\n"},
        {"v.csv": "a\n2\n"},
    ),
    "file that appears": Scenario(
        {"mine.py": method("import os\nvalue = 2 if os.path.exists('{folder}/flag') else 1")}, {"flag": ""}
    ),
    "file that is missing at first": Scenario(
        {"mine.py": method("try:\n    value = open('{folder}/value.txt').read()\nexcept OSError:\n    value = 1")},
        {"value.txt": "2"},
    ),
    "number of files": Scenario(
        {"mine.py": method("import glob\nvalue = len(glob.glob('{folder}/*.dat'))"), "a.dat": ""}, {"b.dat": ""}
    ),
    "output of a program": reading("import subprocess\nvalue = subprocess.check_output(['cat', '{folder}/value.txt'])"),
    "database": Scenario(
        {
            "mine.py": method(
                "import sqlite3\nvalue = sqlite3.connect('{folder}/v.db').execute('select v from t').fetchone()[0]"
            ),
            "make.py": "1",
        },
        {"make.py": "2"},
        setup="import os, sqlite3\nif os.path.exists('{folder}/v.db'): os.remove('{folder}/v.db')\n"
        "c = sqlite3.connect('{folder}/v.db')\nc.execute('create table t (v)')\n"
        "c.execute('insert into t values (' + open('{folder}/make.py').read() + ')')\nc.commit(); c.close()\n" + USE,
    ),
    "file read by an installed estimator": Scenario(
        {"a.txt": "one two", "b.txt": "one one one"},
        {"b.txt": "two two two two"},
        setup="from sklearn.feature_extraction.text import CountVectorizer\nfrom sklearn.linear_model import Ridge\n"
        "from sklearn.pipeline import make_pipeline\n"
        "X = np.array(['{folder}/a.txt', '{folder}/b.txt'] * 12, dtype=object)\n"
        "estimator = make_pipeline(CountVectorizer(input='filename'), Ridge(alpha=0.1))\n"
        "y = np.where(np.arange(24) % 2, len(open('{folder}/b.txt').read()), 1.0)",
    ),
    # Environment and settings.
    "environment variable": Scenario(
        {"mine.py": "import os\n" + method("value = os.environ['LEVEL']")}, env={"LEVEL": "1"}, env_after={"LEVEL": "2"}
    ),
    "environment variable by getenv": Scenario(
        {"mine.py": method("import os\nvalue = os.getenv('LEVEL')")}, env={"LEVEL": "1"}, env_after={"LEVEL": "2"}
    ),
    "environment variable at import": Scenario(
        {"mine.py": "import os\nLEVEL = int(os.environ['LEVEL'])\n" + method("value = LEVEL")},
        env={"LEVEL": "1"}, env_after={"LEVEL": "2"},
    ),
    "environment variable in a helper": Scenario(
        {"mine.py": "import helper\n" + method("value = helper.get()"), "helper.py": "from os import environ\ndef get():\n    return environ['LEVEL']"},
        env={"LEVEL": "1"}, env_after={"LEVEL": "2"},
    ),
    "error state of numpy": Scenario(
        {"mine.py": method("try:\n    np.float64(1) / np.float64(0)\n    value = 1\nexcept FloatingPointError:\n    value = 2")},
        setup_after=USE + "\nnp.seterr(all='raise')",
    ),
    "error callback of numpy": Scenario(
        {"mine.py": method("try:\n    np.array([1e308]) * 10\n    value = 1\nexcept FloatingPointError:\n    value = 2")},
        setup_after=USE + "\nnp.seterr(over='raise')",
    ),
    "output setting of scikit-learn": Scenario(
        {"mine.py": method("from sklearn.preprocessing import StandardScaler\nvalue = 1 + hasattr(StandardScaler().fit_transform(X), 'iloc')")},
        setup_after=USE + "\nimport sklearn\nsklearn.set_config(transform_output='pandas')",
    ),
    # Installed packages changed at run time.
    "method of a library": library_patch(
        "old = Ridge.fit\ndef fit(self, X, y, sample_weight=None):\n    return old(self, X, y + 5)\nRidge.fit = fit", RIDGE
    ),
    "method of a library, wrapped": library_patch(
        "import functools\nold = Ridge.predict\n@functools.wraps(old)\ndef predict(self, X):\n    return old(self, X) + 5\nRidge.predict = predict",
        RIDGE,
    ),
    "method of a library's base class": library_patch(
        "from sklearn.linear_model._base import LinearModel\nold = LinearModel.predict\n"
        "LinearModel.predict = lambda self, X: old(self, X) + 5", RIDGE,
    ),
    "function inside a library": library_patch(
        "import sklearn.preprocessing._data as d\nd._handle_zeros_in_scale = lambda scale, copy=True, constant_mask=None: scale * 100",
        PIPELINE,
    ),
    "function of numpy": Scenario(
        {"mine.py": method("value = np.mean([1.0, 1.0])")}, setup_after=USE + "\nnp.mean = lambda v: 2.0"
    ),
    "method of one class put into another": library_patch(
        "from sklearn.linear_model import Lasso\nRidge.predict = lambda self, X: np.zeros(len(X))", RIDGE
    ),
    "attribute of a library's class": Scenario(
        library("libe", 0, body=method("value = self.LEVEL").replace("    def __init__", "    LEVEL = 1\n    def __init__")),
        setup="from libe import Constant\nestimator = Constant()",
        setup_after="from libe import Constant\nConstant.LEVEL = 2\nestimator = Constant()",
        env=SITE, real_process=True,
    ),
    "class of a library replaced": library_patch(
        "import sklearn.linear_model._ridge as r\nold = r._BaseRidge.fit\n"
        "r._BaseRidge.fit = lambda self, X, y, sample_weight=None: old(self, X, y * 3)", RIDGE,
    ),
    # User modules changed at run time: worker processes do not see it.
    "module edited after it was imported": Scenario(
        {"mine.py": "VALUE = 1\n" + method("value = VALUE")},
        setup=USE,
        setup_after=USE + "\ntext = open('{folder}/mine.py').read()\nopen('{folder}/mine.py', 'w').write(text.replace('VALUE = 1', 'VALUE = 2'))",
        changes=False,
    ),
    "module emptied after it was imported": Scenario(
        {"mine.py": method("value = 1")}, setup=USE, setup_after=USE + "\nopen('{folder}/mine.py', 'w').close()", changes=False
    ),
    "helper edited after it was imported": Scenario(
        {"mine.py": "import helper\n" + method("value = helper.VALUE"), "helper.py": "VALUE = 1\n"},
        setup_after=USE + "\nopen('{folder}/helper.py', 'w').write('VALUE = 2\\n')",
        changes=False,
    ),
    "global set at run time": at_run_time("import mine\nmine.VALUE = 2", "value = VALUE"),
    "global of a helper set at run time": at_run_time("import helper\nhelper.VALUE = 2", "value = helper.VALUE"),
    "dict changed at run time": at_run_time("import mine\nmine.TABLE['v'] = 2", "value = TABLE['v']"),
    "class attribute set at run time": at_run_time("Constant.LEVEL = 2", "value = getattr(self, 'LEVEL', 1)"),
    "method replaced at run time": at_run_time(
        "old = Constant.predict\nConstant.predict = lambda self, X: old(self, X) + 1", "value = VALUE"
    ),
    "function replaced at run time": at_run_time(
        "import helper\nhelper.get = lambda: 2", "value = helper.get()", helper="def get():\n    return 1\n"
    ),
    "code replaced at run time": at_run_time(
        "import helper\nhelper.get.__code__ = (lambda: 2).__code__", "value = helper.get()",
        helper="def get():\n    return 1\n",
    ),
    "default replaced at run time": at_run_time(
        "import helper\nhelper.get.__defaults__ = (2,)", "value = helper.get()", helper="def get(v=1):\n    return v\n"
    ),
    "object changed at run time": at_run_time(
        "import helper\nhelper.H.v = 2", "value = helper.H.v", helper="class C:\n    v = 1\nH = C()\n"
    ),
    "builtin replaced at run time": at_run_time("import builtins\nbuiltins.level = lambda: 2", "value = level()",
                                                setup="import builtins\nbuiltins.level = lambda: 1\n" + USE),
    "global set at run time, workers first": at_run_time(
        "import mine\nmine.VALUE = 2", "value = VALUE", first_workers=2, workers=(1,)
    ),
    "method of a library, workers first": Scenario(
        {}, setup=RIDGE + "\nold = Ridge.predict\nRidge.predict = lambda self, X: old(self, X) + 5", setup_after=RIDGE,
        first_workers=2, workers=(1,),
    ),
    "module edited after it was imported, workers first": Scenario(
        {"mine.py": "VALUE = 1\n" + method("value = VALUE")},
        setup=USE + "\ntext = open('{folder}/mine.py').read()\nopen('{folder}/mine.py', 'w').write(text.replace('VALUE = 1', 'VALUE = 2'))",
        setup_after=USE, first_workers=2, workers=(1,),
    ),
    # Hidden state.
    "counter of the module": module_state(
        "STATE = {'n': 0, 'step': 1}", "STATE = {'n': 0, 'step': 2}", "STATE['n'] += STATE['step']\nvalue = STATE['step']"
    ),
    "global random state of numpy": Scenario(
        {"mine.py": method("value = np.random.rand()")}, setup="np.random.seed(1)\n" + USE,
        setup_after="np.random.seed(2)\n" + USE, workers=(1,),
    ),
    "global random state of Python": Scenario(
        {"mine.py": "import random\n" + method("value = random.random()")}, setup="import random\nrandom.seed(1)\n" + USE,
        setup_after="import random\nrandom.seed(2)\n" + USE, workers=(1,),
    ),
    # Rows.
    "order of the rows": Scenario(
        {"mine.py": method("value = y[0]")}, setup_after="order = np.arange(24)[::-1]\nX, y = X[order], y[order]\n" + USE
    ),
    "integer index": Scenario(
        {"mine.py": method("value = X.index[0]")},
        setup="import pandas\nX = pandas.DataFrame(X, columns=list('abc'))\n" + USE,
        setup_after="import pandas\nX = pandas.DataFrame(X, columns=list('abc'), index=np.arange(24) + 100)\n" + USE,
    ),
    "text index": Scenario(
        {"mine.py": method("value = len(X.index[0])")},
        setup="import pandas\nX = pandas.DataFrame(X, columns=list('abc'), index=[f'r{i:02}' for i in range(24)])\n" + USE,
        setup_after="import pandas\nX = pandas.DataFrame(X, columns=list('abc'), index=[f'row{i:02}' for i in range(24)])\n" + USE,
    ),
    # Installed packages.
    "version of a library": Scenario(
        {"mine.py": "import liba\n" + method("value = liba.value()"), **library("liba", 1)},
        {**{name: "" for name in library("liba", 1) if "1.0" in name}, **library("liba", 2, "2.0")},
        env=SITE, real_process=True,
    ),
    "library reinstalled under its version": Scenario(
        {"mine.py": "import liba\n" + method("value = liba.value()"), **library("liba", 1)}, library("liba", 2),
        env=SITE, real_process=True,
    ),
    "library edited in place": Scenario(
        {"mine.py": "import liba\n" + method("value = liba.value()"), **library("liba", 1)},
        dict(list(library("liba", 22).items())[:1]), env=SITE, real_process=True,
    ),
    "requirement of a library": Scenario(
        {
            "mine.py": "import wrap\n" + method("value = wrap.value()"),
            **library("wrap", 0, requires="liba", body="import liba\ndef value():\n    return liba.value()\n"),
            **library("liba", 1),
        },
        library("liba", 2), env=SITE, real_process=True,
    ),
    "undeclared requirement of a library": Scenario(
        {
            "mine.py": "import wrap\n" + method("value = wrap.value()"),
            **library("wrap", 0, body="def value():\n    import liba\n    return liba.value()\n"), **library("liba", 1),
        },
        library("liba", 2), env=SITE, real_process=True,
    ),
    "installed estimator reinstalled": Scenario(
        library("libe", 0, body=method("value = 1")), library("libe", 0, body=method("value = 2")),
        setup="from libe import Constant\nestimator = Constant()", env=SITE, real_process=True,
    ),
}  # fmt: skip

#: Nothing that matters changes: all fits must come from the store.
SHARED: dict[str, Scenario] = {
    "installed estimator": Scenario({}, setup=PIPELINE),
    "class of a module": Scenario({"mine.py": method("value = 1")}),
    "class of the program": Scenario({}, setup=method("value = 1") + "\nestimator = Constant()"),
    "package with relative imports": Scenario(
        {**PACKAGE, "pack/mine.py": method("from .values import V\nvalue = V"), "pack/values.py": "V = 1"},
        setup="from pack.mine import Constant\nestimator = Constant()",
    ),
    "module imported in a method": Scenario({"mine.py": method("import helper\nvalue = helper.value()"), **HELPER}),
    "unrelated file": Scenario({"mine.py": method("value = 1"), "other.py": "V = 1", "data.csv": "a"}, {"other.py": "V = 2", "data.csv": "b"}),
    "unrelated module imported": Scenario(
        {"mine.py": method("value = 1"), "other.py": "V = 1"}, setup_after="import other\n" + USE
    ),
    "unrelated submodule imported": Scenario(
        {**PACKAGE, "pack/mine.py": "import pack.values\n" + method("value = pack.values.V"), "pack/values.py": "V = 1", "pack/more.py": ""},
        setup="from pack.mine import Constant\nestimator = Constant()",
        setup_after="import pack.more\nfrom pack.mine import Constant\nestimator = Constant()",
    ),
    "comment": Scenario({"mine.py": method("value = 1")}, {"mine.py": "# a comment\n" + method("value = 1")}),
    "unrelated environment variable": Scenario(
        {"mine.py": method("value = 1")}, env={"UNRELATED": "1"}, env_after={"UNRELATED": "2"}
    ),
    "module with a lock and a logger": Scenario(
        {"mine.py": "import logging, threading\nLOG = logging.getLogger('m')\nLOCK = threading.Lock()\n" + method("LOG.debug('fit')\nvalue = 1")}
    ),
    "lambda of the program": Scenario(
        {},
        setup="from sklearn.preprocessing import FunctionTransformer as F\nfrom sklearn.linear_model import Ridge\n"
        "from sklearn.pipeline import make_pipeline\nestimator = make_pipeline(F(lambda X: X * 2), Ridge())",
    ),
    "other variables of the program": Scenario(
        {}, setup="a = 1\n" + method("value = 1") + "\nestimator = Constant()",
        setup_after="a = 2\nb = 3\n" + method("value = 1") + "\nestimator = Constant()",
    ),
    "parameter that names an unchanged file": Scenario(
        {"mine.py": method("value = 1"), "value.txt": "1"},
        setup="import pathlib\nfrom mine import Constant\nestimator = Constant(pathlib.Path('{folder}/value.txt'))",
    ),
    "installed package": Scenario(
        library("libe", 0, body=method("value = 1")), setup="from libe import Constant\nestimator = Constant()",
        env=SITE, real_process=True,
    ),
    "installed package, another installed beside it": Scenario(
        library("libe", 0, body=method("value = 1")), library("liba", 2),
        setup="from libe import Constant\nestimator = Constant()", env=SITE, real_process=True,
    ),
}  # fmt: skip
for scenario in SHARED.values():
    scenario.changes = False


class Runner:
    """Runs programs in processes forked from one that has imported the packages: fresh, and quick to start."""

    def __init__(self) -> None:
        code = (
            "import os, runpy, sys, json, warnings\n"
            "import truefit, sklearn.linear_model, sklearn.pipeline, sklearn.preprocessing, pandas, polars\n"
            "import truefit._api.engine, truefit._api.assess, truefit._executors.processes, truefit._stores.sqlite\n"
            "for line in sys.stdin:\n"
            "    asked = json.loads(line)\n"
            "    reader, writer = os.pipe()\n"
            "    child = os.fork()\n"
            "    if child == 0:\n"
            "        os.dup2(writer, 1); os.close(reader); os.dup2(writer, 2)\n"
            "        os.environ.update(asked['env']); os.chdir(asked['folder'])\n"
            "        sys.stdin = open(os.devnull)\n"
            "        sys.argv = asked['command']; sys.dont_write_bytecode = True\n"
            "        code = 0\n"
            "        try:\n"
            "            runpy.run_path(asked['command'][0], run_name='__main__')\n"
            "        except BaseException:\n"
            "            import traceback; traceback.print_exc(); code = 1\n"
            "        sys.stdout.flush(); sys.stderr.flush(); os._exit(code)\n"
            "    os.close(writer)\n"
            "    with os.fdopen(reader) as file: text = file.read()\n"
            "    os.waitpid(child, 0)\n"
            "    print(json.dumps(text), flush=True)\n"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-B", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip

    def run(self, folder: Path, env: dict[str, str], store: str, workers: int, real: bool) -> dict:
        command = [str(folder / "main.py"), store, str(workers)]
        env = {name: value.replace("{folder}", str(folder)) for name, value in env.items()}
        if real:
            if "PYTHONPATH" in env and "PYTHONPATH" in os.environ:
                env["PYTHONPATH"] += os.pathsep + os.environ["PYTHONPATH"]
            done = subprocess.run(
                [sys.executable, "-B", *command], capture_output=True, text=True, env={**os.environ, **env}, cwd=folder,
                check=False,
            )  # fmt: skip
            text = done.stdout + done.stderr
        else:
            self.process.stdin.write(json.dumps({"command": command, "env": env, "folder": str(folder)}) + "\n")
            self.process.stdin.flush()
            text = json.loads(self.process.stdout.readline())
        lines = [line for line in text.splitlines() if line.startswith('{"answer"')]
        if not lines:
            raise AssertionError(f"The program failed:\n{text}")
        return json.loads(lines[-1])

    def close(self) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=60)


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text == "" and path.exists() and "dist-info" in name:
            path.unlink()
        else:
            path.write_text(text.replace("{folder}", str(folder)))


def check(name: str, scenario: Scenario, workers: int, runner: Runner) -> str | None:
    """Run a scenario; return what was wrong, or None."""
    folder = Path(tempfile.mkdtemp(prefix="identity-"))
    try:
        store = str(folder / "runs.db")

        def run(setup: str, env: dict[str, str], where: str, width: int) -> dict:
            text = MAIN.replace("{setup}", setup).replace("{folder!r}", repr(str(folder)))
            write(folder, {"main.py": text.replace("{{", "{").replace("}}", "}")})
            return runner.run(folder, env, where, width, scenario.real_process)

        write(folder, scenario.files)
        first = run(scenario.setup, scenario.env, store, scenario.first_workers)
        write(folder, scenario.after)
        setup = scenario.setup if scenario.setup_after is None else scenario.setup_after
        env = {**scenario.env, **scenario.env_after}
        if not scenario.changes and scenario.setup_after is not None:
            write(folder, scenario.files | scenario.after)
        second = run(setup, env, store, workers)
        if not scenario.changes and scenario.setup_after is not None:
            write(folder, scenario.files | scenario.after)  # what the program may have edited itself
        fresh = run(setup, env, "-", 1)
        if second["answer"] != fresh["answer"]:
            return f"a wrong answer: {second['answer'][:3]} instead of {fresh['answer'][:3]}"
        if name in SHARED and scenario is SHARED[name] and second["run"]:
            return f"not shared: {second['run']} fits were run again"
        if scenario.changes and first["answer"] == fresh["answer"]:
            return "the change has no effect: the scenario shows nothing"
        return None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Run all scenarios, with one and with two workers."""
    runner = Runner()
    wrong = count = 0
    for name, scenario in [*SCENARIOS.items(), *((f"{name} (shared)", s) for name, s in SHARED.items())]:
        for workers in scenario.workers:
            count += 1
            found = check(name.removesuffix(" (shared)"), scenario, workers, runner)
            wrong += found is not None
            print(f"{name}, workers={workers}: {found or 'right'}", flush=True)
    print(f"{len(SCENARIOS)} scenarios of change, {len(SHARED)} of none; {count} checks, {wrong} wrong")
    runner.close()


if __name__ == "__main__":
    main()
