from unittest import mock

import pandas as pd

from truefit._cli.stored_reports import request_key
from truefit.sources.table import Table

FRAME = pd.DataFrame({"size": [1.0, 2.5, 3.0, 2.0], "kind": ["a", "b", "b", "a"], "colour": list("rgrg")})
OPTIONS = {"models": ["linear"], "cv": 5, "seed": None}


def asked(frame=FRAME, name="shells", target="kind", **options):
    return request_key(Table.of(frame, name=name, target=target), {**OPTIONS, **options})


def test_the_same_question_is_known_again():
    assert asked() == asked(FRAME.copy())


def test_whatever_may_change_the_answer_makes_another_question():
    found = {
        "as it was": asked(),
        "a seed": asked(seed=1),
        "another model": asked(models=["tree"]),
        "another target": asked(target="colour"),
        "another label": asked(FRAME.assign(kind=["a", "b", "b", "b"])),
        "another value": asked(FRAME.assign(size=[1.0, 2.5, 3.0, 2.1])),
        "another type": asked(FRAME.astype({"size": "float32"})),
        "another column name": asked(FRAME.rename(columns={"size": "width"})),
        "another order": asked(FRAME[::-1]),
        "another file": asked(name="snails"),
    }
    with mock.patch("truefit._cli.stored_reports._code", return_value="edited"):
        found["edited code"] = asked()
    with mock.patch("truefit._cli.stored_reports.versions", return_value={"scikit-learn": "0.1"}):
        found["another version"] = asked()
    assert len(set(found.values())) == len(found)
