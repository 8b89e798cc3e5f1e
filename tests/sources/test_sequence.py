import numpy as np
import pytest
from scipy.stats import chisquare

from truefit.sources.sequence import first_keys, hash_of


def stretches(keys, *ends):
    return np.split(np.asarray(keys), ends)


@pytest.mark.parametrize("keys", [np.arange(1000), np.array([f"row {i}" for i in range(1000)], dtype=object)])
def test_samples_contain_each_other_and_do_not_depend_on_the_stretches(keys):
    whole = first_keys([keys], 1000)
    assert sorted(whole.tolist()) == sorted(keys.tolist())
    for n in (0, 1, 7, 400, 999, 2000):
        assert first_keys(stretches(keys, 3, 500, 501), n).tolist() == whole[:n].tolist()
    assert first_keys(stretches(keys[::-1], 10), 50).tolist() == whole[:50].tolist()


def test_another_seed_is_another_sequence_and_none_is_position():
    first = [first_keys([np.arange(10_000)], 100, seed=seed).tolist() for seed in (0, 1, 2**70)]
    assert all(len(set(a) & set(b)) < 10 for a, b in ((first[0], first[1]), (first[1], first[2])))
    # Neighbours must not follow each other, nor any part of the table be preferred.
    counts = np.histogram(first_keys([np.arange(1_000_000)], 20_000), bins=50, range=(0, 1_000_000))[0]
    assert chisquare(counts).pvalue > 0.001
    hashes = hash_of(np.arange(10_000))
    assert abs(np.corrcoef(hashes[1:].astype(float), hashes[:-1].astype(float))[0, 1]) < 0.05


def test_no_keys_make_no_sequence():
    assert first_keys([], 5).tolist() == []
