import pytest

from papers import all_experiments, find_experiment
from truefit._core.errors import InvalidInput


def test_experiments_are_known_by_their_own_names():
    names = [experiment.name for experiment in all_experiments()]
    assert {"pmv-table1", "pmv-unlimited-tree", "pmv-fig3", "pmv-fig4", "brumen-table1", "lcdb"} <= set(names)
    for experiment in all_experiments():
        assert experiment.title
        assert experiment.needs
        assert find_experiment(experiment.name) is experiment


def test_a_similar_name_is_suggested():
    with pytest.raises(InvalidInput, match="Did you mean 'pmv-table1'"):
        find_experiment("pmv-table2")
