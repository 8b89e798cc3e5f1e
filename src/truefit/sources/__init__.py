"""Sources of rows: built-in data sets, files, databases and OpenML."""

from truefit.sources.load import load
from truefit.sources.on_demand import RowsOnDemand, open_rows
from truefit.sources.table import Table, TaskHint, infer_task

__all__ = ["RowsOnDemand", "Table", "TaskHint", "infer_task", "load", "open_rows"]
