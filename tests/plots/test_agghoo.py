import numpy as np

from truefit.plots.agghoo import cross_tested


def test_the_interval_is_a_band_behind_the_first_row_alone():
    ax = cross_tested(["Agghoo", "members"], [[2.0, 3.0], [4.0, 3.0]], interval=(1.5, 3.5), xlabel="mse")
    (band,) = [each for each in ax.collections if type(each).__name__ == "FillBetweenPolyCollection"]
    corners = band.get_paths()[0].vertices
    assert (corners[:, 0].min(), corners[:, 0].max()) == (1.5, 3.5)
    assert np.abs(corners[:, 1]).max() < 0.5
    assert ax.get_xlabel() == "mse"
    left, right = ax.get_xlim()
    assert left < 1.5 < 4.0 < right


def test_without_an_interval_there_is_no_band():
    ax = cross_tested(["Agghoo"], [[2.0, 3.0]], interval=None, xlabel="mse")
    assert len(ax.collections) == 1
