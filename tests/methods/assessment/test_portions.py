from itertools import chain

import numpy as np
from sklearn.naive_bayes import GaussianNB

from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows
from truefit._methods.assessment.plan import portions

NB = GaussianNB()


def tasks(count, rows, n=1_000_000):
    test = Rows.of(np.arange(rows))
    for _ in range(count):
        yield FitTask(NB, Rows(test.listed, n), (Ask(test), Ask(test, "predict_proba")))


def sizes(*parts):
    return [len(portion) for portion in portions(chain(*parts))]


def test_every_task_is_in_one_portion_in_its_place():
    asked = list(tasks(4_321, 30))
    assert [task for portion in portions(asked) for task in portion] == asked
    assert list(portions([])) == []


def test_a_portion_has_so_many_tasks_and_fewer_with_long_lists_of_rows():
    few = sizes(tasks(5_000, 30))
    assert few[0] == few[1] < 2_001
    assert few[0] > 1_800
    long = sizes(tasks(100, 500_000))
    assert 1 <= long[0] < 10


def test_leave_one_out_of_20000_rows_is_one_portion():
    assert sizes(tasks(20_000, 1)) == [20_000]
    assert sizes(tasks(60_000, 1))[0] < 22_000
