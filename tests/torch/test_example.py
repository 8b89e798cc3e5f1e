"""The example of the gallery that needs torch; the others are run when the documentation is built."""

import runpy
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

EXAMPLE = Path(__file__).parents[2] / "examples" / "09_networks.py"


def test_the_example_on_networks_runs(capsys):
    mpl.use("agg")
    made = runpy.run_path(str(EXAMPLE))
    assert capsys.readouterr().out.splitlines()[-1] == "training runs: 15"
    assert made["ax"].get_title() or made["ax"].get_xlabel()
    plt.close("all")
