"""Fitting: exact curves are found again, bounds hold, and nothing is better than what was found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares

from truefit._stats.curve_fit import FAMILIES, fit, power_law

SIZES = np.geomspace(20, 5000, 20)
FAR = 50_000.0


def exact(family, a, b, *shapes):
    columns = tuple(np.array([[each]]) for each in shapes)
    log_unit = np.array([[np.log(SIZES[-1])]])

    def at(n):
        return a + b * family.basis(np.log(np.atleast_1d(n) / SIZES[-1])[None], log_unit, columns)[0]

    return at


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("pow3", (0.2,)),
        ("pow3", (0.9,)),
        ("pow2", (0.45,)),
        ("pow4", (0.6, -2.0)),
        ("mmf4", (0.3, -2.5)),
        ("exp3", (2.0,)),
        ("ilog2", ()),
        ("constant", ()),
    ],
)
def test_an_exact_curve_is_found_again(name, shapes) -> None:
    family = FAMILIES[name]
    curve = exact(family, 0.12 if family.floor else 0.0, 0.08, *shapes)
    found = fit(family, SIZES, curve(SIZES)[None])
    np.testing.assert_allclose(found.predict([FAR])[0], curve(FAR), atol=1e-9)
    np.testing.assert_allclose(found.shapes[0], shapes, atol=1e-6)
    assert found.loss[0] < 1e-16


def test_parameters_of_many_power_laws_at_once() -> None:
    random = np.random.default_rng(0)
    a, b, c = random.uniform(0, 0.3, 300), random.uniform(0.2, 2, 300), random.uniform(0.1, 0.9, 300)
    found = fit(FAMILIES["pow3"], SIZES, a[:, None] + b[:, None] * SIZES ** -c[:, None])
    np.testing.assert_allclose(found.a, a, atol=1e-9)
    np.testing.assert_allclose(found.shapes[:, 0], c, atol=1e-9)
    np.testing.assert_allclose(found.b * SIZES[-1] ** c, b, rtol=1e-8)


def test_batches_do_not_influence_each_other() -> None:
    random = np.random.default_rng(1)
    y = 0.1 + 0.5 * SIZES**-0.4 + 0.01 * random.standard_normal((50, 20))
    together = fit(FAMILIES["pow4"], SIZES, y)
    alone = [fit(FAMILIES["pow4"], SIZES, row[None]).predict([FAR])[0, 0] for row in y]
    np.testing.assert_allclose(together.predict([FAR])[:, 0], alone, rtol=1e-9)


def test_points_of_weight_zero_are_not_there() -> None:
    y = 0.1 + 0.5 * SIZES**-0.4 + 0.01 * np.sin(np.arange(20))
    part = fit(FAMILIES["pow3"], SIZES[5:], y[None, 5:])
    weights = np.where(np.arange(20) < 5, 0.0, 1.0)
    sizes, errors = (np.where(weights > 0, column, np.nan) for column in (SIZES, y))
    padded = fit(FAMILIES["pow3"], sizes, errors[None], weights)
    np.testing.assert_allclose(padded.predict([FAR]), part.predict([FAR]), rtol=1e-7)


def test_weights_count_as_repeated_points() -> None:
    y = 0.1 + 0.5 * SIZES**-0.4 + 0.01 * np.cos(np.arange(20))
    weights = np.tile([1.0, 3.0], 10)
    repeated = np.repeat(np.arange(20), weights.astype(int))
    one = fit(FAMILIES["pow3"], SIZES, y[None], weights)
    other = fit(FAMILIES["pow3"], SIZES[repeated], y[None, repeated])
    np.testing.assert_allclose(one.predict([FAR]), other.predict([FAR]), rtol=1e-9)
    np.testing.assert_allclose(one.loss, other.loss, rtol=1e-9)


def test_bounds_hold_where_the_best_curve_is_outside() -> None:
    rising = fit(FAMILIES["pow3"], SIZES, (0.2 + 0.1 * np.log10(SIZES))[None])
    assert rising.b[0] == 0
    assert rising.a[0] == pytest.approx((0.2 + 0.1 * np.log10(SIZES)).mean())
    to_zero = fit(FAMILIES["pow3"], SIZES, (3 * SIZES**-0.5 - 0.03).clip(0)[None])
    assert to_zero.a[0] == 0
    steep = fit(power_law(0.01, 0.5), SIZES, (0.1 + 20 * SIZES**-0.9)[None])
    assert steep.shapes[0, 0] == 0.5


@pytest.mark.parametrize("name", ["pow3", "exp3", "pow4", "mmf4"])
def test_no_start_of_a_general_solver_comes_closer(name) -> None:
    family = FAMILIES[name]
    random = np.random.default_rng(2)
    curves = 0.15 + 0.6 * SIZES**-0.5 + 0.01 * random.standard_normal((4, 20))
    found = fit(family, SIZES, curves)
    low, high = np.array([(shape.low, shape.high) for shape in family.shapes]).T
    for y, loss in zip(curves, found.loss, strict=True):
        for _ in range(5):
            start = np.concatenate([[0.1, 0.1], random.uniform(low, high)])
            other = least_squares(
                lambda p, y=y: exact(family, p[0], p[1], *p[2:])(SIZES) - y,
                start,
                bounds=([0, 0, *low], [np.inf, np.inf, *high]),
            )
            assert loss <= 2 * other.cost * (1 + 1e-6) + 1e-12


def test_single_points_and_constant_errors_are_fitted() -> None:
    one = fit(FAMILIES["pow3"], [[50.0]], [[0.3]])
    assert one.predict([50.0])[0, 0] == pytest.approx(0.3)
    level = fit(FAMILIES["pow4"], SIZES, np.full((1, 20), 0.25))
    np.testing.assert_allclose(level.predict(SIZES), 0.25, atol=1e-12)
    none = fit(FAMILIES["pow3"], SIZES, np.full((1, 20), np.nan), np.zeros(20))
    assert none.predict([FAR])[0, 0] == 0
