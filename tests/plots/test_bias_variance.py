"""The parts of an expected loss."""

from __future__ import annotations

import numpy as np

from truefit._plots.bias_variance import bias_variance
from truefit._plots.svg import to_svg

NAMES = ["ridge", "tree"]
BIAS, VARIANCE, NOISE = [0.30, 0.05], [0.02, 0.25], [0.10, 0.10]


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def spans(ax) -> list[list[tuple[float, float]]]:
    return [[(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars] for bars in ax.containers]


def test_bars_stand_on_each_other_and_end_at_the_loss() -> None:
    ax = bias_variance(NAMES, BIAS, VARIANCE, noise=NOISE, xlabel="expected loss")
    np.testing.assert_allclose(
        spans(ax), [[(0, 0.30), (0, 0.05)], [(0.30, 0.32), (0.05, 0.30)], [(0.32, 0.42), (0.30, 0.40)]]
    )
    np.testing.assert_allclose([line.get_xdata()[0] for line in ax.lines], [0.42, 0.40])
    assert [text.get_text() for text in ax.texts] == ["0.420", "0.400"]
    assert texts(ax) == ["bias", "variance", "noise"]
    assert ax.get_xlabel() == "expected loss"


def test_a_variance_below_0_takes_from_the_bias() -> None:
    ax = bias_variance(NAMES, [0.30, 0.10], [-0.10, 0.05], xlabel="expected loss")
    assert texts(ax) == ["bias", "bias offset by variance", "variance"]
    np.testing.assert_allclose(
        spans(ax), [[(0, 0.20), (0, 0.10)], [(0.20, 0.30), (0.10, 0.10)], [(0.30, 0.30), (0.10, 0.15)]], atol=1e-12
    )
    np.testing.assert_allclose([line.get_xdata()[0] for line in ax.lines], [0.20, 0.15])


def test_the_hatching_is_in_the_svg() -> None:
    svg = to_svg(bias_variance(NAMES, BIAS, VARIANCE, xlabel="loss"), title="t", description="d")
    assert "<pattern" in svg
    assert 'fill="none"' in svg[svg.index("<pattern") :]
