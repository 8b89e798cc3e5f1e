import pytest

from truefit._core.errors import InvalidInput
from truefit.reproduce.registry import EXPERIMENTS, find_experiment


def test_experiments_are_known_by_their_own_names():
    assert set(EXPERIMENTS) >= {"pmv-table1", "pmv-unlimited-tree", "pmv-fig3", "pmv-fig4", "brumen-table1", "lcdb"}
    for name, experiment in EXPERIMENTS.items():
        assert experiment.name == name
        assert experiment.title
        assert experiment.needs
        assert find_experiment(name) is experiment


def test_a_name_that_is_near_is_offered():
    with pytest.raises(InvalidInput, match="Did you mean 'pmv-table1'"):
        find_experiment("pmv-table2")
