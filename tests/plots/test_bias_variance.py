"""What an expected loss is made of."""

from __future__ import annotations

import numpy as np
import pytest

from truefit._core.errors import InvalidInput
from truefit._plots.bias_variance import bias_variance
from truefit._plots.svg import to_svg

NAMES = ["ridge", "tree"]
BIAS, VARIANCE, NOISE = [0.30, 0.05], [0.02, 0.25], [0.10, 0.10]


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def spans(ax) -> list[list[tuple[float, float]]]:
    return [[(bar.get_x(), bar.get_x() + bar.get_width()) for bar in bars] for bars in ax.containers]


def test_bars_stand_on_each_other_and_end_at_the_loss() -> None:
    ax = bias_variance(NAMES, BIAS, VARIANCE, noise=NOISE)
    np.testing.assert_allclose(
        spans(ax), [[(0, 0.30), (0, 0.05)], [(0.30, 0.32), (0.05, 0.30)], [(0.32, 0.42), (0.30, 0.40)]]
    )
    np.testing.assert_allclose([line.get_xdata()[0] for line in ax.lines], [0.42, 0.40])
    assert [text.get_text() for text in ax.texts] == ["0.420", "0.400"]
    assert texts(ax) == ["bias", "variance", "noise"]
    assert ax.get_xlabel() == "expected loss"


def test_areas_stand_on_each_other_below_the_loss() -> None:
    ax = bias_variance([4, 1], VARIANCE, BIAS, xlabel="depth", loss_name="squared error", best=4)
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[1, 0.30], [4, 0.32]])
    below, above = (area.get_paths()[0].vertices for area in ax.collections)
    assert {(1, 0.0), (1, 0.25), (4, 0.02)} <= {(x, round(y, 9)) for x, y in below}
    assert {(1, 0.25), (1, 0.30), (4, 0.02), (4, 0.32)} <= {(x, round(y, 9)) for x, y in above}
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("depth", "squared error")
    assert texts(ax) == ["variance", "bias"]
    assert ax.texts[0].get_text() == "0.320 at 4"


def test_a_variance_below_0_takes_from_the_bias() -> None:
    ax = bias_variance(NAMES, [0.30, 0.10], [-0.10, 0.05])
    assert texts(ax) == ["bias", "bias made up for", "variance"]
    np.testing.assert_allclose(
        spans(ax), [[(0, 0.20), (0, 0.10)], [(0.20, 0.30), (0.10, 0.10)], [(0.30, 0.30), (0.10, 0.15)]], atol=1e-12
    )
    np.testing.assert_allclose([line.get_xdata()[0] for line in ax.lines], [0.20, 0.15])


def test_the_hatching_is_in_the_svg() -> None:
    svg = to_svg(bias_variance(NAMES, BIAS, VARIANCE), title="t", description="d")
    assert "<pattern" in svg
    assert 'fill="none"' in svg[svg.index("<pattern") :]


def test_the_best_is_in_bold() -> None:
    ax = bias_variance(NAMES, BIAS, VARIANCE, best="tree")
    assert [label.get_fontweight() for label in ax.get_yticklabels()] == ["normal", "bold"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: bias_variance(NAMES, [0.1], VARIANCE), "'bias'.*2 values"),
        (lambda: bias_variance(NAMES, BIAS, VARIANCE, noise=[0.1]), "'noise'.*2 values"),
        (lambda: bias_variance(NAMES, BIAS, VARIANCE, best="forest"), "'best'.*'ridge', 'tree'.*'forest'"),
        (lambda: bias_variance([], [], []), "finite number, or a name"),
    ],
)
def test_what_cannot_be_drawn_is_said(call, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        call()
