"""StoreContract and ReportContract: what every store must do, as tests that are run against yours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from truefit._core.errors import Failure
from truefit._core.outcome import Outcome, Predictions, lookup
from truefit._core.protocols import ReportStore, Response, Store, StoredReport
from truefit._core.rows import Tokens, rowset_id
from truefit._core.typing import Array

#: One array of every kind that a store must give back bit for bit.
SAMPLES: dict[str, Array] = {
    "floats": np.array([0.1, np.nan, np.inf, -np.inf, -0.0, 5e-324]),
    "quiet bits of a NaN": np.array([0x7FF8_0000_0000_0001, 0xFFF8_0000_0000_0000], np.uint64).view(np.float64),
    "single floats": np.array([0.1, np.nan, -0.0], np.float32),
    "other byte order": np.array([1.5, 2.5], ">f8"),
    "codes": np.array([0, 1, 255], np.uint8),
    "integers": np.array([-(2**63), 0, 2**63 - 1]),
    "booleans": np.array([True, False, True]),
    "probabilities": np.array([[0.1, 0.9], [0.5, 0.5], [1 / 3, 2 / 3]]),
    "columns first": np.asfortranarray([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]),
    "several outputs": np.arange(12.0).reshape(2, 3, 2),
    "labels": np.array(["ja", "naïve", "日本語", "🦉", ""]),
    "bytes": np.array([b"a", b"bcd"]),
    "dates": np.array(["2024-02-29", "NaT"], "datetime64[D]"),
    "no rows": np.empty((0, 3)),
}


def some_tokens(n: int, seed: int = 0) -> Tokens:
    """Tokens of ``n`` distinct rows."""
    return np.random.default_rng(seed).integers(0, 2**64, (n, 2), dtype=np.uint64)


def some_outcome(key: str = "a fit", n: int = 5, seed: int = 0) -> Outcome:
    """Return an outcome as a classifier leaves it: codes and probabilities on the same rows."""
    tokens, rng = some_tokens(n, seed), np.random.default_rng(seed)
    codes = rng.integers(0, 2, n).astype(np.uint8)
    answers = (Predictions("predict", tokens, codes, True), Predictions("predict_proba", tokens, rng.random((n, 2))))
    return Outcome(key, answers, 0.25, "plain", np.array(["no", "yes"]))


def assert_same_bits(got: Array, expected: Array) -> None:
    """Check that two arrays are the same in type, shape and every bit."""
    assert got.dtype == expected.dtype, f"{got.dtype} came back for {expected.dtype}"
    assert got.shape == expected.shape, f"shape {got.shape} came back for {expected.shape}"
    assert got.tobytes() == expected.tobytes(), f"{got!r} came back for {expected!r}"


def assert_same_outcome(got: Outcome, expected: Outcome) -> None:
    """Check that a store gave back what was put, its answers in any order."""
    assert (got.key, got.solver, got.error) == (expected.key, expected.solver, None)
    assert np.float64(got.fit_seconds).tobytes() == np.float64(expected.fit_seconds).tobytes()
    assert (got.classes is None) == (expected.classes is None)
    if got.classes is not None and expected.classes is not None:
        assert_same_bits(got.classes, expected.classes)
    assert len(got.answers) == len(expected.answers)
    there = {(answer.response, answer.rowset): answer for answer in got.answers}
    for answer in expected.answers:
        same = there[answer.response, rowset_id(answer.tokens)]
        assert isinstance(same, Predictions)
        assert same.coded is answer.coded
        assert_same_bits(same.tokens, answer.tokens)
        assert_same_bits(same.values, answer.values)


class _Broken(tuple[Predictions, ...]):
    """Answers that cannot be read: what a store gets from another one whose disk fails."""

    def __iter__(self) -> Iterator[Predictions]:
        raise RuntimeError("these answers cannot be read")

    def __getitem__(self, index: Any) -> Any:
        raise RuntimeError("these answers cannot be read")


class _StoreTests:
    """What the contracts of stores and of reports have in common."""

    persistent = True

    def make_store(self, tmp_path: Path) -> Any:
        """Open the store that lies in the folder ``tmp_path``; called again, it opens the same one."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Any]:
        """A new store."""
        with closing(self.make_store(tmp_path)) as store:
            yield store


