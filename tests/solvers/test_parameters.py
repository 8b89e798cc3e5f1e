import numpy as np
import pytest

from truefit._solvers.parameters import are_priors, is_seed, is_size, is_switch


@pytest.mark.parametrize(
    ("check", "yes", "no"),
    [
        (is_switch, [True, np.bool_(False)], [0, 1, "yes", None]),
        (is_size, [0, 1.5, np.float32(2), np.int8(3)], [-1, np.nan, np.inf, True, "1", None, [1.0]]),
        (is_seed, [None, 0, 2**32 - 1], [-1, 2**32, "a", True, np.random.RandomState(0)]),
    ],
)
def test_values_that_can_stand(check, yes, no):
    assert all(map(check, yes))
    assert not any(map(check, no))


def test_priors():
    assert are_priors((0.5, 0.25, 0.25), 3)
    for value in (
        [0.5, 0.5],
        [0.5, 0.5, 0.0],
        [0.5, 0.6, -0.1],
        [0.3, 0.3, 0.3],
        ["a", "b", "c"],
        [[0.5, 0.25, 0.25]],
        1,
    ):
        assert not are_priors(value, 3)
