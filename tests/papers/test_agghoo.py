"""Cross-tested Agghoo on images: what the page says, and that it is resumed."""

import os
from pathlib import Path

import numpy as np
import pytest

from papers import find_experiment
from papers.agghoo import PUBLISHED, Row, claims, shrunk
from papers.data import retina
from papers.experiment import Setting
from truefit import Engine
from truefit._core.errors import InvalidInput

FOLDER = Path(os.environ.get("TRUEFIT_DATA", "/nowhere"))
needs_data = pytest.mark.skipif(not (FOLDER / "retinamnist.npz").is_file(), reason="TRUEFIT_DATA has no images")


def row(validation, tested, true):
    return Row(8, np.array([validation]), np.array([tested]), tested, tested, (tested - 0.1, tested + 0.1), true)


def test_a_smaller_image_has_the_means_of_the_areas_it_covers():
    image = np.arange(28.0 * 28 * 3).reshape(1, 28, 28, 3)
    halved = image.reshape(1, 14, 2, 14, 2, 3).mean(axis=(2, 4))
    np.testing.assert_allclose(shrunk(image, 14), halved)
    np.testing.assert_allclose(shrunk(image, 28), image)
    small = shrunk(image, 8)  # 3.5 pixels go into one: half of the fourth counts
    weights = np.array([1, 1, 1, 0.5]) / 3.5
    np.testing.assert_allclose(small[0, 0, 0], np.einsum("i,j,ijc->c", weights, weights, image[0, :4, :4]))
    assert small.shape == (1, 8, 8, 3)
    np.testing.assert_allclose(small.mean(), image.mean())


def test_claims_are_judged_by_the_rows():
    found = claims([row(0.5, 0.6, 0.62), row(0.7, 0.6, 0.62)], quick=False)
    assert [claim.holds for claim in found] == [True, True, True, None]
    assert found[0].here == "in 2 of 2 rows"
    assert found[1].paper == "0.004 against 0.022"
    worse = claims([row(0.6, 0.7, 0.5), row(0.6, 0.7, 0.5)], quick=False)
    assert [claim.holds for claim in worse] == [False, False, False, None]
    assert {claim.holds for claim in claims([row(0.5, 0.6, 0.62)], quick=True)} == {None}
    assert len(PUBLISHED) == 3


def test_images_are_read_in_both_arrangements_and_missing_ones_are_told_of(tmp_path):
    rng = np.random.default_rng(0)
    parts = {part: rng.integers(255, size=(4, 28, 28, 3), dtype=np.uint8) for part in ("train", "val", "test")}
    labels = {f"{part}_labels": np.arange(4).reshape(-1, 1) for part in parts}
    np.savez(tmp_path / "retinamnist.npz", **{f"{part}_images": x for part, x in parts.items()}, **labels)
    images, grades = retina(tmp_path)
    assert images.shape == (12, 28, 28, 3)
    assert images.max() <= 1
    assert grades.tolist() == [0, 1, 2, 3] * 3
    with pytest.raises(InvalidInput, match="no folder was given"):
        retina(None)
    with pytest.raises(InvalidInput, match="has none"):
        retina(tmp_path.parent)


@pytest.mark.slow
@needs_data
def test_a_quick_run_judges_nothing_and_goes_on_from_its_store(tmp_path):
    told = []
    setting = Setting(Engine(tmp_path / "runs.db"), FOLDER, quick=True, tell=told.append)
    page = find_experiment("agghoo").run(setting)
    assert told == ["8 × 8 pixels", "14 × 14 pixels"]
    assert {claim.holds for claim in page.claims} == {None}
    assert (setting.engine.stats.run, setting.engine.stats.refitted) == (2 * (5 + 25 + 10), 0)
    again = Setting(Engine(tmp_path / "runs.db"), FOLDER, quick=True)
    assert find_experiment("agghoo").run(again).to_markdown("a", "b", "c") == page.to_markdown("a", "b", "c")
    assert (again.engine.stats.run, again.engine.stats.refitted) == (0, 10)
