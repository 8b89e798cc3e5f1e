"""The check of the intervals of learning curves: halves are apart, a file is resumed, the page states what holds."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.curve_intervals import left_out, measure, page
from benchmarks.curve_intervals.constants import learn, reference_curves, table_curves
from benchmarks.curve_intervals.sources import PARTS, Source, family_of

from papers.lcdb.curves import Curve
from truefit._stats.curve_single_runs import FEATURES

SIZES = np.round(16 * 2 ** (np.arange(80) / 8))


def reference(count):
    random = np.random.default_rng(0)
    learners = ("KNN", "LDA", "MLP", "GaussianNB", "Decision Tree")
    curves = []
    for i in range(count):
        errors = random.uniform(0.02, 0.2) + random.uniform(0.5, 1.5) * SIZES ** -random.uniform(0.3, 0.6)
        curves.append(Curve(f"table {i % 12}", learners[i % 5], SIZES, errors, np.full(len(SIZES), 0.001)))
    return reference_curves(curves, {curve.dataset: 0.9 for curve in curves})


def test_parts_share_no_table():
    learnt, checked = ({source.name.partition(".")[0] for source in PARTS[part]} for part in ("learn", "check"))
    assert not learnt & checked


def test_points_are_those_of_single_runs_in_nested_samples():
    seen = reference(5)
    stderr = np.sqrt(seen.points.errors * (1 - seen.points.errors) / seen.points.sizes)
    np.testing.assert_allclose(seen.points.stderr[seen.points.used], stderr[seen.points.used])
    now, twice = seen.truths[:, 0], seen.truths[:, 3]
    assert (now > twice)[np.isfinite(twice)].all()
    assert np.isfinite(now).all()


def test_constants_learnt_from_curves_hold_on_them_and_the_page_says_so(monkeypatch):
    seen = reference(60)
    monkeypatch.setattr(type(seen), "learn", np.ones(len(seen.truths), dtype=bool), raising=False)
    found = learn([seen])
    assert len(found["centre"]) == len(FEATURES)
    for what in ("error", "gain"):
        assert (np.diff(found[what]["above"]["quantiles"]) >= 0).all()
    sets = [("reference", "share", page.checked(seen))]
    text = page.targets(sets)
    assert "| reference | coverage at 2×, 4×, 8× | 93% to 97.5% | " in text
    assert page.table(sets).count("\n") == 1 + 6
    assert "| reference | linear | " in page.by_group(sets)


def test_families_are_left_out_of_what_they_are_checked_with():
    seen = reference(60)
    seen = replace(seen, learn=np.ones(len(seen), dtype=bool))
    given = []
    ((errors, gains),) = left_out.left_out(
        [seen], "share", lambda parts: given.append(set(parts[0].sources)) or learn(parts)
    )
    assert len(errors.truth) == len(gains.truth) == len(seen)
    assert set().union(*given) == set(seen.sources)
    assert all(families < set(seen.sources) for families in given)
    lines = left_out.left_out_table([("reference", 12, (errors, gains), (errors, gains))]).splitlines()
    assert len(lines) == 2 + 6
    assert left_out.needed(errors, 0) > 0


def test_widths_are_the_smallest_with_which_intervals_hold():
    errors, _ = page.checked(reference(60))
    found = left_out.widths(errors, [errors], [errors])
    for place, width in enumerate(found):
        ratio, groups = left_out.ratio_of(errors, place)
        held = {group: np.mean(ratio[groups == group] <= width + 1e-9) for group in set(groups)}
        assert np.mean(ratio <= width + 1e-9) >= 0.95
        assert min(held.values()) >= 0.9
    assert left_out.widths(errors, [errors], []) <= found


def test_a_family_is_a_table_or_the_signal_of_a_generator():
    assert [family_of(name) for name in ("adult.age", "money_steps", "five_degrees")] == [
        "adult",
        "steps",
        "five_degrees",
    ]


def test_a_file_is_resumed(monkeypatch, tmp_path):
    source = Source("skewed_noise", (60,))
    monkeypatch.setitem(PARTS, "learn", (source,))
    monkeypatch.setattr(measure, "FARTHEST", 8.0)
    store = tmp_path / "learn.jsonl"
    measure.run("learn", store, tmp_path, repetitions=1)
    lines = store.read_text()
    assert lines.count("\n") == 3 * 2
    measure.run("learn", store, tmp_path, repetitions=1)
    assert store.read_text() == lines
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PARTS, "learn", (source,))
        (found,) = table_curves(store, "learn").values()
    assert found.kind == "loss"
    assert found.truths.shape[0] == 3 * 3