class StoreContract(_StoreTests):
    """Subclass this in your tests, define ``make_store``, and pytest checks the contract of ``Store``.

    Set ``persistent = False`` if stored outcomes are lost when the store is closed.

    Examples
    --------
    >>> class TestMyStore(StoreContract):
    ...     persistent = True
    ...
    ...     def make_store(self, tmp_path):
    ...         return MyStore(tmp_path / "fits")
    """

    def test_it_is_a_store(self, store: Store) -> None:
        """The protocol's methods are there, and an empty put is no error."""
        assert isinstance(store, Store)
        store.put([])
        assert store.get(["a fit"]) == {}

    def test_absent_keys_are_left_out(self, store: Store) -> None:
        """Absent means to do."""
        store.put([some_outcome()])
        assert list(store.get(["never put", "a fit", "nor this"])) == ["a fit"]
        assert store.get([]) == {}

    @pytest.mark.parametrize("kind", SAMPLES)
    def test_values_come_back_bit_for_bit(self, store: Store, kind: str) -> None:
        """Whatever a model can answer, without a pickle."""
        values = SAMPLES[kind]
        outcome = Outcome("a fit", (Predictions("predict", some_tokens(len(values)), values),), 0.1, "a solver")
        store.put([outcome])
        assert_same_outcome(store.get(["a fit"])["a fit"], outcome)

    @pytest.mark.parametrize("kind", ["labels", "integers", "booleans", "floats"])
    def test_classes_come_back(self, store: Store, kind: str) -> None:
        """Classes are of any type that labels are."""
        outcome = Outcome("a fit", classes=np.unique(SAMPLES[kind]))
        store.put([outcome])
        assert_same_outcome(store.get(["a fit"])["a fit"], outcome)

    def test_fit_seconds_come_back_exactly(self, store: Store) -> None:
        """A budget is decided by their sum, so replay needs every bit."""
        outcomes = [Outcome(f"{s}", fit_seconds=s) for s in (0.0, 0.1 + 0.2, 1e-300, np.inf, np.nan)]
        store.put(outcomes)
        got = store.get([outcome.key for outcome in outcomes])
        for outcome in outcomes:
            assert_same_outcome(got[outcome.key], outcome)

    def test_new_answers_are_added(self, store: Store) -> None:
        """New answers for a fit leave its earlier answers and attributes as they were, within one put too."""
        whole = some_outcome()
        first, second = whole.answers
        elsewhere = Predictions("predict", some_tokens(3, seed=9), np.array([1, 0, 1], np.uint8), True)
        store.put([Outcome("a fit", (first,), 0.25, "plain", whole.classes)])
        store.put([Outcome("a fit", (second, elsewhere), 99.0, "another", whole.classes)])
        expected = Outcome("a fit", (first, second, elsewhere), 0.25, "plain", whole.classes)
        assert_same_outcome(store.get(["a fit"])["a fit"], expected)
        store.put([Outcome("two jobs", (answer,), 0.25, "plain", whole.classes) for answer in whole.answers])
        assert_same_outcome(store.get(["two jobs"])["two jobs"], some_outcome("two jobs"))

    def test_no_answer_is_stored_twice(self, store: Store) -> None:
        """The first one stays."""
        outcome = some_outcome()
        first, second = outcome.answers
        other = Predictions("predict", first.tokens.copy(), 1 - first.values, True)
        store.put([outcome])
        store.put([outcome])
        store.put([Outcome("a fit", (second, other), 0.5, "plain", outcome.classes)])
        assert_same_outcome(store.get(["a fit"])["a fit"], outcome)

    def test_classes_may_come_later(self, store: Store) -> None:
        """They are added to an outcome that was stored without."""
        outcome = some_outcome()
        store.put([Outcome("a fit", outcome.answers, outcome.fit_seconds)])
        store.put([outcome])
        store.put([Outcome("a fit", outcome.answers, outcome.fit_seconds)])
        assert_same_outcome(store.get(["a fit"])["a fit"], outcome)

    def test_codes_are_never_read_by_other_classes(self, store: Store) -> None:
        """If a fit comes back with other classes, its codes and the earlier ones must not be mixed."""
        before, after = some_outcome(), some_outcome(seed=1)
        after = Outcome("a fit", after.answers, 0.5, "plain", np.array(["maybe", "no", "yes"]))
        store.put([before])
        store.put([after])
        got = store.get(["a fit"])["a fit"]
        kept = before if len(got.classes if got.classes is not None else ()) == 2 else after
        assert_same_outcome(got, kept)

    def test_put_is_all_or_nothing(self, store: Store) -> None:
        """When one outcome cannot be stored the others of its put are not stored either."""
        store.put([some_outcome("before")])
        with pytest.raises(RuntimeError, match="cannot be read"):
            store.put(
                [some_outcome("first"), Outcome("second", _Broken(some_outcome().answers)), some_outcome("third")]
            )
        assert list(store.get(["before", "first", "second", "third"])) == ["before"]
        store.put([some_outcome("after")])
        assert set(store.get(["before", "first", "after"])) == {"before", "after"}

    def test_failures_are_not_stored(self, store: Store) -> None:
        """A failed fit is tried again next time, and leaves what was there alone."""
        failed = Outcome("failed", error=Failure("raised", "ValueError: no"))
        store.put([failed, some_outcome("fine")])
        assert list(store.get(["failed", "fine"])) == ["fine"]
        store.put([Outcome("fine", error=Failure("timeout", "too long"))])
        assert_same_outcome(store.get(["fine"])["fine"], some_outcome("fine"))

    def test_models_are_not_stored(self, store: Store) -> None:
        """Not even one that no pickle could hold."""
        fine = some_outcome()
        store.put([Outcome("a fit", fine.answers, 0.25, "plain", fine.classes, model=lambda: None)])
        got = store.get(["a fit"])["a fit"]
        assert got.model is None
        assert_same_outcome(got, fine)

    def test_what_needs_a_pickle_is_not_stored(self, store: Store) -> None:
        """Such an outcome is skipped; the others are stored."""
        objects = np.array([{"a": 1}, None], dtype=object)
        store.put(
            [
                Outcome("objects", (Predictions("predict", some_tokens(2), objects),)),
                Outcome("object classes", classes=objects),
                some_outcome("fine"),
            ]
        )
        assert list(store.get(["objects", "object classes", "fine"])) == ["fine"]

    def test_many_keys(self, store: Store) -> None:
        """Some ten thousand keys in one get."""
        keys = [f"{i:032x}" for i in range(40_000)]
        store.put([some_outcome(key, n=2) for key in keys[:2_000]])
        got = store.get(keys)
        assert set(got) == set(keys[:2_000])
        assert_same_outcome(got[keys[1_999]], some_outcome(keys[1_999], n=2))

    def test_changes_after_the_put_do_not_reach_the_store(self, store: Store) -> None:
        """A solver may use its arrays again."""
        tokens, values = some_tokens(3), np.array([1.0, 2.0, 3.0])
        store.put([Outcome("a fit", (Predictions("predict", tokens, values),))])
        values[:] = 0
        (answer,) = store.get(["a fit"])["a fit"].answers
        assert_same_bits(answer.values, np.array([1.0, 2.0, 3.0]))

    def test_rows_are_found_in_any_order_and_in_part(self, store: Store) -> None:
        """Answers are addressed by token."""
        outcome = some_outcome(n=6)
        codes, proba = outcome.answers
        store.put([outcome])
        got = store.get(["a fit"])["a fit"]
        for index in ([5, 4, 3, 2, 1, 0], [2], [1, 4], [0, 1, 2, 3, 4, 5]):
            self._check_lookup(got, "predict", codes, np.array(index))
            self._check_lookup(got, "predict_proba", proba, np.array(index))
        assert not got.covers("predict", some_tokens(1, seed=5))
        assert not got.covers("decision_function", codes.tokens)

    def test_rows_are_found_over_several_answers(self, store: Store) -> None:
        """Rows that were predicted in two parts are found as one."""
        whole = Predictions("predict", some_tokens(6), np.arange(6.0))
        parts = [Predictions("predict", whole.tokens[a:b], whole.values[a:b]) for a, b in ((0, 4), (4, 6))]
        for part in parts:
            store.put([Outcome("a fit", (part,))])
        self._check_lookup(store.get(["a fit"])["a fit"], "predict", whole, np.array([5, 0, 3]))

    def test_outcomes_can_be_put_again(self, store: Store) -> None:
        """An outcome from a store, lazy or not, is an outcome like any other."""
        store.put([some_outcome()])
        got = store.get(["a fit"])["a fit"]
        store.put([Outcome("a copy", got.answers, got.fit_seconds, got.solver, got.classes)])
        assert_same_outcome(store.get(["a copy"])["a copy"], some_outcome("a copy"))

    def test_closing(self, tmp_path: Path) -> None:
        """``close`` may be called again, and results can still be read after it."""
        store = self.make_store(tmp_path)
        outcome = some_outcome()
        store.put([outcome])
        before = store.get([outcome.key])[outcome.key]
        store.close()
        store.close()
        assert_same_outcome(before, outcome)
        assert_same_outcome(store.get([outcome.key])[outcome.key], outcome)
        store.close()

    def test_reopening(self, tmp_path: Path) -> None:
        """Outcomes are there the next time, or none is; never private ones: another process reuses their keys."""
        keys = ("one", "two", "private-0")
        with closing(self.make_store(tmp_path)) as store:
            store.put([some_outcome(key, seed=2) for key in keys])
        with closing(self.make_store(tmp_path)) as store:
            got = store.get(keys)
            assert set(got) == ({"one", "two"} if self.persistent else set())
            if self.persistent:
                assert_same_outcome(got["two"], some_outcome("two", seed=2))

    @staticmethod
    def _check_lookup(got: Outcome, response: Response, put: Predictions, index: npt.NDArray[np.intp]) -> None:
        assert got.covers(response, put.tokens[index])
        found = lookup(got.answers, response, put.tokens[index])
        assert found is not None
        assert_same_bits(found[0], put.values[index])
        assert found[1] is put.coded


