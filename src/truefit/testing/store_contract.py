"""StoreContract: what every store must do, as tests that are run against yours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import overload

import numpy as np
import numpy.typing as npt
import pytest

from truefit._core.hashing import Tokens, rowset_id
from truefit._core.outcome import Failure, Outcome, Predictions, lookup
from truefit._core.protocols import Store
from truefit._core.task import Response
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


class _Broken(Sequence[Predictions]):
    """Answers that cannot be read: what a store gets from another one whose disk fails."""

    @overload
    def __getitem__(self, index: int) -> Predictions: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Predictions]: ...

    def __getitem__(self, index: int | slice) -> Predictions | Sequence[Predictions]:
        raise RuntimeError("these answers cannot be read")

    def __iter__(self) -> Iterator[Predictions]:
        raise RuntimeError("these answers cannot be read")

    def __len__(self) -> int:
        return 1


class StoreContract:
    """Subclass this in your tests, say how a store is made, and pytest checks the contract of ``Store``.

    Set ``persistent = False`` if what was put is gone with the store itself.

    Examples
    --------
    >>> class TestMyStore(StoreContract):
    ...     persistent = True
    ...
    ...     def make_store(self, tmp_path):
    ...         return MyStore(tmp_path / "fits")
    """

    persistent = True

    def make_store(self, tmp_path: Path) -> Store:
        """Open the store that lies in the folder ``tmp_path``; called again, it opens the same one."""
        raise NotImplementedError

    def test_it_is_a_store(self, tmp_path: Path) -> None:
        """The protocol's methods are there."""
        with closing(self.make_store(tmp_path)) as store:
            assert isinstance(store, Store)

    def test_absent_keys_are_left_out(self, tmp_path: Path) -> None:
        """Absent means to do."""
        with closing(self.make_store(tmp_path)) as store:
            assert store.get(["never put"]) == {}
            store.put([some_outcome()])
            assert list(store.get(["never put", "a fit", "nor this"])) == ["a fit"]
            assert store.get([]) == {}

    def test_putting_nothing(self, tmp_path: Path) -> None:
        """An empty put is no error."""
        with closing(self.make_store(tmp_path)) as store:
            store.put([])
            assert store.get(["a fit"]) == {}

    @pytest.mark.parametrize("kind", SAMPLES)
    def test_values_come_back_bit_for_bit(self, tmp_path: Path, kind: str) -> None:
        """Whatever a model can answer, without a pickle."""
        values = SAMPLES[kind]
        outcome = Outcome("a fit", (Predictions("predict", some_tokens(len(values)), values),), 0.1, "a solver")
        with closing(self.make_store(tmp_path)) as store:
            store.put([outcome])
            assert_same_outcome(store.get(["a fit"])["a fit"], outcome)

    @pytest.mark.parametrize("kind", ["labels", "integers", "booleans", "floats"])
    def test_classes_come_back(self, tmp_path: Path, kind: str) -> None:
        """Classes are of any type that labels are."""
        outcome = Outcome("a fit", classes=np.unique(SAMPLES[kind]))
        with closing(self.make_store(tmp_path)) as store:
            store.put([outcome])
            assert_same_outcome(store.get(["a fit"])["a fit"], outcome)

    def test_fit_seconds_come_back_exactly(self, tmp_path: Path) -> None:
        """A budget is decided by their sum, so replay needs every bit."""
        outcomes = [Outcome(f"{s}", fit_seconds=s) for s in (0.0, 0.1 + 0.2, 1e-300, np.inf, np.nan)]
        with closing(self.make_store(tmp_path)) as store:
            store.put(outcomes)
            got = store.get([outcome.key for outcome in outcomes])
            for outcome in outcomes:
                assert_same_outcome(got[outcome.key], outcome)

    def test_new_answers_are_added(self, tmp_path: Path) -> None:
        """A fit that was asked for more keeps what it had, and what is said about it."""
        whole = some_outcome()
        first, second = whole.answers
        elsewhere = Predictions("predict", some_tokens(3, seed=9), np.array([1, 0, 1], np.uint8), True)
        with closing(self.make_store(tmp_path)) as store:
            store.put([Outcome("a fit", (first,), 0.25, "plain", whole.classes)])
            store.put([Outcome("a fit", (second, elsewhere), 99.0, "another", whole.classes)])
            expected = Outcome("a fit", (first, second, elsewhere), 0.25, "plain", whole.classes)
            assert_same_outcome(store.get(["a fit"])["a fit"], expected)

    def test_answers_of_one_key_in_one_put_are_added(self, tmp_path: Path) -> None:
        """Two jobs that end together may answer for the same fit."""
        whole = some_outcome()
        with closing(self.make_store(tmp_path)) as store:
            store.put([Outcome("a fit", (a,), 0.25, "plain", whole.classes) for a in whole.answers])
            assert_same_outcome(store.get(["a fit"])["a fit"], whole)

    def test_no_answer_is_stored_twice(self, tmp_path: Path) -> None:
        """The first one stays."""
        outcome = some_outcome()
        first, second = outcome.answers
        other = Predictions("predict", first.tokens.copy(), 1 - first.values, True)
        with closing(self.make_store(tmp_path)) as store:
            store.put([outcome])
            store.put([outcome])
            store.put([Outcome("a fit", (second, other), 0.5, "plain", outcome.classes)])
            assert_same_outcome(store.get(["a fit"])["a fit"], outcome)

    def test_classes_may_come_later(self, tmp_path: Path) -> None:
        """An outcome without answers of its classes does not bar them."""
        outcome = some_outcome()
        with closing(self.make_store(tmp_path)) as store:
            store.put([Outcome("a fit", outcome.answers, outcome.fit_seconds)])
            store.put([outcome])
            store.put([Outcome("a fit", outcome.answers, outcome.fit_seconds)])
            assert_same_outcome(store.get(["a fit"])["a fit"], outcome)

    def test_codes_are_never_read_by_other_classes(self, tmp_path: Path) -> None:
        """If a fit comes back with other classes, its codes and the earlier ones must not be mixed."""
        before, after = some_outcome(), some_outcome(seed=1)
        after = Outcome("a fit", after.answers, 0.5, "plain", np.array(["maybe", "no", "yes"]))
        with closing(self.make_store(tmp_path)) as store:
            store.put([before])
            store.put([after])
            got = store.get(["a fit"])["a fit"]
            kept = before if len(got.classes if got.classes is not None else ()) == 2 else after
            assert_same_outcome(got, kept)

    def test_put_is_all_or_nothing(self, tmp_path: Path) -> None:
        """When one outcome cannot be kept the others of its put are not kept either."""
        with closing(self.make_store(tmp_path)) as store:
            store.put([some_outcome("before")])
            with pytest.raises(RuntimeError, match="cannot be read"):
                store.put([some_outcome("first"), Outcome("second", _Broken()), some_outcome("third")])
            assert list(store.get(["before", "first", "second", "third"])) == ["before"]
            store.put([some_outcome("after")])
            assert set(store.get(["before", "first", "after"])) == {"before", "after"}

    def test_failures_are_not_stored(self, tmp_path: Path) -> None:
        """A failed fit is tried again next time, and leaves what was there alone."""
        failed = Outcome("failed", error=Failure("raised", "ValueError: no"))
        with closing(self.make_store(tmp_path)) as store:
            store.put([failed, some_outcome("fine")])
            assert list(store.get(["failed", "fine"])) == ["fine"]
            store.put([Outcome("fine", error=Failure("timeout", "too long"))])
            assert_same_outcome(store.get(["fine"])["fine"], some_outcome("fine"))

    def test_models_are_not_stored(self, tmp_path: Path) -> None:
        """Not even one that no pickle could hold."""
        fine = some_outcome()
        with closing(self.make_store(tmp_path)) as store:
            store.put([Outcome("a fit", fine.answers, 0.25, "plain", fine.classes, model=lambda: None)])
            got = store.get(["a fit"])["a fit"]
            assert got.model is None
            assert_same_outcome(got, fine)

    def test_what_needs_a_pickle_is_not_stored(self, tmp_path: Path) -> None:
        """Such an outcome is passed over; its neighbours are kept."""
        objects = np.array([{"a": 1}, None], dtype=object)
        with closing(self.make_store(tmp_path)) as store:
            store.put(
                [
                    Outcome("objects", (Predictions("predict", some_tokens(2), objects),)),
                    Outcome("object classes", classes=objects),
                    some_outcome("fine"),
                ]
            )
            assert list(store.get(["objects", "object classes", "fine"])) == ["fine"]

    def test_many_keys(self, tmp_path: Path) -> None:
        """Some ten thousand keys in one get."""
        keys = [f"{i:032x}" for i in range(40_000)]
        with closing(self.make_store(tmp_path)) as store:
            store.put([some_outcome(key, n=2) for key in keys[:2_000]])
            got = store.get(keys)
            assert set(got) == set(keys[:2_000])
            assert_same_outcome(got[keys[1_999]], some_outcome(keys[1_999], n=2))

    def test_changes_after_the_put_do_not_reach_the_store(self, tmp_path: Path) -> None:
        """A solver may use its arrays again."""
        tokens, values = some_tokens(3), np.array([1.0, 2.0, 3.0])
        with closing(self.make_store(tmp_path)) as store:
            store.put([Outcome("a fit", (Predictions("predict", tokens, values),))])
            values[:] = 0
            (answer,) = store.get(["a fit"])["a fit"].answers
            assert_same_bits(answer.values, np.array([1.0, 2.0, 3.0]))

    def test_rows_are_found_in_any_order_and_in_part(self, tmp_path: Path) -> None:
        """Answers are addressed by token."""
        outcome = some_outcome(n=6)
        codes, proba = outcome.answers
        with closing(self.make_store(tmp_path)) as store:
            store.put([outcome])
            got = store.get(["a fit"])["a fit"]
            for index in ([5, 4, 3, 2, 1, 0], [2], [1, 4], [0, 1, 2, 3, 4, 5]):
                self._check_lookup(got, "predict", codes, np.array(index))
                self._check_lookup(got, "predict_proba", proba, np.array(index))
            assert not got.covers("predict", some_tokens(1, seed=5))
            assert not got.covers("decision_function", codes.tokens)

    def test_rows_are_found_over_several_answers(self, tmp_path: Path) -> None:
        """What was asked in two parts is answered as one."""
        whole = Predictions("predict", some_tokens(6), np.arange(6.0))
        parts = [Predictions("predict", whole.tokens[a:b], whole.values[a:b]) for a, b in ((0, 4), (4, 6))]
        with closing(self.make_store(tmp_path)) as store:
            for part in parts:
                store.put([Outcome("a fit", (part,))])
            self._check_lookup(store.get(["a fit"])["a fit"], "predict", whole, np.array([5, 0, 3]))

    def test_outcomes_can_be_put_again(self, tmp_path: Path) -> None:
        """What a store gave, lazy as it may be, is an outcome like any other."""
        with closing(self.make_store(tmp_path)) as store:
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
        """What was put is there the next time, or none of it is."""
        with closing(self.make_store(tmp_path)) as store:
            store.put([some_outcome("one"), some_outcome("two", seed=2)])
        with closing(self.make_store(tmp_path)) as store:
            got = store.get(["one", "two"])
            assert set(got) == ({"one", "two"} if self.persistent else set())
            if self.persistent:
                assert_same_outcome(got["two"], some_outcome("two", seed=2))

    def test_private_fits_do_not_last(self, tmp_path: Path) -> None:
        """A fit that is not known by its content has a number for a key, which the next process gives again."""
        with closing(self.make_store(tmp_path)) as store:
            store.put([some_outcome("private-0"), some_outcome("one")])
        with closing(self.make_store(tmp_path)) as store:
            assert "private-0" not in store.get(["private-0", "one"])

    @staticmethod
    def _check_lookup(got: Outcome, response: Response, put: Predictions, index: npt.NDArray[np.intp]) -> None:
        assert got.covers(response, put.tokens[index])
        found = lookup(got.answers, response, put.tokens[index])
        assert found is not None
        assert_same_bits(found[0], put.values[index])
        assert found[1] is put.coded
