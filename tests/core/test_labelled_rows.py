import numpy as np
import pytest

from truefit._core import identity as labelled_rows
from truefit._core.data import Data
from truefit._core.identity import LabelledRows
from truefit._core.rows import Rows

RNG = np.random.default_rng(0)
DATA = Data(RNG.normal(size=(60, 2)), np.arange(60) % 2, task="classification")


@pytest.mark.parametrize(
    "lists",
    [
        [RNG.integers(0, 2, 60) for _ in range(4)],
        [RNG.integers(0, 5, 60).astype(np.uint8), RNG.integers(0, 5, 60)],
        [RNG.choice(["a", "bb", "c"], 60), RNG.choice(["a", "bb"], 60), np.full(60, "a")],
        [RNG.random(60) < 0.5],
        [RNG.normal(size=60)],  # of these no two are alike
        [np.arange(60)],
        [RNG.choice(np.array(["x", "y"], dtype=object), 60)],
    ],
    ids=["two", "widths", "words", "flags", "numbers", "many", "objects"],
)
def test_digests_are_those_of_the_table(lists):
    labelled = LabelledRows(DATA)
    for labels in (*lists, *lists):
        for rows in (Rows.all(60), Rows.of(range(0, 60, 3)), Rows.without(60, [1])):
            assert labelled.digest(rows, labels) == DATA.label_digest(rows, labels)


def test_where_there_is_no_room_nothing_is_held(monkeypatch):
    labels = RNG.integers(0, 3, 60)
    for room, held in ((DATA.tokens.nbytes * 3, 3), (DATA.tokens.nbytes * 2, 0), (0, 0)):
        monkeypatch.setattr(labelled_rows, "HELD_BYTES", room)
        labelled = LabelledRows(DATA)
        assert labelled.digest(Rows.all(60), labels) == DATA.label_digest(Rows.all(60), labels)
        assert len(labelled._tokens) == held


def test_labels_that_come_and_go_do_not_add_up(monkeypatch):
    monkeypatch.setattr(labelled_rows, "HELD_BYTES", DATA.tokens.nbytes * 4)
    labelled = LabelledRows(DATA)
    for start in range(10):
        labels = start + RNG.integers(0, 3, 60)
        assert labelled.digest(Rows.all(60), labels) == DATA.label_digest(Rows.all(60), labels)
        assert len(labelled._tokens) <= 4
