"""The paper's Table 1, cell by cell."""

from __future__ import annotations

import numpy as np
import pytest

from papers.brumen import published
from truefit._stats.curve_paper import Procedure, fit_paper, r_sigma, well_behaved

TABLE = published()
#: The first row, by the paper's count, that has an interval.
FIRST = 4


@pytest.fixture(scope="module")
def around_published() -> Procedure:
    return Procedure.from_expected(TABLE["size"], TABLE["error"], TABLE["next"], TABLE["large"], printed=True)


def test_r_sigma_of_all_22_rows() -> None:
    wanted = TABLE["r_sigma"][FIRST - 1 :]
    np.testing.assert_allclose(r_sigma(TABLE["error"], printed=True)[FIRST - 1 :], wanted, atol=0.0006)
    np.testing.assert_allclose(r_sigma(TABLE["error"])[FIRST - 1 :], wanted, rtol=0.002, atol=0.0006)


def test_exact_quantiles_print_as_most_of_the_rows_do() -> None:
    same = np.abs(r_sigma(TABLE["error"]) - TABLE["r_sigma"]) <= 0.0006
    assert same.sum() == 17


def test_intervals_of_all_22_rows(around_published) -> None:
    off = np.maximum(np.abs(around_published.low - TABLE["low"]), np.abs(around_published.high - TABLE["high"]))
    assert (off[FIRST - 1 :] <= 0.0065).sum() == 21
    assert off[6 - 1] <= 0.06


def test_well_behaved_rows_and_where_they_agree(around_published) -> None:
    rows = np.flatnonzero(around_published.well_behaved)
    assert (rows + 1).tolist() == [9, 14, 19, 22, 24]
    np.testing.assert_allclose(around_published.disagreement[rows], [5.8807, 3.4297, 1.0267, 0.4845, 0.5271], atol=1e-4)
    assert around_published.stops_at(2.0) == 19 - 1
    assert around_published.stops_at(0.4) is None


def test_how_far_the_next_error_was_off() -> None:
    off = np.abs(TABLE["error"][1:] - TABLE["next"][:-1])
    found = (off.mean(), off.std(ddof=1), off.min(), off.max())
    np.testing.assert_allclose(found, (1.1067, 1.2436, 0.0512, 6.2058), atol=1e-4)
    assert TABLE["size"][1:][off.argmax()] == 300


def test_our_own_fit_of_the_published_points() -> None:
    found = fit_paper(TABLE["size"][:19], TABLE["error"][None, :19])
    exponent = found.shapes[0, 0]
    parameters = (found.a[0], found.b[0] * found.unit[0] ** exponent, -exponent)
    np.testing.assert_allclose(parameters, (13.7966, 120.3427, -0.5), atol=1e-3)
    np.testing.assert_allclose(found.predict([9000, 500_000])[0], (15.0651, 13.9668), atol=1e-3)


def test_the_whole_procedure_on_the_published_points() -> None:
    found = Procedure.of(TABLE["size"], TABLE["error"])
    assert found.following[18] == pytest.approx(15.0651, abs=1e-3)
    assert found.large[18] == pytest.approx(13.9668, abs=1e-3)
    late = slice(13, 24)
    assert np.abs(found.following - TABLE["next"])[late].max() < 0.35
    assert np.abs(found.large - TABLE["large"])[late].max() < 0.50
    assert found.stops_at(2.0) == 18
    assert np.isnan(found.following[:2]).all()


def test_good_behaviour_is_falling_ever_more_slowly() -> None:
    sizes = [1, 2, 3]
    assert well_behaved(sizes, [3, 2, 1.5])[-1]
    assert not well_behaved(sizes, [3, 2.5, 1.5])[-1]
    assert not well_behaved(sizes, [3, 2, 2])[-1]
    assert not well_behaved(sizes, [2, 3, 1])[-1]
    # By the step, not by the row: 100 rows more brought 0.1, then 1000 rows brought 0.5.
    assert well_behaved([100, 200, 1200], [1.0, 0.9, 0.4])[-1]


def test_too_few_points() -> None:
    assert np.isnan(r_sigma([1.0, 2.0])).all()
    assert np.isnan(r_sigma(np.ones(30), printed=True)[25:]).all()
    assert not well_behaved([1, 2], [2, 1]).any()
