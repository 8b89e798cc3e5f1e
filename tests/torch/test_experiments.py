"""The experiments with networks run, and judge nothing in a quick run."""

import os
from pathlib import Path

import pytest

from truefit._core.errors import InvalidInput
from truefit.reproduce import agghoo_cnn, pmv_fig4
from truefit.reproduce.experiment import Setting

FOLDER = Path(os.environ.get("TRUEFIT_DATA", "/nowhere"))
needs_data = pytest.mark.skipif(not FOLDER.is_dir(), reason="TRUEFIT_DATA names no folder")


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("experiment", [pmv_fig4.EXPERIMENT, agghoo_cnn.EXPERIMENT])
def test_a_quick_run_judges_nothing(experiment):
    page = experiment.run(Setting(folder=FOLDER, quick=True))
    assert [claim.holds for claim in page.claims] == [None]
    assert any("torch" in note for note in page.notes)


def test_figure_4_takes_networks_of_torch():
    assert {type(each).__name__ for each in pmv_fig4.networks([10, 20], 5).values()} == {"TorchClassifier"}


def test_the_images_must_be_there(tmp_path):
    with pytest.raises(InvalidInput, match="must be in a folder as retinamnist"):
        agghoo_cnn.EXPERIMENT.run(Setting(folder=tmp_path))
