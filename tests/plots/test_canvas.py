"""Colours that are told apart: on light and dark pages, and by eyes of every kind."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from truefit._plots.canvas import SERIES, series_style

#: How linear RGB is seen by eyes without one of the three kinds of cones (Machado, Oliveira & Fernandes 2009).
EYES = {
    "all cones": np.eye(3),
    "no long": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no middle": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no short": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def linear(colour: str) -> np.ndarray:
    return np.array([v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(colour)])


def lab(rgb: np.ndarray) -> np.ndarray:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ rgb.clip(0, 1) / to_xyz.sum(axis=1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("page", ["#ffffff", "#15181e"])
@pytest.mark.parametrize("colour", SERIES)
def test_colours_contrast_with_light_and_dark_pages(colour: str, page: str) -> None:
    a, b = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (colour, page))
    assert (b + 0.05) / (a + 0.05) >= 3.0


@pytest.mark.parametrize("eyes", EYES)
def test_any_two_colours_are_far_apart(eyes: str) -> None:
    seen = [lab(np.asarray(EYES[eyes]) @ linear(colour)) for colour in SERIES]
    # A difference of about 2 is just seen; ten times as much is seen at a glance.
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 20


def test_series_are_told_apart_without_colours_too() -> None:
    assert len({series_style(i)[1] for i in range(5)}) == 5
    assert len({series_style(i) for i in range(25)}) == 25


def test_shares_below_0_get_no_number():
    from truefit._plots.canvas import canvas, format_ticks

    axis = canvas().yaxis
    format_ticks(axis, "%")
    assert [axis.get_major_formatter()(value, 0) for value in (-0.02, -0.0, 0.02)] == ["", "0%", "2%"]
