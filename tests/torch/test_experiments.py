"""The experiments with networks run, and judge nothing in a quick run."""

import os
from pathlib import Path

import pytest

from papers import find_experiment
from papers.experiment import Setting
from papers.pmv.figure4 import networks
from truefit._core.errors import InvalidInput

FOLDER = Path(os.environ.get("TRUEFIT_DATA", "/nowhere"))
needs_data = pytest.mark.skipif(not FOLDER.is_dir(), reason="TRUEFIT_DATA names no folder")


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("name", ["pmv-fig4", "agghoo-cnn"])
def test_a_quick_run_judges_nothing(name):
    page = find_experiment(name).run(Setting(folder=FOLDER, quick=True))
    assert [claim.holds for claim in page.claims] == [None]
    assert any("torch" in note for note in page.notes)


def test_figure_4_takes_networks_of_torch():
    assert {type(each).__name__ for each in networks([10, 20], 5).values()} == {"TorchClassifier"}


def test_the_images_must_be_there(tmp_path):
    with pytest.raises(InvalidInput, match="must be in a folder as retinamnist"):
        find_experiment("agghoo-cnn").run(Setting(folder=tmp_path))
