"""The reference curves: families stay together, and the shipped constants do on real curves what the page says."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from papers.lcdb.constants import learn
from papers.lcdb.curves import GROUP_OF, NESTED, Curve, View, family_of, observe, read_curves
from papers.lcdb.page import OURS, YARDSTICK, Trial, written_up
from papers.lcdb.stopping import follow
from truefit._stats.curve_forecast import CurveCalibration, shipped, shipped_gain

DATA = os.environ.get("TRUEFIT_DATA")


def made_up_curves(count: int = 40) -> list[Curve]:
    random = np.random.default_rng(0)
    sizes = np.round(16 * 2 ** (np.arange(64) / 8))
    learners = sorted(GROUP_OF)
    curves = []
    for i in range(count):
        a, b, c = random.uniform(0.02, 0.3), random.uniform(0.5, 2), random.uniform(0.3, 0.7)
        errors = np.clip(a + b * sizes**-c + 0.004 * random.standard_normal(64), 0, 1)
        curves.append(Curve(f"set {i % 12}", learners[i % len(learners)], sizes, errors, np.full(64, 0.004)))
    return curves


def test_sets_of_one_source_are_one_family() -> None:
    assert family_of("adult") == family_of("adult-census")
    assert family_of("mfeat-pixel") == family_of("mfeat-zernike")
    assert family_of("pc4") == family_of("jm1")
    assert family_of("letter") != family_of("isolet")


def test_views_show_what_they_say() -> None:
    curves = made_up_curves(3)
    seen = observe(curves, View(0.164, every=4))
    assert seen.points.last.max() <= 0.164 * curves[0].sizes[-1]
    np.testing.assert_allclose(seen.points.sizes[0, 1:] / seen.points.sizes[0, :-1], np.sqrt(2), rtol=0.03)
    np.testing.assert_allclose(seen.truth, [curve.errors[-3:].mean() for curve in curves])
    noisy = observe(curves, View(0.164, noise="fewer repeats"))
    np.testing.assert_allclose(noisy.points.stderr[:, -1], 0.004 * np.sqrt(5))


@pytest.mark.slow
def test_constants_are_learnt_and_written_up() -> None:
    curves = made_up_curves()
    observed = [observe(curves, View(share)) for share in (0.5, 0.164, 0.05)]
    calibration = CurveCalibration.from_dict(learn(observed))
    trials = [Trial(each, calibration, calibration) for each in observed]
    assert np.mean([trial.holds()[trial.given].mean() for trial in trials]) > 0.9
    text = written_up(curves, trials, 0.001).to_markdown("lcdb", "Curves", "By hand.")
    assert "| **truefit** |" in text
    assert "### The judged half, seen otherwise" in text
    assert "| what | wanted | here | agrees |" in text


def test_nested_views_know_their_covariance() -> None:
    points = observe(made_up_curves(3), View(0.25, every=8, noise=NESTED)).points
    assert points.covariance.shape == (3, 6, 6)
    np.testing.assert_allclose(np.sqrt(np.diagonal(points.covariance, axis1=1, axis2=2)), points.stderr)
    near, far = points.covariance[0, -1, -2], points.covariance[0, -1, 0]
    assert near > 0
    assert far > 0


def test_curves_that_are_followed_end_where_little_is_left() -> None:
    curves = [
        replace(curve, sizes=16 * curve.sizes / 16, errors=0.1 + 3 * curve.sizes**-1.0, stderr=curve.stderr / 10)
        for curve in made_up_curves(12)
    ]
    bounds = {True: shipped_gain(), False: shipped_gain()}
    found = follow(curves, bounds, every=8, tolerance=0.05)
    assert found.stopped.any()
    assert not found.wrong(0.05).any()
    assert found.share[found.stopped].max() <= 0.75


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="needs lcdb_curves.parquet in the folder that TRUEFIT_DATA names")
@pytest.mark.parametrize(("share", "median", "tail", "width"), [(0.164, 0.6, 0.6, 11), (0.05, 0.8, 0.85, 22)])
def test_targets_on_the_reference_curves(share, median, tail, width) -> None:
    curves = read_curves(Path(str(DATA)) / "lcdb_curves.parquet")
    trial = Trial(observe(curves, View(share)), shipped(), shipped())
    ours, theirs = trial.off(OURS, trial.given), trial.off(YARDSTICK, trial.given)
    assert ours[0] < median * theirs[0]
    assert ours[1] < tail * theirs[1]
    assert 0.93 < trial.holds()[trial.given].mean() < 0.98
    assert np.median(trial.widths[trial.given]) < width
    assert 1 - trial.given.mean() < 0.16
    for group in set(trial.observed.groups) - {"QDA", "TabNet"}:
        assert trial.holds()[trial.given & (trial.observed.groups == group)].mean() > 0.9
