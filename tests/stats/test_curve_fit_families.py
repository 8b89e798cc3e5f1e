"""Families: what their formulas say, in the units of the search."""

from __future__ import annotations

import numpy as np
import pytest

from truefit._stats.curve_fit import FAMILIES, power_law

SIZES = np.array([10.0, 100.0, 1000.0])


def value(name: str, shapes: tuple[float, ...], unit: float = 1000.0) -> np.ndarray:
    columns = tuple(np.array([[each]]) for each in shapes)
    return FAMILIES[name].basis(np.log(SIZES / unit)[None], np.array([[np.log(unit)]]), columns)[0]


@pytest.mark.parametrize(
    ("name", "shapes", "expected"),
    [
        ("pow3", (0.5,), (SIZES / 1000) ** -0.5),
        ("pow2", (0.5,), (SIZES / 1000) ** -0.5),
        ("pow4", (0.5, np.log(0.2)), ((SIZES + 200) / 1200) ** -0.5),
        ("mmf4", (np.log(1.5), np.log(0.1)), 1 / (1 + (SIZES / 100) ** 1.5)),
        ("exp3", (np.log(5.0),), np.exp(-0.005 * SIZES)),
        ("ilog2", (), 1 / np.log(SIZES)),
        ("constant", (), np.zeros(3)),
    ],
)
def test_the_falling_part_is_what_the_formula_says(name, shapes, expected) -> None:
    np.testing.assert_allclose(value(name, shapes), expected, rtol=1e-12)


def test_every_family_falls_and_stays_finite_over_its_whole_search() -> None:
    n = np.geomspace(1, 1e7, 50)
    for family in FAMILIES.values():
        for end in ("low", "high"):
            shapes = tuple(np.array([[getattr(shape, end)]]) for shape in family.shapes)
            found = family.basis(np.log(n / 1e4)[None], np.array([[np.log(1e4)]]), shapes)
            assert np.isfinite(found).all()
            assert (np.diff(found) <= 1e-12).all()


def test_a_power_law_without_a_floor_is_called_differently() -> None:
    assert power_law().name == "pow3"
    assert power_law(floor=False).name == "pow2"
    assert power_law(0.01, 0.5).shapes[0].high == 0.5
