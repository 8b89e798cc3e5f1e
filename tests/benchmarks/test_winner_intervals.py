import warnings

import numpy as np
import pytest
from benchmarks.winner_intervals import methods, studies
from benchmarks.winner_intervals.__main__ import finished, planned
from benchmarks.winner_intervals.page import page
from benchmarks.winner_intervals.sources import Sample, candidates, drawn
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from truefit import Engine, HonestSearchCV, assess
from truefit._stats.bootstrap_error import bbc

FEW = slice(0, 10, 2)


@pytest.fixture(params=["moons", "friedman"])
def studied(request):
    """Losses of a few candidates on generated rows, with the models, the sample and the task."""
    sample = drawn(request.param, 100, 0, None)
    task = "classification" if request.param == "moons" else "regression"
    models = candidates(task, False)[FEW]
    zero_one = task == "classification"
    return studies.fitted_losses(models, sample.X, sample.y, 0, zero_one), models, sample, zero_one


def test_nested_and_its_extension_are_those_of_the_search(studied):
    losses, models, sample, zero_one = studied
    kind = StratifiedKFold if zero_one else KFold
    search = HonestSearchCV(
        Pipeline([("model", models[0])]),
        {"model": models},
        cv=kind(5, shuffle=True, random_state=0),
        scoring="accuracy" if zero_one else "neg_mean_squared_error",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = search.fit(sample.X, sample.y).assessment_
    top = 1.0 if zero_one else 0.0
    assert models[losses.best].get_params() == search.best_params_["model"].get_params()
    estimate, low, high = methods.intervals(losses)[methods.TODAY]
    assert (estimate, low, high) == pytest.approx(
        (top - found.estimate, top - found.interval[1], top - found.interval[0])
    )


def test_naive_and_bbc_are_those_of_an_assessment(studied):
    losses, models, sample, zero_one = studied
    cv = (StratifiedKFold if zero_one else KFold)(5, shuffle=True, random_state=0)
    named = {str(place): model for place, model in enumerate(models)}
    with Engine(progress=False) as engine, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = assess(named, sample.X, sample.y, cv=cv, metric="error" if zero_one else "mse", engine=engine)
    mine = methods.intervals(losses)
    own = found.estimates[found.best]
    assert mine[methods.NAIVE] == pytest.approx((own.value, *own.interval))
    # Other rows are drawn, since here they are in the order of the folds.
    assert mine["bbc_5"][0] == pytest.approx(found.winner.value, rel=0.1)


def test_the_bootstrap_is_that_of_bbc(studied):
    losses, *_, zero_one = studied
    for runs, mine in (
        (losses.repeats[:1], methods.redrawn(losses.repeats[0])),
        (losses.repeats, methods.repeated(losses)),
    ):
        assert mine.mean() == pytest.approx(bbc(runs, seed=0, zero_one=zero_one).estimate)


def test_bbc_f_draws_folds():
    fold = np.array([[0.1, 0.2], [0.1, 0.2], [0.1, 0.2], [0.1, 0.2], [0.7, 0.2]])
    errors = methods.redrawn(fold)
    # Without the last fold the first candidate is better, and is evaluated on it and those not drawn; with it, worse.
    assert set(np.round(errors, 6)) == {0.2, 0.7, 0.4, 0.3, 0.25}
    assert 0.95 < len(errors) / methods.DRAWS < 1


@pytest.mark.parametrize("name", ["no_signal", "sparse"])
def test_a_line_of_the_store_has_all_losses(name, monkeypatch):
    few = candidates("classification" if name == "no_signal" else "regression", False)[FEW]
    monkeypatch.setattr(studies, "candidates", lambda task, many: few)
    sample = drawn(name, 60, 1, None)
    small = Sample(sample.X, sample.y, sample.others[:500], sample.truths[:500], sample.noise_variance)
    monkeypatch.setattr(studies, "drawn", lambda *arguments: small)
    line = studies.study("few", name, 60, 1, None)
    losses = studies.losses_of(line)
    direct = studies.fitted_losses(few, sample.X, sample.y, 1, losses.zero_one)
    assert losses.repeats == pytest.approx(direct.repeats, rel=1e-6)
    assert losses.triangle == pytest.approx(direct.triangle, rel=1e-6)
    assert (losses.folds == direct.folds).all()
    assert line["truth"] > (0.4 if name == "no_signal" else 1.0)
    text = page([line, line | {"seed": 2}], len(planned()))
    assert "**2 of" in text
    assert f"| {name} | 2 |" in text


def test_a_line_cut_off_by_a_crash_is_run_again(tmp_path):
    store = tmp_path / "store.jsonl"
    store.write_text('{"arm": "few", "source": "xor", "rows": 200, "seed": 0}\n{"arm": "few", "sou')
    assert list(finished(store)) == [planned()[planned().index(("few", "xor", 200, 0))]]