def some_report(name: str = "a1", made_at: str = "2026-01-02T03:04:05+00:00", **content: Any) -> StoredReport:
    """Return a report with text of all kinds in it."""
    made = {"command": "truefit study 'my data.csv'", "versions": {"truefit": "0.1"}}
    return StoredReport(name, made_at, made, {"kind": "study", "text": "naïve 日本語 <b>🦉</b>", **content})


class ReportContract(_StoreTests):
    """Subclass this beside ``StoreContract``: the same ``make_store`` and ``persistent`` are used.

    Examples
    --------
    >>> class TestMyReports(ReportContract):
    ...     def make_store(self, tmp_path):
    ...         return MyStore(tmp_path / "fits")
    """

    def test_it_keeps_reports(self, store: Any) -> None:
        """The protocol's methods are there, and a new store has nothing."""
        assert isinstance(store, ReportStore)
        assert store.reports() == []
        assert store.count_fits() == 0

    def test_reports_come_back_as_they_were(self, store: Any) -> None:
        """Plain JSON types: numbers to the last bit, None, lists, any text."""
        report = some_report(numbers=[0.1 + 0.2, 1, None, True, 1e-300], pictures={"which": [["<svg/>", "a title"]]})
        store.put_report(report)
        assert store.reports() == [report]

    def test_the_last_comes_first(self, store: Any) -> None:
        """By when they were made, not by when they were put."""
        reports = [some_report(f"r{day}", f"2026-01-{day:02d}T00:00:00+00:00") for day in (5, 9, 7)]
        for report in reports:
            store.put_report(report)
        assert [report.id for report in store.reports()] == ["r9", "r7", "r5"]

    def test_the_same_report_takes_its_own_place(self, store: Any) -> None:
        """Made again, it is there once."""
        store.put_report(some_report())
        again = some_report(made_at="2027-01-01T00:00:00+00:00", seconds=2)
        store.put_report(again)
        assert store.reports() == [again]

    def test_reports_and_fits_do_not_touch_each_other(self, store: Any) -> None:
        """Fits are counted, reports are no fits."""
        store.put_report(some_report("a fit"))
        assert store.get(["a fit"]) == {}
        store.put([some_outcome("a fit"), some_outcome("another")])
        store.put([some_outcome("a fit")])
        assert store.count_fits() == 2
        assert len(store.reports()) == 1

    def test_reports_outlive_the_store_that_kept_them(self, tmp_path: Path) -> None:
        """Unless the store is not persistent."""
        with closing(self.make_store(tmp_path)) as store:
            store.put_report(some_report())
        with closing(self.make_store(tmp_path)) as store:
            assert store.reports() == ([some_report()] if self.persistent else [])
