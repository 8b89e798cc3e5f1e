import copy
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import truefit
from truefit import Engine, HonestSearchCV, assess, study
from truefit._core.errors import FitError, InvalidInput, StoreError
from truefit._sklearn import is_tested

X, y = make_classification(120, 5, random_state=3)
XD, yd = load_diabetes(return_X_y=True)


def test_the_public_names_are_there():
    for name in truefit.__all__:
        assert getattr(truefit, name) is not None
    assert set(truefit.__all__) <= set(dir(truefit))
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        truefit.magic


def test_importing_does_not_load_what_is_not_used():
    code = "import sys; from truefit import Engine, assess, HonestSearchCV, study; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    heavy = {"matplotlib", "jinja2", "typer", "dask", "distributed", "sqlite3", "skrub", "polars", "torch"}
    assert not heavy & loaded


def test_an_engine_is_shared_by_clones_and_left_behind_by_pickles():
    engine = Engine()
    assert clone(engine, safe=False) is engine
    assert copy.deepcopy(engine) is engine
    assert copy.copy(engine) is engine
    assert pickle.loads(pickle.dumps(engine)) is None


@pytest.mark.parametrize("kind", [ProcessPoolExecutor, ThreadPoolExecutor])
def test_any_executor_gives_the_same_results(kind):
    forest = RandomForestClassifier(5)
    expected = assess(forest, X, y).predictions
    options = {"mp_context": get_context("spawn")} if kind is ProcessPoolExecutor else {}
    with kind(2, **options) as pool, Engine(executor=pool) as engine:
        found = assess(forest, X, y, engine=engine).predictions
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_results():
    distributed = pytest.importorskip("distributed")
    forest = RandomForestClassifier(5)
    expected = assess(forest, X, y).predictions
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
        Engine(executor=client.get_executor()) as engine,
    ):
        found = assess(forest, X, y, engine=engine).predictions
        assert engine.stats.run == 5
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


@pytest.mark.slow
def test_an_engine_inside_a_worker_runs_serially():
    search = HonestSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=3, n_jobs=2, random_state=0)
    serial = cross_val_score(search, X, y, cv=3)
    with Engine(workers=2) as engine:
        result = assess(search, X, y, cv=StratifiedKFold(3), metric="accuracy", engine=engine)
    assert np.array_equal(result.split_scores()["HonestSearchCV"], serial)


@pytest.mark.skipif(not is_tested(), reason="with this version of scikit-learn all fits are run one by one")
def test_closed_forms_answer_leave_one_out_and_say_so():
    for model in (Ridge(alpha=0.5), LinearRegression()):
        auto, plain = Engine(), Engine(solvers="plain")
        fast, slow = (assess(model, XD[:300], yd[:300], design="loo", engine=engine) for engine in (auto, plain))
        assert np.allclose(fast.predictions["prediction"], slow.predictions["prediction"], rtol=1e-8)
        assert auto.stats.run == 1
        assert auto.stats.shared == 299
        assert plain.stats.run == 300


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "'workers' parameter"),
        ({"workers": 1.5}, "'workers' parameter"),
        ({"timeout": -1}, "'timeout' parameter"),
        ({"on_error": "ignore"}, "'on_error' parameter"),
        ({"solvers": "fast"}, "'solvers' parameter"),
        ({"progress": "loud"}, "'progress' parameter"),
        ({"threads": 0}, "'threads' parameter"),
        ({"executor": 3}, "'executor' parameter"),
        ({"store": 3}, "'store' parameter"),
    ],
)
def test_options_that_will_not_do(options, message):
    with pytest.raises(InvalidInput, match=message):
        Engine(**options)


def test_a_store_that_will_not_do(tmp_path):
    (tmp_path / "text.db").write_text("this is no database, but it is long enough to be looked at")
    for path in (tmp_path, tmp_path / "text.db", tmp_path / "nowhere" / "runs.db"):
        with pytest.raises(StoreError, match=str(path)):
            Engine(path)


def test_progress_can_be_listened_to():
    events = []
    assess(LogisticRegression(), X, y, engine=Engine(progress=events.append))
    assert events[-1].done == events[-1].total == 5


def test_study_chooses_assesses_and_explains(tmp_path):
    with Engine(tmp_path / "runs.db") as engine:
        found = study(X, y, {"linear": LogisticRegression(), "forest": RandomForestClassifier(5)}, engine=engine)
        assert found.best in ("linear", "forest")
        assert found.verdict[0] == f"Use {found.best}."
        assert found.interval[0] < found.estimate < found.interval[1]
        assert found.cross_test is not None
        assert found.model.predict(X).shape == (120,)
        assert found.to_dict()["parts"]["assessment"]["metric"] == "error"
        assert "<svg" in found._repr_html_()


@pytest.mark.slow
def test_study_has_candidates_for_any_table():
    frame = pd.DataFrame(XD[:80], columns=[f"c{i}" for i in range(10)])
    frame["city"] = ["Ulm", "Jena", None, "Bonn"] * 20
    found = study(frame, yd[:80], cv=3, tune=False)
    assert {"dummy", "linear", "boosting"} <= set(found.table.index)


def test_a_mistake_in_an_estimator_is_shown_with_its_traceback():
    with pytest.raises(FitError, match="n_neighbors"):
        assess(KNeighborsClassifier(n_neighbors=0), X, y)


@pytest.mark.parametrize("memory", ["lots", 0, 1.5, "10MB"])
def test_a_memory_limit_must_be_one(memory):
    with pytest.raises(InvalidInput, match="'memory' parameter"):
        Engine(memory=memory)


def test_a_memory_limit_is_not_for_workers_of_others():
    with ThreadPoolExecutor(1) as pool, pytest.raises(InvalidInput, match="Limit their memory where they are started"):
        Engine(executor=pool, memory="4GB")


def test_a_memory_limit_changes_no_result():
    forest = RandomForestClassifier(5)
    with Engine(memory="4GB") as engine:
        found = assess(forest, X, y, engine=engine).predictions
    pd.testing.assert_frame_equal(found, assess(forest, X, y).predictions, check_exact=True)
