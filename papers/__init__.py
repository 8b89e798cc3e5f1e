"""The experiments of the papers behind truefit's methods, run again, with the papers' numbers beside ours.

They are part of a checkout and of the source distribution, not of the installed package. ``truefit reproduce NAME``
runs one of them. One module per experiment; each has an ``EXPERIMENT``.
"""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING

from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    from papers.experiment import Experiment

#: The module of each experiment, by the experiment's name.
_MODULES = {
    "pmv-table1": "papers.pmv.table1",
    "pmv-unlimited-tree": "papers.pmv.unlimited_tree",
    "pmv-fig3": "papers.pmv.figure3",
    "pmv-fig4": "papers.pmv.figure4",
    "agghoo": "papers.agghoo",
    "agghoo-cnn": "papers.agghoo_cnn",
    "brumen-table1": "papers.brumen",
    "lcdb": "papers.lcdb.page",
}


def all_experiments() -> list[Experiment]:
    """Return the experiments."""
    return [find_experiment(name) for name in _MODULES]


def find_experiment(name: str) -> Experiment:
    """Return the experiment of this name.

    Examples
    --------
    >>> find_experiment("pmv-table1").title
    'Perturbed Model Validation, Table 1: which model is selected'
    """
    if name in _MODULES:
        experiment: Experiment = import_module(_MODULES[name]).EXPERIMENT
        return experiment
    near = difflib.get_close_matches(name, _MODULES, n=1)
    raise InvalidInput(
        f"An experiment must be one of {', '.join(_MODULES)}. Got {name!r} instead."
        + (f" Did you mean {near[0]!r}?" if near else "")
    )
