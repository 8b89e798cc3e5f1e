"""The standard error of a permutation importance."""

import numpy as np
import pytest

from truefit._stats.permutation import covariance_of_means, influence


def drawn(random, n, repeats, kernel):
    values = random.standard_normal((n, 2))
    permutations = np.array([random.permutation(n) for _ in range(repeats)])
    changes = kernel(values[:, 0], values[permutations, 0], values[:, 1])
    return changes, permutations


def squared_error(own, others, noise):
    """Change of the squared error of a linear model with one coefficient of 1."""
    return (noise + others - own) ** 2 - noise**2


def interaction(own, others, noise):
    """A column that does not matter: the rows that meet decide."""
    return noise * np.sign(own * others)


@pytest.mark.parametrize("kernel", [squared_error, interaction])
@pytest.mark.parametrize("repeats", [1, 5])
def test_the_standard_error_is_that_of_repeated_samples(kernel, repeats):
    random = np.random.default_rng(0)
    means, errors = [], []
    for _ in range(600):
        changes, permutations = drawn(random, 80, repeats, kernel)
        psi = influence(changes, permutations)[:, None]
        means.append(psi.mean())
        errors.append(covariance_of_means(psi, [changes.var()], repeats)[0, 0])
    assert np.sqrt(np.mean(errors)) == pytest.approx(np.std(means), rel=0.12)


def test_the_rows_own_changes_are_too_little():
    random = np.random.default_rng(1)
    means, naive = [], []
    for _ in range(300):
        changes, _ = drawn(random, 80, 5, squared_error)
        means.append(changes.mean())
        naive.append(changes.mean(axis=0).var() / 80)
    assert np.sqrt(np.mean(naive)) < 0.9 * np.std(means)


def test_groups_count_in_the_place_of_rows():
    psi = np.repeat(np.random.default_rng(0).standard_normal(40), 3)[:, None]
    groups = np.repeat(np.arange(40), 3)
    by_groups = covariance_of_means(psi, [0.0], 5, groups)[0, 0]
    assert by_groups == pytest.approx(psi[::3].var(ddof=1) / 40)
    assert by_groups > 2.9 * covariance_of_means(psi, [0.0], 5)[0, 0]
