"""The study of Perturbed Model Validation as a diagnosis: its truth, and how rules are compared with it."""

import numpy as np
from benchmarks.perturbed_diagnosis.rules import STUDY, judged, less_flexible, regularising_helps
from benchmarks.perturbed_diagnosis.statistics import read


def setting(place, training, cv, test):
    said = {"verdict": "no flag", "kind": "overfits", "alternative": "rigid", "compared": ["rigid", "flexible"]}
    return {
        "family": "tree", "place": place, "training": training, "cv": cv, "test": test, "folds": [cv] * 5,
        "rate": -0.5, "skill": 0.5, "memorisation": None, "variance": 0.4, "all": said, "within": said,
    }  # fmt: skip


LINE = {
    "table": "adult", "rows": 200, "seed": 0, "baseline": 0.5, "study": {"best": "rigid"},
    "settings": {"rigid": setting(0, 0.18, 0.2, 0.2), "flexible": setting(1, 0.0, 0.25, 0.3)},
}  # fmt: skip


def test_gains_are_those_over_the_other_settings_of_the_family():
    frame, (selected,) = read([LINE])
    rigid, flexible = frame.to_dict("records")
    assert np.isnan(rigid["regularising"])
    assert np.isclose(flexible["regularising"], 0.1)
    assert np.isclose(flexible["cv_regularising"], 0.05)
    assert (rigid["richer_helps"], flexible["regularising_helps"]) == (False, True)
    assert np.isnan(flexible["memorisation"])
    assert selected["name"] == "rigid"


def test_a_rule_is_compared_with_the_truth_where_there_is_one():
    rows = read([LINE])[0].to_dict("records")
    assert less_flexible(rows[1], ["rigid", "flexible"]) == ["rigid"]
    text, numbers = judged(rows, "within", regularising_helps)
    assert text.startswith("True in 100% of 1 cases.")
    assert numbers[STUDY] == (1, 1)
    assert numbers["PMV: overfitted"][1] == 0
