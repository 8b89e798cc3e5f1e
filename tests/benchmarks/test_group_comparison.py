"""The study of paired tests with groups: what is drawn, and what each test finds."""

import numpy as np

from benchmarks import group_comparison as benchmark


def test_the_two_sets_of_features_are_drawn_alike_and_the_tests_differ_by_their_widths():
    found = benchmark.measured(30, "even", "strong", 2)
    assert set(found) == {(learner, test) for learner in benchmark.TESTED for test in benchmark.TESTS}
    for learner in benchmark.TESTED:
        width = {test: found[learner, test][1] for test in benchmark.TESTS}
        assert width["iid"] < width["robust"]
        assert np.isclose(width["robust"], width["truefit"])  # the same for groups of even size
    X, _, group = benchmark.drawn(60, "uneven", "weak", np.random.default_rng(0))
    assert X.shape == (len(group), 10)
    assert len(set(np.bincount(group))) > 5
