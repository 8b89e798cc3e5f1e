"""Where rows come from: built-in sets and files."""

from truefit.sources.load import load
from truefit.sources.table import Table
from truefit.sources.task import TaskHint, infer_task

__all__ = ["Table", "TaskHint", "infer_task", "load"]
