"""ReportContract: what every store that keeps reports must do, as tests that are run against yours."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from truefit._core.protocols import ReportStore, StoredReport
from truefit.testing.store_contract import some_outcome


def some_report(name: str = "a1", made_at: str = "2026-01-02T03:04:05+00:00", **content: Any) -> StoredReport:
    """Return a report with text of all kinds in it."""
    made = {"command": "truefit study 'my data.csv'", "versions": {"truefit": "0.1"}}
    return StoredReport(name, made_at, made, {"kind": "study", "text": "naïve 日本語 <b>🦉</b>", **content})


class ReportContract:
    """Subclass this beside ``StoreContract``: the same ``make_store`` and ``persistent`` are used.

    Examples
    --------
    >>> class TestMyReports(ReportContract):
    ...     def make_store(self, tmp_path):
    ...         return MyStore(tmp_path / "fits")
    """

    persistent = True

    def make_store(self, tmp_path: Path) -> Any:
        """Open the store that lies in the folder ``tmp_path``; called again, it opens the same one."""
        raise NotImplementedError

    def test_it_keeps_reports(self, tmp_path: Path) -> None:
        """The protocol's methods are there, and a new store has nothing."""
        with closing(self.make_store(tmp_path)) as store:
            assert isinstance(store, ReportStore)
            assert store.reports() == []
            assert store.count_fits() == 0

    def test_reports_come_back_as_they_were(self, tmp_path: Path) -> None:
        """Plain JSON types: numbers to the last bit, None, lists, any text."""
        report = some_report(numbers=[0.1 + 0.2, 1, None, True, 1e-300], pictures={"which": [["<svg/>", "a title"]]})
        with closing(self.make_store(tmp_path)) as store:
            store.put_report(report)
            assert store.reports() == [report]

    def test_the_last_comes_first(self, tmp_path: Path) -> None:
        """By when they were made, not by when they were put."""
        reports = [some_report(f"r{day}", f"2026-01-{day:02d}T00:00:00+00:00") for day in (5, 9, 7)]
        with closing(self.make_store(tmp_path)) as store:
            for report in reports:
                store.put_report(report)
            assert [report.id for report in store.reports()] == ["r9", "r7", "r5"]

    def test_the_same_report_takes_its_own_place(self, tmp_path: Path) -> None:
        """Made again, it is there once."""
        with closing(self.make_store(tmp_path)) as store:
            store.put_report(some_report())
            again = some_report(made_at="2027-01-01T00:00:00+00:00", seconds=2)
            store.put_report(again)
            assert store.reports() == [again]

    def test_reports_and_fits_do_not_touch_each_other(self, tmp_path: Path) -> None:
        """Fits are counted, reports are no fits."""
        with closing(self.make_store(tmp_path)) as store:
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
