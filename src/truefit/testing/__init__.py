"""Contract suites: what every store, executor and solver must do, as tests that are run against yours."""

from truefit.testing.executor_contract import ExecutorContract
from truefit.testing.solver_contract import SolverContract
from truefit.testing.store_contract import ReportContract, StoreContract

__all__ = ["ExecutorContract", "ReportContract", "SolverContract", "StoreContract"]
