import numpy as np
import pytest

from truefit._methods.perturbation.verdict import FoldErrors, NoiseResponse, diagnose
from truefit._stats.bounds import unmemorised_rate

SHARES = np.tile([0.0, 0.5], (3, 1))


def learner(rates, training=0.95, dummy=0.5, classes=2):
    """Give a learner with these rates in three repeats, on balanced classes unless said otherwise."""
    rates = np.asarray(rates, dtype=float)
    values = np.column_stack([np.full(3, training), training - rates / 2])
    ideal = training if classes is None else unmemorised_rate(training, classes)
    return NoiseResponse((0.0, 0.5), SHARES, values, np.full((3, 2), dummy), ideal, 0.95)


def folds(**scores):
    arrays = {name: np.array(values, dtype=float) for name, values in scores.items()}
    estimates = {name: (float(values.mean()), np.nan, np.nan) for name, values in arrays.items()}
    return FoldErrors("error", arrays, estimates, 0.25, "4-fold cross-validation")


CLEAN = learner([0.86, 0.88, 0.87])
GREEDY = learner([0.02, 0.03, 0.01], training=1.0)


def test_memorising_depends_on_the_lower_end_of_its_interval():
    # Ideal rate 0.9: 0.3 leaves 0.667. With little spread that is more than half, with much it may not be.
    sure, unsure = learner([0.30, 0.29, 0.31]), learner([0.10, 0.50, 0.30])
    assert sure.memorisation == pytest.approx(unsure.memorisation) == pytest.approx(1 - 0.3 / 0.9)
    found = diagnose({"sure": sure, "unsure": unsure}, None, classes=2)
    assert [each.flag for each in found.values()] == ["memorises", "no flag"]
    assert "67% (95% interval 64% to 69%)" in found["sure"].reason


def test_noise_that_can_be_learned_takes_more():
    both = {"most": learner([0.3, 0.29, 0.31]), "all": GREEDY}
    assert [each.flag for each in diagnose(both, None, classes=2, kind="boundary").values()] == ["no flag", "memorises"]


@pytest.mark.parametrize(
    ("clean", "flag"),
    [
        ([0.10, 0.12, 0.09, 0.11], "overfitted"),  # better
        ([0.20, 0.22, 0.19, 0.21], "overfitted"),  # the same
        ([0.30, 0.15, 0.28, 0.14], "overfitted"),  # worse on average, by less than a standard error
        ([0.30, 0.32, 0.29, 0.31], "memorises"),  # worse
        ([0.30, np.nan, 0.29, 0.31], "memorises"),  # not known
    ],
)
def test_overfitting_takes_a_candidate_that_memorises_less_and_is_not_worse(clean, flag):
    errors = folds(greedy=[0.20, 0.22, 0.19, 0.21], clean=clean)
    found = diagnose({"greedy": GREEDY, "clean": CLEAN}, errors, classes=2)
    assert found["greedy"].flag == flag
    assert found["clean"].flag == "no flag"


def test_the_standard_error_is_that_of_the_paired_difference():
    apart = np.array([0.30, 0.15, 0.28, 0.14]) - [0.20, 0.22, 0.19, 0.21]
    errors = folds(greedy=[0.20, 0.22, 0.19, 0.21], clean=[0.30, 0.15, 0.28, 0.14])
    found = errors.difference("clean", "greedy")
    assert found.mean == pytest.approx(apart.mean())
    assert found.se == pytest.approx(np.sqrt((1 / 4 + 0.25) * apart.var(ddof=1)))
    assert 0 < found.mean < found.se


def test_a_candidate_that_memorises_as_much_proves_nothing():
    errors = folds(greedy=[0.2, 0.2], other=[0.1, 0.1])
    other = learner([0.03, 0.01, 0.05], training=1.0)
    found = diagnose({"greedy": GREEDY, "other": other}, errors, classes=2)
    assert {each.flag for each in found.values()} == {"memorises"}


def test_of_several_the_best_is_named():
    errors = folds(greedy=[0.3, 0.32], clean=[0.2, 0.21], better=[0.1, 0.12])
    by_name = {"greedy": GREEDY, "clean": CLEAN, "better": learner([0.80, 0.81, 0.79])}
    reason = diagnose(by_name, errors, classes=2)["greedy"].reason
    assert "better memorises 11% and is not worse on held-out rows: error 0.11 against 0.31" in reason


def test_underfitting_is_little_above_the_largest_class():
    flags = []
    for training, dummy in ((0.75, 0.70), (0.76, 0.70), (0.97, 0.96), (0.62, 0.60)):
        found = learner(unmemorised_rate(training, 2) * np.array([0.9, 0.91, 0.89]), training, dummy)
        flags.append(diagnose({"it": found}, None, classes=2)["it"].flag)
    # Where the largest class is nearly all there is, no learner can be far above it.
    assert flags == ["underfitted", "no flag", "no flag", "underfitted"]


def test_a_memorising_learner_is_not_called_underfitted():
    rare = learner([0.02, 0.03, 0.01], training=1.0, dummy=0.96)
    assert diagnose({"it": rare}, None, classes=2)["it"].flag == "memorises"


def test_near_chance_nothing_is_flagged():
    weak = learner([0.0, 0.01, -0.01], training=0.58)
    found = diagnose({"it": weak}, None, classes=2)["it"]
    assert weak.memorisation is None
    assert found.flag == "no flag"
    assert "near chance" in found.reason


def test_a_regression_is_held_against_0():
    flags = [
        diagnose({"it": learner([r, r, r], training, 0.0, None)}, None, classes=None)["it"].flag
        for r, training in ((0.02, 0.03), (0.5, 0.6), (0.0, 0.9))
    ]
    assert flags == ["underfitted", "no flag", "memorises"]
