"""Registry: the experiments by name."""

from __future__ import annotations

import difflib

from truefit._core.errors import InvalidInput
from truefit.reproduce import agghoo, agghoo_cnn, brumen_table1, pmv_fig3, pmv_fig4, pmv_table1, pmv_unlimited_tree
from truefit.reproduce.experiment import Experiment
from truefit.reproduce.lcdb import page as lcdb

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (pmv_table1, pmv_unlimited_tree, pmv_fig3, pmv_fig4, agghoo, agghoo_cnn, brumen_table1, lcdb)
}


def find_experiment(name: str) -> Experiment:
    """Return the experiment of this name.

    Examples
    --------
    >>> find_experiment("pmv-table1").title
    'Perturbed Model Validation, Table 1: which model is selected'
    """
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    near = difflib.get_close_matches(name, EXPERIMENTS, n=1)
    raise InvalidInput(
        f"An experiment must be one of {', '.join(EXPERIMENTS)}. Got {name!r} instead."
        + (f" Did you mean {near[0]!r}?" if near else "")
    )
