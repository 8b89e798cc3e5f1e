"""The coverage study of skewed losses: fits are stored once, intervals come from them, the page states what holds."""

import numpy as np
import pytest
from benchmarks.skewed_losses import __main__ as command
from benchmarks.skewed_losses import page, recipes
from benchmarks.skewed_losses.fits import chunk, file_of
from benchmarks.skewed_losses.settings import PARTS, Source


def test_parts_share_no_source():
    judged, choice = ({source.name for source in PARTS[part]} for part in ("judged", "choice"))
    assert not judged & choice


def test_a_store_is_resumed_and_makes_the_page(monkeypatch, tmp_path):
    source = Source("heavy_tails", (60,))
    monkeypatch.setattr(type(source), "learners", property(lambda self: LEARNERS))
    monkeypatch.setitem(PARTS, "judged", (source,))
    monkeypatch.setattr(page, "PAIRS", (("ridge", "tree"),))
    store = tmp_path / "store"
    store.mkdir()
    chunk(source, 60, 0, 2, tmp_path, store)
    first = np.load(file_of(store, source, 60, 0))["ridge/kfold"]
    assert first.shape == (2, 60)
    assert command.lacking("judged", 2, tmp_path, store) == []
    text = page.page("judged", store, tmp_path)
    assert "2 repetitions each" in text
    assert "| heavy_tails/ridge/60 |" in text


LEARNERS = {name: PARTS["judged"][0].learners[name] for name in ("ridge", "tree")}


@pytest.mark.parametrize("recipe", [recipes.before, recipes.hall])
def test_without_skewness_the_recipes_agree(recipe):
    losses = np.concatenate([np.arange(100.0), np.arange(100.0)])
    low, high = recipe(losses)
    half = 1.96 * 1.2 * losses.std(ddof=1) / np.sqrt(200)
    assert (low, high) == pytest.approx((49.5 - half, 49.5 + half), rel=0.01)
